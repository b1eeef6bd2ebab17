// Operations whose calls are those of checks/cases.
#include "families.h"

#include <tapegrad/checks/cases/case.h>

#include <sstream>
#include <utility>

namespace {

using tg::tasks::OpCall;

// PyTorch's names of arguments, and the cases' names of them. (A call reads those that it knows.)
constexpr std::pair<const char*, const char*> kNames[] = {
    {"dim", "axis"},
    {"dim", "axes"},
    {"dim0", "a"},
    {"dim1", "b"},
    {"dim1", "axis1"},
    {"dim2", "axis2"},
    {"dims", "axes"},
    {"dims", "counts"},
    {"negative_slope", "slope"},
    {"min_val", "low"},
    {"max_val", "high"},
    {"min", "low"},
    {"max", "high"},
    {"num_groups", "groups"},
    {"padding_idx", "padding"},
    {"chunks", "count"},
    {"repeats", "count"},
    {"repeats", "counts"},
    {"interpolation", "mode"},
    {"a", "axes_a"},
    {"b", "axes_b"},
    {"size", "to"},
    {"size", "shape"},
    {"start", "first"},
    {"end", "last"},
    {"end", "stop"},
    {"start_dim", "first"},
    {"end_dim", "last"},
    {"steps", "count"},
    {"diagonal", "offset"},
    {"pad", "widths"},
};

TV called(const OpCall& call, const Case& c, const char* number = nullptr) {
  json attributes = c.attributes;
  for (const auto& [theirs, ours] : kNames)
    if (c.attributes.contains(theirs)) attributes[ours] = c.attributes[theirs];
  if (number) attributes[number] = c.d("other");
  if (c.has("dtype")) attributes["dtype"] = std::string(tg::name(c.dtype()));
  for (const char* const name : {"value", "alpha"})  // of tensors of bool, PyTorch's is one
    if (c.attributes.contains(name)) attributes[name] = c.d(name);
  TV operands = c.x;
  while (!operands.empty() && !operands.back().defined()) operands.pop_back();
  return call(operands, attributes);
}

void add(const char* names, const std::string& ending = "", const char* number = nullptr) {
  std::istringstream words(names);
  for (std::string name; words >> name;)
    calls()[name + ending] = [call = tg::tasks::op_cases().calls.at(name), number](Case& c) {
      return called(call, c, number);
    };
}

}  // namespace

void add_cases() {
  for (const std::string axes : {"1d", "2d", "3d"})
    for (const std::string& name : {"max_pool" + axes, "adaptive_max_pool" + axes}) {
      const OpCall plain = tg::tasks::op_cases().calls.at(name);
      const OpCall indices = tg::tasks::op_cases().calls.at(name + "_with_indices");
      calls()[name] = [=](Case& c) { return called(c.b("return_indices") ? indices : plain, c); };
    }
  add("exp expm1 log log1p exp2 log2 log10 sqrt rsqrt square reciprocal abs sign floor ceil round trunc sin cos tan "
      "asin acos atan sinh cosh tanh asinh acosh atanh erf sinc logit neg isnan isinf isfinite logical_not "
      "nan_to_num sigmoid log_sigmoid relu relu6 silu softsign hardsigmoid hardswish mish selu softplus leaky_relu "
      "elu hardtanh prelu glu lgamma digamma erfc erfinv i0 i1 i0e i1e polygamma");
  add("add sub mul div pow maximum minimum fmod remainder floor_divide atan2 logaddexp logaddexp2 xlogy xlog1py "
      "addcmul addcdiv div_rounded clamp clamp_between lerp eq ne lt le gt ge logical_and logical_or logical_xor "
      "isclose "
      "allclose equal all any where masked_fill tril triu");
  add("add sub mul div pow maximum minimum fmod remainder floor_divide eq ne lt le gt ge div_rounded lerp", "_s",
      "scalar");
  add("sub div", "_rs", "left");
  add("where", "_s", "right");
  add("where", "_rs", "left");
  add("sum mean prod cumsum cumprod softmax log_softmax amax amin logsumexp count_nonzero var std norm cdist normalize "
      "pairwise_distance cosine_similarity sum_to "
      "logcumsumexp cummax cummin argmax argmin max min median sort argsort topk quantile nanquantile unique "
      "unique_consecutive bincount searchsorted bucketize isin segment_sum segment_mean segment_max segment_min");
  add("full arange linspace eye to pad meshgrid cat stack split chunk unbind narrow flip repeat tile repeat_interleave "
      "expand unflatten flatten movedim diagonal diag diag_embed unfold reshape transpose permute squeeze unsqueeze "
      "contiguous nonzero masked_select select "
      "index_select gather take_along_axis one_hot embedding scatter scatter_add index_add index_copy index_fill "
      "masked_scatter");
  add("matmul bmm mv dot outer kron linear einsum tensordot addmm baddbmm cross solve lstsq inverse det svdvals "
      "pinv matrix_power triangular_solve cholesky qr batch_norm instance_norm group_norm mse_loss l1_loss "
      "soft_margin_loss huber_loss "
      "smooth_l1_loss kl_div binary_cross_entropy ctc_loss poisson_nll_loss hinge_embedding_loss "
      "margin_ranking_loss cosine_embedding_loss triplet_margin_loss cross_entropy nll_loss multi_margin_loss "
      "linear_cross_entropy binary_cross_entropy_with_logits gaussian_nll_loss layer_norm rms_norm");
  add("conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d avg_pool1d avg_pool2d avg_pool3d "
      "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d interpolate grid_sample affine_grid unfold2d "
      "fold2d pixel_shuffle pixel_unshuffle channel_shuffle");
}
