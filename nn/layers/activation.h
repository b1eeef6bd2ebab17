// Activations: an enum for configurations, and one module per function for lists of layers.
#pragma once

#include <tapegrad/nn/module.h>

#include <span>
#include <string_view>

namespace tapegrad::nn {

/// To add one: a value here, and a row of the table in activation.cpp.
enum class Activation : uint8_t { relu, gelu, gelu_tanh, silu, tanh, sigmoid };

/// The names of all activations, in the order of the enum.
std::span<const std::string_view> activation_names();
Tensor activate(Activation activation, const Tensor& x);
/// "relu", "gelu", ...; and back, with an Error for an unknown name that lists the known ones.
std::string_view name(Activation activation);
Activation activation_named(std::string_view name);

// Modules with PyTorch's names and defaults. Each calls the operation of ops.h; only PReLU has a parameter.

struct ReLU {
  Tensor operator()(const Tensor& x) const { return relu(x); }
  void visit(auto&&) {}
};
/// min(max(x, 0), 6).
struct ReLU6 {
  Tensor operator()(const Tensor& x) const { return relu6(x); }
  void visit(auto&&) {}
};
/// 1.0507 (x for x > 0, 1.6733 (e^x - 1) otherwise). Klambauer et al. 2017.
struct SELU {
  Tensor operator()(const Tensor& x) const { return selu(x); }
  void visit(auto&&) {}
};
/// x sigmoid(x).
struct SiLU {
  Tensor operator()(const Tensor& x) const { return silu(x); }
  void visit(auto&&) {}
};
/// x tanh(log(1 + e^x)). Misra 2019.
struct Mish {
  Tensor operator()(const Tensor& x) const { return mish(x); }
  void visit(auto&&) {}
};
/// 1 / (1 + e^-x).
struct Sigmoid {
  Tensor operator()(const Tensor& x) const { return sigmoid(x); }
  void visit(auto&&) {}
};
/// log(1 / (1 + e^-x)), without overflow.
struct LogSigmoid {
  Tensor operator()(const Tensor& x) const { return log_sigmoid(x); }
  void visit(auto&&) {}
};
/// The hyperbolic tangent.
struct Tanh {
  Tensor operator()(const Tensor& x) const { return tanh(x); }
  void visit(auto&&) {}
};
/// x / (1 + |x|).
struct Softsign {
  Tensor operator()(const Tensor& x) const { return softsign(x); }
  void visit(auto&&) {}
};
/// x / 6 + 1/2, limited to [0, 1].
struct Hardsigmoid {
  Tensor operator()(const Tensor& x) const { return hardsigmoid(x); }
  void visit(auto&&) {}
};
/// x hardsigmoid(x). Howard et al. 2019.
struct Hardswish {
  Tensor operator()(const Tensor& x) const { return hardswish(x); }
  void visit(auto&&) {}
};
/// x P(X <= x) with X standard normal. Hendrycks, Gimpel 2016.
struct GELU {
  Tensor operator()(const Tensor& x) const { return gelu(x, form); }
  void visit(auto&&) {}

  Gelu form = Gelu::erf;  ///< erf: exact; tanh: an approximation
};
/// x for x > 0, negative_slope x otherwise.
struct LeakyReLU {
  Tensor operator()(const Tensor& x) const { return leaky_relu(x, negative_slope); }
  void visit(auto&&) {}

  double negative_slope = 0.01;  ///< for x < 0
};
/// x for x > 0, alpha (e^x - 1) otherwise. Clevert et al. 2015.
struct ELU {
  Tensor operator()(const Tensor& x) const { return elu(x, alpha); }
  void visit(auto&&) {}

  double alpha = 1;  ///< -alpha is the limit for x -> -inf
};
/// log(1 + e^(beta x)) / beta, without overflow.
struct Softplus {
  Tensor operator()(const Tensor& x) const { return softplus(x, beta, threshold); }
  void visit(auto&&) {}

  double beta = 1;        ///< the larger, the closer to relu
  double threshold = 20;  ///< x itself where beta x is above it
};
/// x limited to [low, high].
struct Hardtanh {
  Tensor operator()(const Tensor& x) const { return hardtanh(x, low, high); }
  void visit(auto&&) {}

  double low = -1;  ///< the least result
  double high = 1;  ///< the largest result
};
/// e^x divided by its sum along an axis.
struct Softmax {
  Tensor operator()(const Tensor& x) const { return softmax(x, axis); }
  void visit(auto&&) {}

  int64_t axis = -1;  ///< of the classes
};
/// The logarithm of softmax, without overflow.
struct LogSoftmax {
  Tensor operator()(const Tensor& x) const { return log_softmax(x, axis); }
  void visit(auto&&) {}

  int64_t axis = -1;  ///< of the classes
};
/// a sigmoid(b), where a and b are the halves of x along an axis. Dauphin et al. 2016.
struct GLU {
  Tensor operator()(const Tensor& x) const { return glu(x, axis); }
  void visit(auto&&) {}

  int64_t axis = -1;  ///< of even size
};
/// x for x > 0, weight * x otherwise; one weight for all channels, or one per channel (axis 1). He et al. 2015.
struct PReLU {
  explicit PReLU(int64_t channels = 1, double start = 0.25);  ///< Error unless channels > 0
  Tensor operator()(const Tensor& x) const { return prelu(x, weight); }
  void visit(auto&& field) { field("weight", weight); }

  Parameter weight;  // [channels], filled with `start`
};

}  // namespace tapegrad::nn
