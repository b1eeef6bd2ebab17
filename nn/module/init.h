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
/// Whose variance is kept: that of the values in forward, or of the gradients in backward.
enum class Fan { in, out };
/// Uniform in +-gain sqrt(3 / fan), gain = sqrt(2 / (1 + slope^2)): sqrt(2) for relu, 1 with a slope of 1. He et al.
/// 2015.
void kaiming_uniform(Parameter& p, double slope = 0, Fan fan = Fan::in, Generator* generator = nullptr);
void kaiming_normal(Parameter& p, double slope = 0, Fan fan = Fan::in, Generator* generator = nullptr);
/// gain times a matrix [out, in * ...] with orthonormal columns, or rows if it is wider than high: the q of a QR
/// factorization of normal numbers. Saxe, McClelland, Ganguli 2014.
void orthogonal(Parameter& p, double gain = 1, Generator* generator = nullptr);

/// Normal, restricted to [low, high]. Error unless std > 0 and low < high.
void trunc_normal(Parameter& p, double mean = 0, double std = 1, double low = -2, double high = 2,
                  Generator* generator = nullptr);
/// Ones on the diagonal of [m, n], zeros elsewhere. Error for another number of axes.
void eye(Parameter& p);
/// A convolution's weight [out, in, K, ...] that copies its first input channels to the outputs, once per group. Error
/// unless there are three axes or more and groups divides out. Zagoruyko, Komodakis 2017.
void dirac(Parameter& p, int64_t groups = 1);

/// fan_in and fan_out of a weight [out, in, ...]; the axes after the second are the receptive field.
struct Fans {
  int64_t in, out;  ///< the sizes of the first two axes, exchanged, times the field
};
/// {in K, out K} of a weight [out, in, ...], where K is the number of elements of the receptive field. Error for fewer
/// than two axes, and for no elements.
Fans fans(const Tensor& weight);

}  // namespace tapegrad::nn::init
