// Normalisations over the last axis.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/norm.h>

namespace tapegrad::nn {

namespace {

Parameter filled(std::string_view where, int64_t dim, double value) {
  require_positive(where, "the size of the last axis", dim);
  return Parameter(init::ShapesOnly::on() ? init::blank({dim}) : full({dim}, value));
}

}  // namespace

LayerNorm::LayerNorm(int64_t dim, double eps, bool bias) : weight(filled("layer_norm", dim, 1)), eps(eps) {
  if (bias) this->bias = filled("layer_norm", dim, 0);
}
Tensor LayerNorm::operator()(const Tensor& x) const { return layer_norm(x, weight, bias, eps); }

LayerNormStd::LayerNormStd(int64_t dim, double eps)
    : gamma(filled("layer_norm_std", dim, 1)), beta(filled("layer_norm_std", dim, 0)), eps(eps) {}
Tensor LayerNormStd::operator()(const Tensor& x) const { return layer_norm_std(x, gamma, beta, eps); }

RMSNorm::RMSNorm(int64_t dim, double eps) : weight(filled("rms_norm", dim, 1)), eps(eps) {}
Tensor RMSNorm::operator()(const Tensor& x) const { return rms_norm(x, weight, eps); }

}  // namespace tapegrad::nn
