// Parametrisations of a layer's weight: weight normalisation and spectral normalisation.
//
//   nn::WeightNorm<nn::Conv1d> conv{nn::Conv1d(64, 64, 3, {.padding = 1})};
//   nn::SpectralNorm<nn::Linear> score{nn::Linear(64, 1)};
//   conv(x); conv.weight(); conv.bias;
//
// The layer has its own parameters in place of `weight`, with PyTorch's names, and computes the weight at each call. It
// may be any module with a member `weight`, a Parameter or a Weight in floating point, except those that `train` and
// `eval` switch. Only one thread at a time may call it.
#pragma once

#include <tapegrad/nn/weight.h>

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

namespace tapegrad::nn {

struct ConvTranspose1d;
struct ConvTranspose2d;
struct ConvTranspose3d;

namespace detail {

// Calls of a visit with the members of a layer without its weight.
template <class Field>
struct WithoutWeight {
  Field& field;
  const Parameter* left_out;

  template <class Member>
  void operator()(std::string_view name, Member& member) {
    if constexpr (std::is_base_of_v<Parameter, Member>) {
      if (&member == left_out) return;
    }
    field(name, member);
  }
  void ignore(const auto& member) { field.ignore(member); }
};

// Gives a layer other values of its weight, and takes them away at the end.
class WeightInUse : NonCopyable {
 public:
  WeightInUse(Parameter& weight, const Tensor& values);
  ~WeightInUse();

 private:
  Parameter& weight_;
  const Tensor before_;
};

// The values of a weight, which afterwards has the shape alone. Error for a weight without them.
Tensor take_values(Parameter& weight);

// A layer that computes its weight: the base class of the parametrisations.
template <class Layer>
class Parametrized : public Layer {
  static_assert(
      requires(Layer & layer) { static_cast<Parameter&>(layer.weight); },
      "a parametrisation is for a layer with a member `weight`");
  static_assert(
      !requires(Layer & layer) { layer.training; }, "a parametrisation is for a layer without modes");

 public:
  using Wrapped = Layer;

 protected:
  explicit Parametrized(Layer layer) : Layer(std::move(layer)) {}

  template <class... Arguments>
  auto call(const Tensor& weight, Arguments&&... arguments) const {
    const WeightInUse in_use(placeholder(), weight);
    return static_cast<const Layer&>(*this)(std::forward<Arguments>(arguments)...);
  }
  void visit_layer(auto& field) {
    WithoutWeight<std::remove_reference_t<decltype(field)>> others{field, &placeholder()};
    Layer::visit(others);
    field.ignore(Layer::weight);
  }
  // The layer's weight: a shape between calls.
  Parameter& placeholder() const { return const_cast<Parametrized&>(*this).Layer::weight; }
};

Tensor norm_except(const Tensor& weight, std::optional<int64_t> axis);
// 1 where a length is 0: what is divided by it then stays 0.
Tensor nonzero_length(const Tensor& length);

}  // namespace detail

/// A layer with the weight g v / ||v||, where the norms are those of v[i] along `axis`, or of all of v. g and v are
/// parameters `parametrizations.weight.original0` and `.original1`; at first the weight has the layer's values. Where
/// v[i] is 0, so is the weight; if g is 0, too, their gradients are 0, and training does not change them.
/// Salimans, Kingma 2016.
template <class Layer>
class WeightNorm : public detail::Parametrized<Layer> {
 public:
  /// Error for an axis that the weight does not have.
  explicit WeightNorm(Layer layer, std::optional<int64_t> axis = 0)
      : detail::Parametrized<Layer>(std::move(layer)), axis_(axis) {
    const Tensor values = detail::take_values(this->placeholder());
    g = Parameter(detail::norm_except(values, axis_));
    v = Parameter(values.detach());
  }

  template <class... Arguments>
  auto operator()(Arguments&&... arguments) const {
    return this->call(weight(), std::forward<Arguments>(arguments)...);
  }
  void visit(auto&& field) {
    this->visit_layer(field);
    field("parametrizations.weight.original0", g);
    field("parametrizations.weight.original1", v);
  }
  /// The weight of the next call.
  Tensor weight() const { return v * (g / detail::nonzero_length(detail::norm_except(v, axis_))); }

  Parameter g;  // [O, 1, ...], or []
  Parameter v;  // the layer's shape

 private:
  std::optional<int64_t> axis_;
};

struct SpectralNormOptions {
  int64_t n_power_iterations = 1;  ///< per call in training
  double eps = 1e-12;              ///< lower bound of the norms that vectors are divided by
  /// The axis of the weight that becomes the rows of the matrix. By default 0, and 1 for transposed convolutions.
  std::optional<int64_t> axis = {};
};

namespace detail {

// Estimates of the first singular vectors of a weight as a matrix.
struct SpectralState {
  SpectralState(const Tensor& weight, const SpectralNormOptions& options, int64_t axis);
  // weight / sigma, after power iterations.
  Tensor normalized(const Tensor& weight, int64_t iterations) const;

  mutable Buffer u, v;  // none for a weight with one axis
  int64_t axis;
  double eps;
};

template <class Layer>
inline constexpr bool kIsTransposed = std::is_same_v<Layer, ConvTranspose1d> ||
                                      std::is_same_v<Layer, ConvTranspose2d> || std::is_same_v<Layer, ConvTranspose3d>;

}  // namespace detail

/// A layer whose weight, as a matrix, is divided by its largest singular value; a weight with one axis by its norm. In
/// training, each call improves the estimates u and v of the singular vectors by power iterations. The parameter
/// `parametrizations.weight.original` has the layer's values; `parametrizations.weight.0._u` and `._v` are buffers,
/// sampled from the default generator. A weight of zeros stays 0. Miyato et al. 2018.
template <class Layer>
class SpectralNorm : public detail::Parametrized<Layer> {
 public:
  /// Error for fewer than 1 iteration, and for an axis that the weight does not have.
  explicit SpectralNorm(Layer layer, const SpectralNormOptions& options = {})
      : SpectralNorm(std::move(layer), options, Tensor()) {}

  template <class... Arguments>
  auto operator()(Arguments&&... arguments) const {
    return this->call(weight(), std::forward<Arguments>(arguments)...);
  }
  void visit(auto&& field) {
    this->visit_layer(field);
    field("parametrizations.weight.original", original);
    field("parametrizations.weight.0._u", state_.u);
    field("parametrizations.weight.0._v", state_.v);
  }
  /// The weight of the next call. In training, each call of this function makes iterations, too.
  Tensor weight() const { return state_.normalized(original, training ? iterations_ : 0); }

  Parameter original;    // the layer's shape
  Mode training = true;  ///< false: no iterations

 private:
  SpectralNorm(Layer layer, const SpectralNormOptions& options, Tensor values)
      : detail::Parametrized<Layer>(std::move(layer)),
        original(values = detail::take_values(this->placeholder())),
        state_(values, options, options.axis.value_or(detail::kIsTransposed<Layer> ? 1 : 0)),
        iterations_(options.n_power_iterations) {}

  detail::SpectralState state_;
  int64_t iterations_;
};

}  // namespace tapegrad::nn
