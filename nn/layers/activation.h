// Activations: a value for configurations, and one module per function for lists of layers.
#pragma once

#include <tapegrad/nn/module.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tapegrad::nn {

/// A function of each element as a setting: Activation::gelu, or, with its number, {Activation::leaky_relu, 0.2}.
/// To add one: a value here, and a row of the table in activation.cpp.
struct Activation {
  /// The functions; those with a number are leaky_relu and elu.
  enum Kind : uint8_t { relu, gelu, gelu_tanh, silu, tanh, sigmoid, leaky_relu, elu };

  Activation(Kind function = relu, std::optional<double> number = {}) : kind(function), parameter(number) {}  // NOLINT
  bool takes_parameter() const;  ///< whether the function has a number
  void check() const;            ///< Error for a parameter of a function that takes none
  bool operator==(const Activation&) const = default;

  Kind kind;                        ///< the function
  std::optional<double> parameter;  ///< leaky_relu's slope, elu's alpha; empty: PyTorch's default
};

/// The names of all kinds, in the order of the enum.
std::span<const std::string_view> activation_names();
Tensor activate(const Activation& activation, const Tensor& x);
/// "relu", "gelu", ...; and back, with an Error for an unknown name that lists the known ones.
std::string_view name(const Activation& activation);
Activation activation_named(std::string_view name);
/// The C++ that makes it: "nn::Activation::gelu", or "{nn::Activation::elu, 0.5}".
std::string describe(const Activation& activation);

namespace detail {

// A module that calls a function and has no members.
template <Tensor (*kFunction)(const Tensor&)>
struct FunctionModule {
  Tensor operator()(const Tensor& x) const { return kFunction(x); }
  void visit(auto&&) {}
};

}  // namespace detail

// Modules with PyTorch's names and defaults. Each calls the operation of ops.h; only PReLU has a parameter.

struct ReLU : detail::FunctionModule<relu> {};
/// min(max(x, 0), 6).
struct ReLU6 : detail::FunctionModule<relu6> {};
/// 1.0507 (x for x > 0, 1.6733 (e^x - 1) otherwise). Klambauer et al. 2017.
struct SELU : detail::FunctionModule<selu> {};
/// x sigmoid(x).
struct SiLU : detail::FunctionModule<silu> {};
/// x tanh(log(1 + e^x)). Misra 2019.
struct Mish : detail::FunctionModule<mish> {};
/// 1 / (1 + e^-x).
struct Sigmoid : detail::FunctionModule<sigmoid> {};
/// log(1 / (1 + e^-x)), without overflow.
struct LogSigmoid : detail::FunctionModule<log_sigmoid> {};
/// The hyperbolic tangent.
struct Tanh : detail::FunctionModule<tanh> {};
/// x / (1 + |x|).
struct Softsign : detail::FunctionModule<softsign> {};
/// x / 6 + 1/2, limited to [0, 1].
struct Hardsigmoid : detail::FunctionModule<hardsigmoid> {};
/// x hardsigmoid(x). Howard et al. 2019.
struct Hardswish : detail::FunctionModule<hardswish> {};
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
