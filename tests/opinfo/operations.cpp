// tapegrad's operations as calls of the bridge, under tapegrad's names; and, under "as.NAME", the compositions that
// nn/FROM_PYTORCH.md gives for functions of PyTorch that have no counterpart.
#include "case.h"

#include <cmath>

#define U(name) all[#name] = [](Case& c) -> TV { return {tg::name(c.x[0])}; }
#define B(name) all[#name] = [](Case& c) -> TV { return {tg::name(c.x[0], c.x[1])}; }
#define S(name) all[#name "_s"] = [](Case& c) -> TV { return {tg::name(c.x[0], c.d("other"))}; }
#define RS(name) all[#name "_rs"] = [](Case& c) -> TV { return {tg::name(c.d("other"), c.x[0])}; }
#define R(name) all[#name] = [](Case& c) -> TV { return {tg::name(c.x[0], c.axes(), c.b("keepdim"))}; }
#define OP(name) all[name] = [](Case & c) -> TV

namespace {

std::span<const Tensor> all_of(const Case& c, size_t from = 0) { return std::span<const Tensor>(c.x).subspan(from); }
TV pair(const tg::Sorted& s) { return {s.values, s.indices}; }
TV pair(const tg::MaxPooled& s) { return {s.values, s.indices}; }
Tensor flag(bool b) { return tg::full({}, b, tg::kBool); }
tg::PadMode pad_mode(const std::string& s) {
  if (s == "constant" || s == "zeros") return tg::PadMode::constant;
  return s == "reflect" ? tg::PadMode::reflect : s == "replicate" ? tg::PadMode::replicate : tg::PadMode::circular;
}
tg::ConvOptions conv_options(const Case& c) {
  tg::ConvOptions o;
  o.stride = c.per_axis("stride", 1);
  if (c.texts.count("padding"))
    o.padding = c.s("padding") == "same" ? tg::Padding::same : tg::Padding::valid;
  else
    o.padding = c.per_axis("padding", 0);
  o.dilation = c.per_axis("dilation", 1);
  o.groups = c.i("groups", 1);
  return o;
}
tg::ConvTransposeOptions conv_transpose_options(const Case& c) {
  return {c.per_axis("stride", 1), c.per_axis("padding", 0), c.per_axis("output_padding", 0), c.per_axis("dilation", 1),
          c.i("groups", 1)};
}
tg::MaxPoolOptions max_pool_options(const Case& c) {
  return {c.per_axis("stride"), c.per_axis("padding", 0), c.per_axis("dilation", 1), c.b("ceil_mode")};
}
tg::AvgPoolOptions avg_pool_options(const Case& c) {
  return {c.per_axis("stride"), c.per_axis("padding", 0), c.b("ceil_mode"), c.b("count_include_pad", true),
          c.oi("divisor_override")};
}
std::vector<tg::Slice> slices(const Case& c) {  // "slices": kind, start, stop, step for each axis
  std::vector<tg::Slice> all;
  const Ints v = c.list("slices");
  for (size_t k = 0; k + 3 < v.size(); k += 4) {
    if (v[k] == 0)
      all.push_back(tg::Slice(v[k + 1]));
    else
      all.push_back(tg::Slice(v[k + 1], v[k + 2], v[k + 3]));
  }
  return all;
}
Tensor number(const Tensor& like, double v) { return tg::full({}, v, like.dtype()); }

}  // namespace

