// Initialisers overwrite a parameter with random numbers in PyTorch's order, so that a seed gives PyTorch's weights.
#pragma once

#include <tapegrad/nn/module.h>

namespace tapegrad {
class Generator;
}

namespace tapegrad::nn::init {

/// Without a generator, the numbers come from the default one.
void uniform(Parameter& p, double low = 0, double high = 1, Generator* generator = nullptr);
void normal(Parameter& p, double mean = 0, double std = 1, Generator* generator = nullptr);
void constant(Parameter& p, double value);
inline void zeros(Parameter& p) { constant(p, 0); }
inline void ones(Parameter& p) { constant(p, 1); }
/// Uniform in +-gain sqrt(6 / (fan_in + fan_out)). Glorot, Bengio 2010. This and the following ones: Error unless the
/// parameter has two axes or more and is not empty.
void xavier_uniform(Parameter& p, double gain = 1, Generator* generator = nullptr);
void xavier_normal(Parameter& p, double gain = 1, Generator* generator = nullptr);
/// Uniform in +-gain sqrt(3 / fan_in), gain = sqrt(2 / (1 + slope^2)). He et al. 2015.
void kaiming_uniform(Parameter& p, double slope = 0, Generator* generator = nullptr);
void kaiming_normal(Parameter& p, double slope = 0, Generator* generator = nullptr);

/// While one is alive on this thread, initialisers draw nothing and leave parameters with unspecified values: for a
/// model whose weights are loaded next.
class Skip {
 public:
  Skip();
  ~Skip();
  Skip(const Skip&) = delete;
  Skip& operator=(const Skip&) = delete;
  static bool on();
};

/// fan_in and fan_out of a weight [out, in, ...]; the axes after the second are the receptive field.
struct Fans {
  int64_t in, out;
};
Fans fans(const Tensor& weight);

}  // namespace tapegrad::nn::init
