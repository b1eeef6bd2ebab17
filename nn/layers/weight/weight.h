// The matrix of a layer: how it is stored, how it is multiplied, and its update.
#pragma once

#include <tapegrad/autograd/weight_format.h>
#include <tapegrad/nn/dropout.h>
#include <tapegrad/nn/module.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace tapegrad::nn {

/// A trained update of a frozen weight [out, in]: scale B A, where A has few rows. Hu et al. 2021 (LoRA). lora.h adds
/// it to the layers of a model.
struct LowRank {
  /// A starts as the weight of a Linear, B with zeros. Error unless in, out, rank and alpha are positive, and for a
  /// dropout that is not a probability.
  LowRank(int64_t in, int64_t out, int64_t rank, double alpha, double dropout = 0, DType dtype = kFloat32);
  Tensor operator()(const Tensor& x) const;  ///< [..., in] -> scale dropout(x) A^T B^T, [..., out]
  Tensor product() const;                    ///< scale B A, [out, in]
  void visit(auto&& field) {
    field("lora_A.weight", a);  // PEFT's names
    field("lora_B.weight", b);
    field("lora_dropout", dropout);
  }

  Parameter a;      // [rank, in]
  Parameter b;      // [out, rank]
  double scale;     // alpha / rank
  Dropout dropout;  ///< of the update's input
};

/// A matrix [outputs, inputs]: a Parameter, or quantised in a WeightFormat for a model that only generates (then
/// defined() is false), or none at all. A layer visits it as field("weight", weight); its tensors are "weight", or
/// "weight_int8" and "weight_scales".
class Weight : public Parameter {
 public:
  Weight() = default;                                         ///< none
  Weight(Parameter&& dense) : Parameter(std::move(dense)) {}  // NOLINT: a parameter is a weight

  bool exists() const { return defined() || is_quantized(); }
  bool is_quantized() const { return values_.defined(); }
  std::string_view type() const;  ///< the name of a format of weight_formats(): "float32", "int4"
  int64_t outputs() const { return defined() ? tensor().size(0) : values_->size(0); }
  int64_t inputs() const { return defined() ? tensor().size(1) : inputs_; }

  /// x [..., inputs] -> x weight^T + bias, [..., outputs], with the update.
  Tensor product(const Tensor& x, const Tensor& bias = {}) const;
  /// layer.weight.product(x, layer.bias) for each of several layers. Weights that are read once are read in one loop.
  template <class... Layers>
  static std::array<Tensor, sizeof...(Layers)> product_each(const Tensor& x, const Layers&... layers) {
    const LinearWeight factors[] = {{layers.weight.tensor(), layers.weight.quantized(), layers.bias}...};
    std::array<Tensor, sizeof...(Layers)> y;
    linear_each(x, factors, y);
    auto* next = y.data();
    ((*next = layers.weight.updated(x, *next), ++next), ...);
    return y;
  }
  /// The rows with these ids: [...] -> [..., inputs]. The row `padding` gets no gradient. sparse: as in embedding().
  Tensor rows(const Tensor& ids, std::optional<int64_t> padding = {}, bool sparse = false) const;
  /// The whole matrix in floating point, with the update.
  Tensor matrix() const;

  /// Stores it in another format; it has no gradient from then on. Inside an init::Skip scope the values of a quantised
  /// matrix are zeros, because others will be loaded. Error for values that are not finite, and from a quantised
  /// matrix.
  void store(const WeightFormat& format);

  /// The fields of a weight that its holder calls `name`.
  void visit_as(std::string_view name, auto&& field) {
    if constexpr (requires { field.weight(name, *this); }) field.weight(name, *this);
    field(name, static_cast<Parameter&>(*this));
    if (!is_quantized()) return;
    field(std::string(name) + "_" + std::string(format_->name), values_);
    field(std::string(name) + "_scales", scales_);
  }

  Optional<LowRank> low_rank;  ///< added to products, or none
  bool updatable = false;      ///< whether nn::lora may give it an update: the weight of a Linear

 private:
  QuantizedMatrix quantized() const { return {format_, values_, scales_}; }
  Tensor updated(const Tensor& x, const Tensor& y) const { return low_rank ? y + (*low_rank)(x) : y; }
  const WeightFormat* format_ = nullptr;  // of a quantised matrix
  Buffer values_, scales_;
  int64_t inputs_ = 0;
};

namespace detail {

struct NamedWeight {
  std::string path;  // of the layer
  Weight& weight;
};
// Those that nn::lora may update, in the order of the visits, each once.
std::vector<NamedWeight> updatable_weights(const AnyModel& model);

void store(const AnyModel& model, const WeightFormat& format);
NamedTensors stored_state(const AnyModel& model, NamedTensors state);

}  // namespace detail

/// For generation: keeps every weight of the model (linear layers, token tables, heads) in a format of
/// weight_formats(), such as "int8", in less memory; arithmetic stays float32, except for products with int8 and int4
/// (linear). Inside an init::Skip scope quantised weights are zeros, to be loaded: see stored_state. Error for weights
/// that are not finite. Afterwards, training throws Error.
void store(detail::NotConst auto& model, std::string_view format) {
  detail::store(detail::AnyModel(model), weight_format(format));
}

/// A state for load_state_dict of a model with quantised weights, from one of floating weights or of quantised ones:
/// quantises "x.weight" where the model has, say, "x.weight_int8".
NamedTensors stored_state(NamedTensors state, const auto& model) {
  return detail::stored_state(detail::AnyModel(model), std::move(state));
}
/// The format of the quantised weights in a state; nullptr if there are none.
const WeightFormat* quantized_format(const NamedTensors& state);

}  // namespace tapegrad::nn