void add_operations() {
  auto& all = calls();
  U(exp);
  U(expm1);
  U(log);
  U(log1p);
  U(exp2);
  U(log2);
  U(log10);
  U(sqrt);
  U(rsqrt);
  U(square);
  U(reciprocal);
  U(abs);
  U(sign);
  U(floor);
  U(ceil);
  U(round);
  U(trunc);
  U(sin);
  U(cos);
  U(tan);
  U(asin);
  U(acos);
  U(atan);
  U(sinh);
  U(cosh);
  U(tanh);
  U(asinh);
  U(acosh);
  U(atanh);
  U(erf);
  U(neg);
  U(sigmoid);
  U(log_sigmoid);
  U(relu);
  U(relu6);
  U(silu);
  U(softsign);
  U(hardsigmoid);
  U(hardswish);
  U(mish);
  U(selu);
  U(isnan);
  U(isinf);
  U(isfinite);
  U(logical_not);
  U(inverse);
  U(det);
  U(svdvals);
  U(nonzero);
  U(ones_like);
  U(zeros_like);
  B(add);
  B(sub);
  B(mul);
  B(div);
  B(pow);
  B(maximum);
  B(minimum);
  B(fmod);
  B(remainder);
  B(atan2);
  B(eq);
  B(ne);
  B(lt);
  B(le);
  B(gt);
  B(ge);
  B(logical_and);
  B(logical_or);
  B(logical_xor);
  B(matmul);
  B(bmm);
  B(mv);
  B(dot);
  B(outer);
  B(solve);
  B(lstsq);
  B(masked_select);
  S(add);
  S(sub);
  S(mul);
  S(div);
  S(pow);
  S(maximum);
  S(minimum);
  S(fmod);
  S(remainder);
  S(eq);
  S(ne);
  S(lt);
  S(le);
  S(gt);
  S(ge);
  RS(sub);
  RS(div);
  R(sum);
  R(mean);
  R(prod);
  R(amax);
  R(amin);
  R(logsumexp);
  R(count_nonzero);
  OP("clamp") { return {tg::clamp(c.x[0], c.od("min"), c.od("max"))}; };
  OP("lerp") { return {tg::lerp(c.x[0], c.x[1], c.x[2])}; };
  OP("lerp_s") { return {tg::lerp(c.x[0], c.x[1], c.d("weight"))}; };
  OP("nan_to_num") { return {tg::nan_to_num(c.x[0], c.d("nan", 0), c.od("posinf"), c.od("neginf"))}; };
  OP("gelu") { return {tg::gelu(c.x[0], c.s("approximate", "none") == "tanh" ? tg::Gelu::tanh : tg::Gelu::erf)}; };
  OP("softplus") { return {tg::softplus(c.x[0], c.d("beta", 1), c.d("threshold", 20))}; };
  OP("leaky_relu") { return {tg::leaky_relu(c.x[0], c.d("negative_slope", 0.01))}; };
  OP("elu") { return {tg::elu(c.x[0], c.d("alpha", 1))}; };
  OP("hardtanh") { return {tg::hardtanh(c.x[0], c.d("min_val", -1), c.d("max_val", 1))}; };
  OP("prelu") { return {tg::prelu(c.x[0], c.x[1])}; };
  OP("glu") { return {tg::glu(c.x[0], c.i("dim", -1))}; };
  OP("isclose") { return {tg::isclose(c.x[0], c.x[1], c.d("rtol", 1e-5), c.d("atol", 1e-8), c.b("equal_nan"))}; };
  OP("allclose") {
    return {flag(tg::allclose(c.x[0], c.x[1], c.d("rtol", 1e-5), c.d("atol", 1e-8), c.b("equal_nan")))};
  };
  OP("equal") { return {flag(tg::equal(c.x[0], c.x[1]))}; };
  OP("all") { return {c.has("dim") ? tg::all(c.x[0], c.i("dim"), c.b("keepdim")) : flag(tg::all(c.x[0]))}; };
  OP("any") { return {c.has("dim") ? tg::any(c.x[0], c.i("dim"), c.b("keepdim")) : flag(tg::any(c.x[0]))}; };
  OP("where") { return {tg::where(c.x[0], c.x[1], c.x[2])}; };
  OP("where_s") { return {tg::where(c.x[0], c.x[1], c.d("other"))}; };
  OP("where_rs") { return {tg::where(c.x[0], c.d("other"), c.x[1])}; };
  OP("masked_fill") { return {tg::masked_fill(c.x[0], c.x[1], c.d("value"))}; };
  OP("tril") { return {tg::tril(c.x[0], c.i("diagonal", 0))}; };
  OP("triu") { return {tg::triu(c.x[0], c.i("diagonal", 0))}; };
  OP("var") { return {tg::var(c.x[0], c.axes(), c.b("keepdim"), c.d("correction", 1))}; };
  OP("std") { return {tg::std(c.x[0], c.axes(), c.b("keepdim"), c.d("correction", 1))}; };
  OP("var_mean") {
    return {tg::var(c.x[0], c.axes(), c.b("keepdim"), c.d("correction", 1)),
            tg::mean(c.x[0], c.axes(), c.b("keepdim"))};
  };
  OP("std_mean") {
    return {tg::std(c.x[0], c.axes(), c.b("keepdim"), c.d("correction", 1)),
            tg::mean(c.x[0], c.axes(), c.b("keepdim"))};
  };
  OP("aminmax") { return {tg::amin(c.x[0], c.axes(), c.b("keepdim")), tg::amax(c.x[0], c.axes(), c.b("keepdim"))}; };
  OP("argmax") { return {c.has("dim") ? tg::argmax(c.x[0], c.i("dim"), c.b("keepdim")) : tg::argmax(c.x[0])}; };
  OP("argmin") { return {c.has("dim") ? tg::argmin(c.x[0], c.i("dim"), c.b("keepdim")) : tg::argmin(c.x[0])}; };
  OP("max") {
    if (c.has("dim")) return pair(tg::max(c.x[0], c.i("dim"), c.b("keepdim")));
    return {tg::max(c.x[0])};
  };
  OP("min") {
    if (c.has("dim")) return pair(tg::min(c.x[0], c.i("dim"), c.b("keepdim")));
    return {tg::min(c.x[0])};
  };
  OP("median") {
    if (c.has("dim")) return pair(tg::median(c.x[0], c.i("dim"), c.b("keepdim")));
    return {tg::median(c.x[0])};
  };
  OP("norm") { return {tg::norm(c.x[0], c.d("p", 2), c.axes(), c.b("keepdim"))}; };
  OP("cumsum") { return {tg::cumsum(c.x[0], c.i("dim"))}; };
  OP("cumprod") { return {tg::cumprod(c.x[0], c.i("dim"))}; };
  OP("logcumsumexp") { return {tg::logcumsumexp(c.x[0], c.i("dim"))}; };
  OP("cummax") { return pair(tg::cummax(c.x[0], c.i("dim"))); };
  OP("cummin") { return pair(tg::cummin(c.x[0], c.i("dim"))); };
  OP("sort") { return pair(tg::sort(c.x[0], c.i("dim", -1), c.b("descending"))); };
  OP("argsort") { return {tg::sort(c.x[0], c.i("dim", -1), c.b("descending")).indices}; };
  OP("msort") { return {tg::sort(c.x[0], 0).values}; };
  OP("topk") { return pair(tg::topk(c.x[0], c.i("k"), c.i("dim", -1), c.b("largest", true))); };
  OP("softmax") { return {tg::softmax(c.x[0], c.i("dim", -1))}; };
  OP("log_softmax") { return {tg::log_softmax(c.x[0], c.i("dim", -1))}; };
  OP("linear") { return {tg::linear(c.x[0], c.x[1], c.at(2))}; };
  OP("einsum") { return {tg::einsum(c.s("equation"), all_of(c))}; };
  OP("tensordot") {
    return {c.has("count") ? tg::tensordot(c.x[0], c.x[1], c.i("count"))
                           : tg::tensordot(c.x[0], c.x[1], c.axes("a"), c.axes("b"))};
  };
  OP("cat") { return {tg::cat(all_of(c), c.i("dim", 0))}; };
  OP("stack") { return {tg::stack(all_of(c), c.i("dim", 0))}; };
  OP("split") {
    return c.has("size") ? tg::split(c.x[0], c.i("size"), c.i("dim", 0))
                         : tg::split(c.x[0], c.list("sizes"), c.i("dim", 0));
  };
  OP("chunk") { return tg::chunk(c.x[0], c.i("chunks"), c.i("dim", 0)); };
  OP("narrow") { return {tg::narrow(c.x[0], c.i("dim"), c.i("start"), c.i("length"))}; };
  OP("flip") { return {tg::flip(c.x[0], c.axes())}; };
  OP("broadcast_to") { return {tg::broadcast_to(c.x[0], c.dims("shape"))}; };
  OP("expand") { return {c.x[0].expand(c.dims("shape"))}; };
  OP("broadcast_tensors") {
    tg::Shape s;
    for (const Tensor& x : c.x) s = tg::broadcast("broadcast", s, x.shape());
    TV y;
    for (const Tensor& x : c.x) y.push_back(x.expand(s));
    return y;
  };
  OP("unflatten") { return {tg::unflatten(c.x[0], c.i("dim"), c.dims("sizes"))}; };
  OP("movedim") { return {tg::movedim(c.x[0], c.axes("from"), c.axes("to"))}; };
  OP("diagonal") { return {tg::diagonal(c.x[0], c.i("offset", 0), c.i("dim1", 0), c.i("dim2", 1))}; };
  OP("diag_embed") { return {tg::diag_embed(c.x[0], c.i("offset", 0), c.i("dim1", -2), c.i("dim2", -1))}; };
  OP("diag") { return {tg::diag(c.x[0], c.i("diagonal", 0))}; };
  OP("unfold") { return {tg::unfold(c.x[0], c.i("dim"), c.i("size"), c.i("step"))}; };
  OP("repeat") { return {tg::repeat(c.x[0], c.dims("repeats"))}; };
  OP("tile") { return {tg::tile(c.x[0], c.dims("dims"))}; };
  OP("repeat_interleave") {
    return {c.has("repeats") ? tg::repeat_interleave(c.x[0], c.i("repeats"), c.oi("dim"))
                             : tg::repeat_interleave(c.x[0], c.x[1], c.oi("dim"))};
  };
  OP("roll") {
    return {c.has("shift") ? tg::roll(c.x[0], c.i("shift"), c.oi("dim"))
                           : tg::roll(c.x[0], c.dims("shifts"), c.axes("dims"))};
  };
  OP("pad") { return {tg::pad(c.x[0], c.list("pad"), pad_mode(c.s("mode", "constant")), c.d("value", 0))}; };
  OP("meshgrid") {
    return tg::meshgrid(all_of(c), c.s("indexing", "ij") == "ij" ? tg::MeshIndexing::ij : tg::MeshIndexing::xy);
  };
  OP("slice") { return {tg::slice(c.x[0], slices(c))}; };
  OP("slice_update") {
    return {c.has("value") ? tg::slice_update(c.x[0], slices(c), c.d("value"))
                           : tg::slice_update(c.x[0], slices(c), c.x[1])};
  };
  OP("select") { return {c.x[0].select(c.i("dim"), c.i("index"))}; };
  OP("index_select") { return {tg::index_select(c.x[0], c.i("dim"), c.x[1])}; };
  OP("gather") { return {tg::gather(c.x[0], c.i("dim"), c.x[1])}; };
  OP("take_along_axis") { return {tg::take_along_axis(c.x[0], c.x[1], c.oi("dim"))}; };
  OP("index") { return {tg::index(c.x[0], all_of(c, 1))}; };
  OP("one_hot") { return {tg::one_hot(c.x[0], c.i("classes"))}; };
  OP("embedding") { return {tg::embedding(c.x[0], c.x[1], c.oi("padding_idx"))}; };
  OP("scatter") {
    return {c.has("value") ? tg::scatter(c.x[0], c.i("dim"), c.x[1], c.d("value"))
                           : tg::scatter(c.x[0], c.i("dim"), c.x[1], c.x[2])};
  };
  OP("scatter_add") { return {tg::scatter_add(c.x[0], c.i("dim"), c.x[1], c.x[2])}; };
  OP("index_add") { return {tg::index_add(c.x[0], c.i("dim"), c.x[1], c.x[2], c.d("alpha", 1))}; };
  OP("index_copy") { return {tg::index_copy(c.x[0], c.i("dim"), c.x[1], c.x[2])}; };
  OP("index_fill") { return {tg::index_fill(c.x[0], c.i("dim"), c.x[1], c.d("value"))}; };
  OP("index_put") { return {tg::index_put(c.x[0], all_of(c, 2), c.x[1], c.b("accumulate"))}; };
  OP("reshape") { return {c.x[0].reshape(c.dims("shape"))}; };
  OP("flatten") { return {c.x[0].flatten(c.i("start_dim", 0), c.i("end_dim", -1))}; };
  OP("transpose") { return {c.x[0].transpose(c.i("dim0"), c.i("dim1"))}; };
  OP("permute") { return {c.x[0].permute(c.dims("dims"))}; };
  OP("squeeze") { return {!c.has("dim") ? c.x[0].squeeze() : c.x[0].squeeze(c.axes())}; };
  OP("unsqueeze") { return {c.x[0].unsqueeze(c.i("dim"))}; };
  OP("contiguous") { return {c.x[0].contiguous()}; };
  OP("clone") { return {c.x[0].clone()}; };
  OP("to") { return {c.x[0].to(dtype_of_code(c.i("dtype")))}; };
  OP("sum_to") { return {tg::sum_to(c.x[0], c.dims("size"))}; };
  OP("full_like") { return {tg::full_like(c.x[0], c.d("value"))}; };
  OP("full") { return {tg::full(c.dims("size"), c.d("value"), dtype_of_code(c.i("dtype")))}; };
  OP("arange") { return {tg::arange(c.d("start"), c.d("end"), c.d("step", 1), dtype_of_code(c.i("dtype")))}; };
  OP("linspace") { return {tg::linspace(c.d("start"), c.d("end"), c.i("steps"), dtype_of_code(c.i("dtype")))}; };
  OP("eye") { return {tg::eye(c.i("n"), dtype_of_code(c.i("dtype")))}; };
  OP("randn") { return {tg::randn(c.dims("size"), dtype_of_code(c.i("dtype")))}; };
  OP("rand") { return {tg::rand(c.dims("size"), dtype_of_code(c.i("dtype")))}; };
  OP("randint") { return {tg::randint(c.i("low"), c.i("high"), c.dims("size"))}; };
  OP("normal") { return {tg::normal(c.dims("size"), c.d("mean"), c.d("std"), dtype_of_code(c.i("dtype")))}; };
  OP("bernoulli") { return {tg::bernoulli(c.x[0])}; };
  OP("multinomial") { return {tg::multinomial(c.x[0], c.i("num_samples"), c.b("replacement"))}; };
  OP("uniform") { return {tg::uniform(c.dims("size"), c.d("from"), c.d("to"), dtype_of_code(c.i("dtype")))}; };
  OP("exponential") { return {tg::exponential(c.dims("size"), c.d("rate"), dtype_of_code(c.i("dtype")))}; };

  // Normalisation, attention, dropout.
  OP("layer_norm") { return {tg::layer_norm(c.x[0], c.at(1), c.at(2), c.d("eps", 1e-5))}; };
  OP("rms_norm") { return {tg::rms_norm(c.x[0], c.x[1], c.d("eps", 1e-6))}; };
  OP("batch_norm") { return {tg::batch_norm(c.x[0], c.x[1], c.x[2], c.at(3), c.at(4), c.d("eps", 1e-5))}; };
  OP("batch_norm_training") { return {tg::batch_norm_training(c.x[0], c.at(1), c.at(2), c.d("eps", 1e-5)).y}; };
  OP("group_norm") { return {tg::group_norm(c.x[0], c.i("num_groups"), c.at(1), c.at(2), c.d("eps", 1e-5))}; };
  OP("instance_norm") { return {tg::instance_norm(c.x[0], c.at(1), c.at(2), c.d("eps", 1e-5))}; };
  OP("dropout") { return {tg::dropout(c.x[0], c.d("p"), c.b("training", true))}; };
  OP("attention") {
    tg::AttentionOptions o;
    o.mask = c.at(3);
    o.causal = c.b("is_causal");
    o.scale = c.od("scale");
    o.dropout = c.d("dropout_p", 0);
    o.enable_gqa = c.b("enable_gqa");
    return {tg::scaled_dot_product_attention(c.x[0], c.x[1], c.x[2], o)};
  };
  OP("normalize") { return {tg::normalize(c.x[0], c.d("p", 2), c.i("dim", 1), c.d("eps", 1e-12))}; };
  OP("pairwise_distance") {
    return {tg::pairwise_distance(c.x[0], c.x[1], c.d("p", 2), c.d("eps", 1e-6), c.b("keepdim"))};
  };
  OP("cosine_similarity") { return {tg::cosine_similarity(c.x[0], c.x[1], c.i("dim", 1), c.d("eps", 1e-8))}; };

  // Recurrent layers: x, weight_ih, weight_hh, bias_ih, bias_hh, states.
  OP("rnn_layer") {
    auto r = tg::rnn_layer(c.x[0], {c.x[1], c.x[2], c.x[3], c.x[4]}, c.at(5), {.reverse = c.b("reverse")},
                           c.b("relu") ? tg::Nonlinearity::relu : tg::Nonlinearity::tanh);
    return {r.output, r.hidden};
  };
  OP("gru_layer") {
    auto r = tg::gru_layer(c.x[0], {c.x[1], c.x[2], c.x[3], c.x[4]}, c.at(5), {.reverse = c.b("reverse")});
    return {r.output, r.hidden};
  };
  OP("lstm_layer") {
    auto r = tg::lstm_layer(c.x[0], {c.x[1], c.x[2], c.x[3], c.x[4]}, c.at(5), c.at(6), {.reverse = c.b("reverse")});
    return {r.output, r.hidden, r.cell};
  };

  // Losses.
  OP("cross_entropy") {
    return {tg::cross_entropy(c.x[0], c.x[1],
                              {.reduction = c.reduction(),
                               .ignore_index = c.i("ignore_index", -100),
                               .label_smoothing = c.d("label_smoothing", 0),
                               .weight = c.at(2),
                               .axis = c.i("axis", -1)})};
  };
  OP("nll_loss") {
    return {tg::nll_loss(c.x[0], c.x[1],
                         {.reduction = c.reduction(),
                          .ignore_index = c.i("ignore_index", -100),
                          .weight = c.at(2),
                          .axis = c.i("axis", -1)})};
  };
  OP("multi_margin_loss") {
    return {tg::multi_margin_loss(c.x[0], c.x[1],
                                  {.reduction = c.reduction(),
                                   .p = static_cast<int>(c.i("p", 1)),
                                   .margin = c.d("margin", 1),
                                   .weight = c.at(2)})};
  };
  OP("mse_loss") { return {tg::mse_loss(c.x[0], c.x[1], c.reduction())}; };
  OP("l1_loss") { return {tg::l1_loss(c.x[0], c.x[1], c.reduction())}; };
  OP("soft_margin_loss") { return {tg::soft_margin_loss(c.x[0], c.x[1], c.reduction())}; };
  OP("huber_loss") { return {tg::huber_loss(c.x[0], c.x[1], {.reduction = c.reduction(), .delta = c.d("delta", 1)})}; };
  OP("smooth_l1_loss") {
    return {tg::smooth_l1_loss(c.x[0], c.x[1], {.reduction = c.reduction(), .beta = c.d("beta", 1)})};
  };
  OP("kl_div") {
    return {tg::kl_div(c.x[0], c.x[1],
                       {.reduction = c.s("reduction") == "batchmean" ? tg::Reduction::mean : c.reduction(),
                        .log_target = c.b("log_target"),
                        .batchmean = c.s("reduction") == "batchmean"})};
  };
  OP("binary_cross_entropy") {
    return {tg::binary_cross_entropy(c.x[0], c.x[1], {.reduction = c.reduction(), .weight = c.at(2)})};
  };
  OP("binary_cross_entropy_with_logits") {
    return {tg::binary_cross_entropy_with_logits(
        c.x[0], c.x[1], {.reduction = c.reduction(), .weight = c.at(2), .pos_weight = c.at(3)})};
  };
  OP("gaussian_nll_loss") {
    return {tg::gaussian_nll_loss(c.x[0], c.x[1], c.x[2],
                                  {.reduction = c.reduction(), .full = c.b("full"), .eps = c.d("eps", 1e-6)})};
  };
  OP("poisson_nll_loss") {
    return {tg::poisson_nll_loss(c.x[0], c.x[1],
                                 {.reduction = c.reduction(),
                                  .log_input = c.b("log_input", true),
                                  .full = c.b("full"),
                                  .eps = c.d("eps", 1e-8)})};
  };
  OP("hinge_embedding_loss") {
    return {tg::hinge_embedding_loss(c.x[0], c.x[1], {.reduction = c.reduction(), .margin = c.d("margin", 1)})};
  };
  OP("margin_ranking_loss") {
    return {tg::margin_ranking_loss(c.x[0], c.x[1], c.x[2], {.reduction = c.reduction(), .margin = c.d("margin", 0)})};
  };
  OP("cosine_embedding_loss") {
    return {
        tg::cosine_embedding_loss(c.x[0], c.x[1], c.x[2], {.reduction = c.reduction(), .margin = c.d("margin", 0)})};
  };
  OP("triplet_margin_loss") {
    return {tg::triplet_margin_loss(c.x[0], c.x[1], c.x[2],
                                    {.reduction = c.reduction(),
                                     .margin = c.d("margin", 1),
                                     .p = c.d("p", 2),
                                     .eps = c.d("eps", 1e-6),
                                     .swap = c.b("swap")})};
  };

  // Convolution, pooling, interpolation.
  OP("conv1d") { return {tg::conv1d(c.x[0], c.x[1], c.at(2), conv_options(c))}; };
  OP("conv2d") { return {tg::conv2d(c.x[0], c.x[1], c.at(2), conv_options(c))}; };
  OP("conv_transpose1d") { return {tg::conv_transpose1d(c.x[0], c.x[1], c.at(2), conv_transpose_options(c))}; };
  OP("conv_transpose2d") { return {tg::conv_transpose2d(c.x[0], c.x[1], c.at(2), conv_transpose_options(c))}; };
  OP("max_pool1d") {
    if (c.b("return_indices"))
      return pair(tg::max_pool1d_with_indices(c.x[0], c.per_axis("kernel_size"), max_pool_options(c)));
    return {tg::max_pool1d(c.x[0], c.per_axis("kernel_size"), max_pool_options(c))};
  };
  OP("max_pool2d") {
    if (c.b("return_indices"))
      return pair(tg::max_pool2d_with_indices(c.x[0], c.per_axis("kernel_size"), max_pool_options(c)));
    return {tg::max_pool2d(c.x[0], c.per_axis("kernel_size"), max_pool_options(c))};
  };
  OP("avg_pool1d") { return {tg::avg_pool1d(c.x[0], c.per_axis("kernel_size"), avg_pool_options(c))}; };
  OP("avg_pool2d") { return {tg::avg_pool2d(c.x[0], c.per_axis("kernel_size"), avg_pool_options(c))}; };
  OP("adaptive_avg_pool1d") { return {tg::adaptive_avg_pool1d(c.x[0], c.per_axis("output_size"))}; };
  OP("adaptive_avg_pool2d") { return {tg::adaptive_avg_pool2d(c.x[0], c.per_axis("output_size"))}; };
  OP("adaptive_max_pool1d") {
    if (c.b("return_indices")) return pair(tg::adaptive_max_pool1d_with_indices(c.x[0], c.per_axis("output_size")));
    return {tg::adaptive_max_pool1d(c.x[0], c.per_axis("output_size"))};
  };
  OP("adaptive_max_pool2d") {
    if (c.b("return_indices")) return pair(tg::adaptive_max_pool2d_with_indices(c.x[0], c.per_axis("output_size")));
    return {tg::adaptive_max_pool2d(c.x[0], c.per_axis("output_size"))};
  };
  OP("interpolate") {
    tg::InterpolateOptions o;
    o.size = c.per_axis("size");
    if (c.doubles.count("scale_factor")) {
      const Doubles& v = c.doubles.at("scale_factor");
      if (v.size() == 1)
        o.scale_factor = v[0];
      else if (v.size() == 2)
        o.scale_factor = {v[0], v[1]};
      else
        o.scale_factor = {v[0], v[1], v[2]};
    }
    const std::string m = c.s("mode", "nearest");
    o.mode = m == "nearest"  ? tg::Interpolation::nearest
             : m == "linear" ? tg::Interpolation::linear
                             : tg::Interpolation::bilinear;
    o.align_corners = c.b("align_corners");
    return {tg::interpolate(c.x[0], o)};
  };

  // Linear algebra; of factorizations, what does not depend on signs.
  OP("triangular_solve") {
    return {tg::triangular_solve(
        c.x[0], c.x[1], {.upper = c.b("upper"), .left = c.b("left", true), .unitriangular = c.b("unitriangular")})};
  };
  OP("cholesky") { return {tg::cholesky(c.x[0], c.b("upper"))}; };
  OP("slogdet") {
    const tg::SignLogDet r = tg::slogdet(c.x[0]);
    return {r.sign, r.logabsdet};
  };
  OP("logdet") { return {tg::slogdet(c.x[0]).logabsdet}; };
  OP("qr") {
    const tg::Qr r = tg::qr(c.x[0], c.s("mode", "reduced") == "complete" ? tg::QrMode::complete : tg::QrMode::reduced);
    return {r.q, r.r};
  };
  OP("eigvalsh") { return {tg::eigvalsh(c.b("upper") ? c.x[0].t() : c.x[0])}; };
  OP("eigh") {
    const tg::Eigh r = tg::eigh(c.b("upper") ? c.x[0].t() : c.x[0]);
    return {r.values, tg::matmul(r.vectors * tg::sin(r.values).unsqueeze(-2), r.vectors.t())};
  };
  OP("svd") {
    const tg::Svd r = tg::svd(c.x[0], c.b("full_matrices"));
    const int64_t k = r.s.size(-1);
    return {r.s, tg::matmul(tg::narrow(r.u, -1, 0, k) * tg::sin(r.s).unsqueeze(-2), tg::narrow(r.vh, -2, 0, k))};
  };
  OP("svd_full") {
    const tg::Svd r = tg::svd(c.x[0], true);
    return {tg::abs(tg::matmul(r.u.t(), r.u)), tg::abs(tg::matmul(r.vh, r.vh.t())), r.s};
  };
  OP("pinv") { return {tg::pinv(c.x[0], c.d("rcond", -1))}; };
  OP("matrix_power") { return {tg::matrix_power(c.x[0], c.i("n"))}; };

  // Compositions of FROM_PYTORCH.md.
  OP("as.logspace") {
    const tg::DType t = dtype_of_code(c.i("dtype"));
    const int64_t n = c.i("steps");
    return {tg::pow(tg::full({n}, c.d("base", 10), t), tg::linspace(c.d("start"), c.d("end"), n, t))};
  };
  OP("as.tril_indices") {
    const Ints v = c.list("rco");
    return {tg::nonzero(tg::tril(tg::ones({v[0], v[1]}), v[2])).t()};
  };
  OP("as.triu_indices") {
    const Ints v = c.list("rco");
    return {tg::nonzero(tg::triu(tg::ones({v[0], v[1]}), v[2])).t()};
  };
  OP("as.unbind") {
    TV y;
    const int64_t a = c.i("dim", 0);
    for (int64_t k = 0; k < c.x[0].size(a); ++k) y.push_back(c.x[0].select(a, k));
    return y;
  };
  OP("as.rot90") { return {tg::flip(c.x[0], 1).transpose(0, 1)}; };
  OP("as.masked_scatter") { return {tg::index_put(c.x[0], {c.x[1]}, c.x[2])}; };
  OP("as.addcmul") { return {c.x[0] + c.x[1] * c.x[2] * c.d("value", 1)}; };
  OP("as.addcdiv") { return {c.x[0] + c.x[1] / c.x[2] * c.d("value", 1)}; };
  OP("as.floor_divide") { return {tg::floor(c.x[0] / c.x[1])}; };
  OP("as.trunc_divide") { return {tg::trunc(c.x[0] / c.x[1])}; };
  OP("as.rpow") { return {tg::exp(c.x[0] * std::log(c.d("base")))}; };
  OP("as.frac") { return {c.x[0] - tg::trunc(c.x[0])}; };
  OP("as.logaddexp") { return {tg::logsumexp(tg::stack({c.x[0], c.x[1]}), 0)}; };
  OP("as.cross") {
    const int64_t a = -1;
    return {tg::roll(c.x[0], -1, a) * tg::roll(c.x[1], 1, a) - tg::roll(c.x[0], 1, a) * tg::roll(c.x[1], -1, a)};
  };
  OP("as.erfc") { return {1 - tg::erf(c.x[0])}; };
  OP("as.logit") { return {tg::log(c.x[0] / (1 - c.x[0]))}; };
  OP("as.isposinf") { return {tg::eq(c.x[0], INFINITY)}; };
  OP("as.isneginf") { return {tg::eq(c.x[0], -INFINITY)}; };
  OP("as.dist") { return {tg::norm(c.x[0] - c.x[1], c.d("p", 2))}; };
  OP("as.nansum") { return {tg::sum(tg::where(tg::isnan(c.x[0]), 0, c.x[0]), c.axes(), c.b("keepdim"))}; };
  OP("as.renorm") {
    tg::Axes axes;
    for (int64_t k = 0; k < c.x[0].dim(); ++k)
      if (k != (c.i("dim") + c.x[0].dim()) % c.x[0].dim()) axes.push_back(k);
    return {c.x[0] * tg::clamp(c.d("maxnorm") / tg::norm(c.x[0], c.d("p"), axes, true), {}, 1)};
  };
  OP("as.addmm") { return {c.x[0] * c.d("beta", 1) + tg::matmul(c.x[1], c.x[2]) * c.d("alpha", 1)}; };
  OP("as.addr") { return {c.x[0] * c.d("beta", 1) + tg::outer(c.x[1], c.x[2]) * c.d("alpha", 1)}; };
  OP("as.bilinear") {
    Tensor y = tg::einsum("...i,oij,...j->...o", {c.x[0], c.x[2], c.x[1]});
    return {c.at(3).defined() ? y + c.x[3] : y};
  };
  OP("as.kron2") {
    const Tensor &a = c.x[0], &b = c.x[1];
    return {tg::einsum("ij,kl->ikjl", {a, b}).reshape({a.size(0) * b.size(0), a.size(1) * b.size(1)})};
  };
  OP("as.trace") { return {tg::sum(tg::diagonal(c.x[0]))}; };
  OP("as.vecdot") { return {tg::sum(c.x[0] * c.x[1], tg::Axes(c.i("dim", -1)))}; };
  OP("as.cdist") { return {tg::norm(c.x[0].unsqueeze(-2) - c.x[1].unsqueeze(-3), c.d("p", 2), -1)}; };
  OP("as.multi_dot") {
    std::string e;
    for (size_t k = 0; k < c.x.size(); ++k) {
      if (k) e += ',';
      if (c.x[k].dim() == 1)
        e += static_cast<char>('a' + k + (k == 0));
      else {
        e += static_cast<char>('a' + k);
        e += static_cast<char>('b' + k);
      }
    }
    e += "->";
    if (c.x[0].dim() != 1) e += 'a';
    if (c.x.back().dim() != 1) e += static_cast<char>('b' + c.x.size() - 1);
    return {tg::einsum(e, all_of(c))};
  };
  OP("as.celu") {
    const double a = c.d("alpha", 1);
    return {a * tg::elu(c.x[0] / a)};
  };
  OP("as.softmin") { return {tg::softmax(-c.x[0], c.i("dim", -1))}; };
  OP("as.tanhshrink") { return {c.x[0] - tg::tanh(c.x[0])}; };
  OP("as.hardshrink") { return {tg::where(tg::abs(c.x[0]) > c.d("lambd", 0.5), c.x[0], 0.)}; };
  OP("as.softshrink") {
    const double l = c.d("lambd", 0.5);
    return {c.x[0] - tg::clamp(c.x[0], -l, l)};
  };
  OP("as.threshold") { return {tg::where(c.x[0] > c.d("threshold"), c.x[0], c.d("value"))}; };
  OP("as.matrix_fro") { return {tg::norm(c.x[0], 2, tg::Axes{-2, -1}, c.b("keepdim"))}; };
  OP("as.fill") { return {tg::full_like(c.x[0], c.d("value"))}; };
  OP("as.take") { return {tg::take_along_axis(c.x[0], c.x[1].flatten()).reshape(c.x[1].shape())}; };
  OP("as.put") {
    return {tg::index_put(c.x[0].flatten(), {c.x[1].flatten()}, c.x[2].flatten(), c.b("accumulate"))
                .reshape(c.x[0].shape())};
  };
  OP("as.isin") { return {tg::any(tg::eq(c.x[0].unsqueeze(-1), c.x[1].flatten()), -1)}; };
  OP("as.cholesky_solve") {
    const Tensor &b = c.x[0], &l = c.x[1];
    const bool up = c.b("upper");
    const Tensor y = tg::triangular_solve(up ? l.t() : l, b, {});
    return {tg::triangular_solve(up ? l : l.t(), y, {.upper = true})};
  };
  OP("as.lp_pool2d") {
    const double p = c.d("p");
    const auto k = c.per_axis("kernel_size");
    return {
        tg::pow(tg::avg_pool2d(tg::pow(c.x[0], p), k, {.stride = c.per_axis("stride"), .ceil_mode = c.b("ceil_mode")}) *
                    static_cast<double>(k[0] * k[1]),
                1 / p)};
  };
  OP("as.pixel_shuffle") {
    const Tensor& x = c.x[0];
    const int64_t r = c.i("r");
    if (r < 1 || r > 100) tg::fail("bridge", "factor");
    tg::Shape lead;
    for (int k = 0; k < x.dim() - 3; ++k) lead.push_back(x.size(k));
    const int64_t C = x.size(-3) / (r * r), H = x.size(-2), W = x.size(-1);
    const Tensor y = x.reshape({-1, C, r, r, H, W}).permute({0, 1, 4, 2, 5, 3});
    tg::Shape s = lead;
    s.push_back(C);
    s.push_back(H * r);
    s.push_back(W * r);
    return {y.reshape(s)};
  };
  OP("as.embedding_bag_sum") { return {tg::sum(tg::embedding(c.x[0], c.x[1]), -2)}; };
  OP("as.clamp") {
    Tensor y = c.x[0];
    if (c.x[1].defined()) y = tg::maximum(y, c.x[1]);
    if (c.x[2].defined()) y = tg::minimum(y, c.x[2]);
    return {y};
  };
  OP("as.diff") {
    const int64_t a = c.i("dim"), n = c.x[0].size(a);
    return {tg::narrow(c.x[0], a, 1, n - 1) - tg::narrow(c.x[0], a, 0, n - 1)};
  };
  OP("as.addbmm") { return {c.x[0] * c.d("beta", 1) + tg::sum(tg::bmm(c.x[1], c.x[2]), 0) * c.d("alpha", 1)}; };
  OP("as.xlogy") { return {tg::where(c.x[0] == 0., tg::zeros_like(c.x[0]), c.x[0] * tg::log(c.x[1]))}; };
  OP("as.unfold2d") {  // nn.Unfold: unfold along each of both axes, then permute
    const auto k = c.per_axis("kernel_size"), s = c.per_axis("stride", 1), p = c.per_axis("padding", 0);
    Tensor x = tg::pad(c.x[0], {p[1], p[1], p[0], p[0]});
    x = tg::unfold(tg::unfold(x, 2, k[0], s[0]), 3, k[1], s[1]);  // N C OH OW KH KW
    const int64_t n = x.size(0), ch = x.size(1), oh = x.size(2), ow = x.size(3);
    return {x.permute({0, 1, 4, 5, 2, 3}).reshape({n, ch * k[0] * k[1], oh * ow})};
  };
}
