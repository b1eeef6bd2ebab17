// Normalisations over the last axes.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/norm.h>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kLayerNorm = "layer_norm";
constexpr std::string_view kRmsNorm = "rms_norm";

// Values in the shape of the axes that are normalised, or none.
Parameter constant_parameter(std::string_view where, const Shape& shape, bool wanted, double value) {
  if (shape.empty()) fail(where, "expected the size of at least one axis, got none");
  for (const int64_t size : shape)
    require_positive(where, shape.rank() == 1 ? "the size of the last axis" : "the size of an axis", size);
  if (!wanted) return {};
  return Parameter(init::ShapesOnly::on() ? init::blank(shape) : full(shape, value));
}

// norm(x, weight, bias) over the last axes of x, whose sizes are `shape`; norm alone takes the last axis only.
template <class F>
Tensor over_last_axes(std::string_view where, const Tensor& x, const Shape& shape, bool has_parameters, F norm) {
  if (has_parameters) return norm(x);
  const int lead = x.dim() - shape.rank();
  if (lead < 0 || Shape(x.shape().begin() + lead, shape.rank()) != shape) {
    fail(where, fmt::format("expected x with the last axes {}, got shape {}", str(shape), str(x.shape())));
  }
  return shape.rank() == 1 ? norm(x) : norm(x.flatten(lead)).reshape(x.shape());
}

}  // namespace

LayerNorm::LayerNorm(int64_t dim, double eps, bool bias) : LayerNorm(Shape{dim}, {.eps = eps, .bias = bias}) {}
LayerNorm::LayerNorm(const Shape& normalized_shape, const LayerNormOptions& options)
    : weight(constant_parameter(kLayerNorm, normalized_shape, options.affine, 1)),
      bias(constant_parameter(kLayerNorm, normalized_shape, options.affine && options.bias, 0)),
      normalized_shape(normalized_shape),
      eps(options.eps) {}
Tensor LayerNorm::operator()(const Tensor& x) const {
  return over_last_axes(kLayerNorm, x, normalized_shape, weight.defined() || bias.defined(),
                        [this](const Tensor& rows) { return layer_norm(rows, weight, bias, eps); });
}

LayerNormStd::LayerNormStd(int64_t dim, double eps)
    : gamma(constant_parameter("layer_norm_std", {dim}, true, 1)),
      beta(constant_parameter("layer_norm_std", {dim}, true, 0)),
      eps(eps) {}
Tensor LayerNormStd::operator()(const Tensor& x) const { return layer_norm_std(x, gamma, beta, eps); }

RMSNorm::RMSNorm(int64_t dim, double eps) : RMSNorm(Shape{dim}, {.eps = eps}) {}
RMSNorm::RMSNorm(const Shape& normalized_shape, const RMSNormOptions& options)
    : weight(constant_parameter(kRmsNorm, normalized_shape, options.affine, 1)),
      normalized_shape(normalized_shape),
      eps(options.eps) {}
Tensor RMSNorm::operator()(const Tensor& x) const {
  return over_last_axes(kRmsNorm, x, normalized_shape, weight.defined(),
                        [this](const Tensor& rows) { return rms_norm(rows, weight, eps); });
}

}  // namespace tapegrad::nn
