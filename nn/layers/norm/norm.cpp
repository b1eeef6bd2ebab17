// Normalisations over the last axes.
#include <fmt/ranges.h>
#include <tapegrad/autograd/internal/fail.h>
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
Tensor over_last_axes(std::string_view where, const Tensor& x, const Shape& shape, bool has_parameters, auto norm) {
  if (has_parameters) return norm(x);
  const int lead = x.dim() - shape.rank();
  require(lead >= 0 && Shape(x.shape().begin() + lead, shape.rank()) == shape, where,
          "expected x with the last axes {}, got shape {}", shape, x.shape());
  return shape.rank() == 1 ? norm(x) : norm(x.flatten(lead)).reshape(x.shape());
}

// "nn::LayerNorm(16)", "nn::RMSNorm(Shape{4, 5}, {.eps = 0.1})". A different eps alone is a number.
std::string norm_code(std::string_view type, const Shape& shape, double eps, double usual,
                      std::vector<std::string> options = {}) {
  const bool one = shape.rank() == 1;
  const std::string sizes =
      one ? std::to_string(shape[0])
          : fmt::format("Shape{{{}}}", fmt::join(std::vector<int64_t>(shape.begin(), shape.end()), ", "));
  if (eps != usual && one && options.empty()) return fmt::format("nn::{}({}, {:g})", type, sizes, eps);
  if (eps != usual) options.insert(options.begin(), fmt::format(".eps = {:g}", eps));
  if (options.empty()) return fmt::format("nn::{}({})", type, sizes);
  return fmt::format("nn::{}({}, {{{}}})", type, sizes, fmt::join(options, ", "));
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

std::string LayerNorm::describe() const {
  std::vector<std::string> options;
  if (!weight.defined()) options.emplace_back(".affine = false");
  if (weight.defined() && !bias.defined()) options.emplace_back(".bias = false");
  return norm_code("LayerNorm", normalized_shape, eps, LayerNormOptions().eps, std::move(options));
}

LayerNormStd::LayerNormStd(int64_t dim, double eps)
    : gamma(constant_parameter("layer_norm_std", {dim}, true, 1)),
      beta(constant_parameter("layer_norm_std", {dim}, true, 0)),
      eps(eps) {}
Tensor LayerNormStd::operator()(const Tensor& x) const { return layer_norm_std(x, gamma, beta, eps); }

std::string LayerNormStd::describe() const { return norm_code("LayerNormStd", gamma->shape(), eps, 1e-6); }

RMSNorm::RMSNorm(int64_t dim, double eps) : RMSNorm(Shape{dim}, {.eps = eps}) {}
RMSNorm::RMSNorm(const Shape& normalized_shape, const RMSNormOptions& options)
    : weight(constant_parameter(kRmsNorm, normalized_shape, options.affine, 1)),
      normalized_shape(normalized_shape),
      eps(options.eps) {}
Tensor RMSNorm::operator()(const Tensor& x) const {
  return over_last_axes(kRmsNorm, x, normalized_shape, weight.defined(),
                        [this](const Tensor& rows) { return rms_norm(rows, weight, eps); });
}

std::string RMSNorm::describe() const {
  std::vector<std::string> options;
  if (!weight.defined()) options.emplace_back(".affine = false");
  return norm_code("RMSNorm", normalized_shape, eps, RMSNormOptions().eps, std::move(options));
}

}  // namespace tapegrad::nn
