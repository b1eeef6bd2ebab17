// Initialisers: they overwrite a parameter with draws in PyTorch's order, so that a seed gives PyTorch's weights.
#pragma once

#include <tapegrad/nn/module.h>

namespace tapegrad {
class Generator;
}

namespace tapegrad::nn::init {

// Without a generator the draws come from the global one. Errors: an empty or non-matrix parameter where fans are
// needed.
void uniform(Parameter& p, double low = 0, double high = 1, Generator* generator = nullptr);
void normal(Parameter& p, double mean = 0, double std = 1, Generator* generator = nullptr);
void constant(Parameter& p, double value);
inline void zeros(Parameter& p) { constant(p, 0); }
inline void ones(Parameter& p) { constant(p, 1); }
// Uniform within +-gain sqrt(6 / (fan_in + fan_out)). Glorot, Bengio 2010.
void xavier_uniform(Parameter& p, double gain = 1, Generator* generator = nullptr);
void xavier_normal(Parameter& p, double gain = 1, Generator* generator = nullptr);
// Uniform within +-gain sqrt(3 / fan_in), gain = sqrt(2 / (1 + slope^2)). He et al. 2015.
void kaiming_uniform(Parameter& p, double slope = 0, Generator* generator = nullptr);
void kaiming_normal(Parameter& p, double slope = 0, Generator* generator = nullptr);

// While one lives on this thread, initialisers draw nothing and leave parameters as they are, with any values: for a
// model whose values are loaded next.
class Skip {
 public:
  Skip();
  ~Skip();
  Skip(const Skip&) = delete;
  Skip& operator=(const Skip&) = delete;
  static bool on();
};

// fan_in and fan_out of a weight [out, in, ...]: trailing axes are the receptive field.
struct Fans {
  int64_t in, out;
};
Fans fans(const Tensor& weight);

}  // namespace tapegrad::nn::init
