// Modules as calls of the bridge, "nn.NAME". The operands are `inputs` inputs, then the state, whose names are in
// `names`. The results are the module's, then its buffers.
#include "case.h"

#include <sstream>

namespace nn = tapegrad::nn;

namespace {

std::vector<std::string> names_of(const Case& c) {
  std::vector<std::string> names;
  std::istringstream in(c.s("names"));
  for (std::string n; std::getline(in, n, ',');) names.push_back(n);
  return names;
}

template <class M, class F>
TV with(Case& c, M made, F&& call) {
  auto m = std::make_shared<M>(std::move(made));
  const auto names = names_of(c);
  const size_t inputs = static_cast<size_t>(c.i("inputs", 1));
  for (size_t k = 0; k < c.x.size(); ++k)
    if (c.x[k].defined() && c.x[k].dtype() == tg::kFloat64) {
      nn::to(*m, tg::kFloat64);
      break;
    }
  tg::NamedTensors state;
  for (size_t k = 0; k < names.size(); ++k) state.push_back({names[k], c.x[inputs + k].detach()});
  nn::load_state_dict(*m, state);
  nn::train(*m, c.b("training", true));
  for (auto& p : nn::named_parameters(*m))
    for (size_t k = 0; k < names.size(); ++k)
      if (names[k] == p.name) c.x[inputs + k] = p.parameter.tensor();
  TV y = call(*m);
  for (auto& b : nn::named_buffers(*m)) y.push_back(b.buffer.tensor());
  c.keep = m;
  return y;
}
template <class M>
TV simple(Case& c, M made) {
  return with(c, std::move(made), [&](M& m) -> TV { return {m(c.x[0])}; });
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
  const std::string m = c.s("padding_mode", "zeros");
  o.padding_mode = m == "reflect"     ? tg::PadMode::reflect
                   : m == "replicate" ? tg::PadMode::replicate
                   : m == "circular"  ? tg::PadMode::circular
                                      : tg::PadMode::constant;
  return o;
}
tg::ConvTransposeOptions transpose_options(const Case& c) {
  return {c.per_axis("stride", 1), c.per_axis("padding", 0), c.per_axis("output_padding", 0), c.per_axis("dilation", 1),
          c.i("groups", 1)};
}
nn::BatchNormOptions batch_norm_options(const Case& c) {
  nn::BatchNormOptions o{.eps = c.d("eps"),
                         .momentum = c.od("momentum"),
                         .affine = c.b("affine", true),
                         .track_running_stats = c.b("track_running_stats", true)};
  return o;
}
nn::InstanceNormOptions instance_norm_options(const Case& c) {
  return {.eps = c.d("eps"),
          .momentum = c.d("momentum"),
          .affine = c.b("affine"),
          .track_running_stats = c.b("track_running_stats")};
}
nn::RecurrentOptions recurrent_options(const Case& c) {
  return {.num_layers = c.i("num_layers", 1),
          .bias = c.b("bias", true),
          .batch_first = c.b("batch_first"),
          .dropout = c.d("dropout", 0),
          .bidirectional = c.b("bidirectional")};
}
tg::Nonlinearity nonlinearity(const Case& c) {
  return c.s("nonlinearity", "tanh") == "relu" ? tg::Nonlinearity::relu : tg::Nonlinearity::tanh;
}
Tensor lengths(const Case& c) {
  if (!c.has("lengths")) return {};
  const Ints v = c.list("lengths");
  return tg::tensor(v, {static_cast<int64_t>(v.size())});
}

}  // namespace

#define M(name) all["nn." name] = [](Case & c) -> TV

void add_modules() {
  auto& all = calls();
  M("ReLU") { return simple(c, nn::ReLU()); };
  M("ReLU6") { return simple(c, nn::ReLU6()); };
  M("SELU") { return simple(c, nn::SELU()); };
  M("SiLU") { return simple(c, nn::SiLU()); };
  M("Mish") { return simple(c, nn::Mish()); };
  M("Sigmoid") { return simple(c, nn::Sigmoid()); };
  M("LogSigmoid") { return simple(c, nn::LogSigmoid()); };
  M("Tanh") { return simple(c, nn::Tanh()); };
  M("Softsign") { return simple(c, nn::Softsign()); };
  M("Hardsigmoid") { return simple(c, nn::Hardsigmoid()); };
  M("Hardswish") { return simple(c, nn::Hardswish()); };
  M("GELU") { return simple(c, nn::GELU{c.s("approximate") == "tanh" ? tg::Gelu::tanh : tg::Gelu::erf}); };
  M("LeakyReLU") { return simple(c, nn::LeakyReLU{c.d("negative_slope")}); };
  M("ELU") { return simple(c, nn::ELU{c.d("alpha")}); };
  M("Softplus") { return simple(c, nn::Softplus{c.d("beta"), c.d("threshold")}); };
  M("Hardtanh") { return simple(c, nn::Hardtanh{c.d("min_val"), c.d("max_val")}); };
  M("Softmax") { return simple(c, nn::Softmax{c.i("dim")}); };
  M("LogSoftmax") { return simple(c, nn::LogSoftmax{c.i("dim")}); };
  M("GLU") { return simple(c, nn::GLU{c.i("dim")}); };
  M("PReLU") { return simple(c, nn::PReLU(c.i("num_parameters"))); };
  M("Linear") { return simple(c, nn::Linear(c.i("in_features"), c.i("out_features"), c.b("bias", true))); };
  M("Embedding") {
    return with(c, nn::Embedding(c.i("num_embeddings"), c.i("embedding_dim"), c.oi("padding_idx")),
                [&](nn::Embedding& m) -> TV { return {m(c.x[0])}; });
  };
  M("Dropout") { return simple(c, nn::Dropout(c.d("p"))); };
  M("LayerNorm") { return simple(c, nn::LayerNorm(c.i("dim"), c.d("eps"), c.b("bias", true))); };
  M("RMSNorm") { return simple(c, nn::RMSNorm(c.i("dim"), c.d("eps"))); };
  M("GroupNorm") {
    return simple(c, nn::GroupNorm(c.i("num_groups"), c.i("num_channels"), c.d("eps"), c.b("affine", true)));
  };
  M("BatchNorm1d") { return simple(c, nn::BatchNorm1d(c.i("num_features"), batch_norm_options(c))); };
  M("BatchNorm2d") { return simple(c, nn::BatchNorm2d(c.i("num_features"), batch_norm_options(c))); };
  M("BatchNorm3d") { return simple(c, nn::BatchNorm(c.i("num_features"), batch_norm_options(c))); };
  M("InstanceNorm1d") { return simple(c, nn::InstanceNorm1d(c.i("num_features"), instance_norm_options(c))); };
  M("InstanceNorm2d") { return simple(c, nn::InstanceNorm2d(c.i("num_features"), instance_norm_options(c))); };
  M("InstanceNorm3d") { return simple(c, nn::InstanceNorm(c.i("num_features"), instance_norm_options(c))); };
  M("Conv1d") {
    return simple(
        c, nn::Conv1d(c.i("in_channels"), c.i("out_channels"), c.i("kernel_size"), conv_options(c), c.b("bias", true)));
  };
  M("Conv2d") {
    return simple(c, nn::Conv2d(c.i("in_channels"), c.i("out_channels"), c.per_axis("kernel_size"), conv_options(c),
                                c.b("bias", true)));
  };
  M("ConvTranspose1d") {
    return simple(c, nn::ConvTranspose1d(c.i("in_channels"), c.i("out_channels"), c.i("kernel_size"),
                                         transpose_options(c), c.b("bias", true)));
  };
  M("ConvTranspose2d") {
    return simple(c, nn::ConvTranspose2d(c.i("in_channels"), c.i("out_channels"), c.per_axis("kernel_size"),
                                         transpose_options(c), c.b("bias", true)));
  };
  M("MaxPool1d") {
    return simple(c, nn::MaxPool1d(c.per_axis("kernel_size"), {c.per_axis("stride"), c.per_axis("padding", 0),
                                                               c.per_axis("dilation", 1), c.b("ceil_mode")}));
  };
  M("MaxPool2d") {
    return simple(c, nn::MaxPool2d(c.per_axis("kernel_size"), {c.per_axis("stride"), c.per_axis("padding", 0),
                                                               c.per_axis("dilation", 1), c.b("ceil_mode")}));
  };
  M("AvgPool1d") {
    return simple(
        c, nn::AvgPool1d(c.per_axis("kernel_size"), {c.per_axis("stride"), c.per_axis("padding", 0), c.b("ceil_mode"),
                                                     c.b("count_include_pad", true), c.oi("divisor_override")}));
  };
  M("AvgPool2d") {
    return simple(
        c, nn::AvgPool2d(c.per_axis("kernel_size"), {c.per_axis("stride"), c.per_axis("padding", 0), c.b("ceil_mode"),
                                                     c.b("count_include_pad", true), c.oi("divisor_override")}));
  };
  M("AdaptiveAvgPool1d") { return simple(c, nn::AdaptiveAvgPool1d(c.per_axis("output_size"))); };
  M("AdaptiveAvgPool2d") { return simple(c, nn::AdaptiveAvgPool2d(c.per_axis("output_size"))); };
  M("AdaptiveMaxPool1d") { return simple(c, nn::AdaptiveMaxPool1d(c.per_axis("output_size"))); };
  M("AdaptiveMaxPool2d") { return simple(c, nn::AdaptiveMaxPool2d(c.per_axis("output_size"))); };
  M("RNN") {
    return with(c, nn::RNN(c.i("input_size"), c.i("hidden_size"), recurrent_options(c), nonlinearity(c)),
                [&](nn::RNN& m) -> TV {
                  auto r = m(c.x[0], c.x[1], lengths(c));
                  return {r.output, r.hidden};
                });
  };
  M("GRU") {
    return with(c, nn::GRU(c.i("input_size"), c.i("hidden_size"), recurrent_options(c)), [&](nn::GRU& m) -> TV {
      auto r = m(c.x[0], c.x[1], lengths(c));
      return {r.output, r.hidden};
    });
  };
  M("LSTM") {
    return with(c, nn::LSTM(c.i("input_size"), c.i("hidden_size"), recurrent_options(c)), [&](nn::LSTM& m) -> TV {
      auto r = m(c.x[0], {c.x[1], c.x[2]}, lengths(c));
      return {r.output, r.hidden, r.cell};
    });
  };
  M("RNNCell") {
    return with(c, nn::RNNCell(c.i("input_size"), c.i("hidden_size"), c.b("bias", true), nonlinearity(c)),
                [&](nn::RNNCell& m) -> TV { return {m(c.x[0], c.x[1])}; });
  };
  M("GRUCell") {
    return with(c, nn::GRUCell(c.i("input_size"), c.i("hidden_size"), c.b("bias", true)),
                [&](nn::GRUCell& m) -> TV { return {m(c.x[0], c.x[1])}; });
  };
  M("LSTMCell") {
    return with(c, nn::LSTMCell(c.i("input_size"), c.i("hidden_size"), c.b("bias", true)), [&](nn::LSTMCell& m) -> TV {
      auto r = m(c.x[0], {c.x[1], c.x[2]});
      return {r.hidden, r.cell};
    });
  };
  // x [B, T, C] three times, and a mask, true where attention is allowed, or none.
  M("MultiheadAttention") {
    return with(c, nn::MultiHeadAttention(c.i("embed_dim"), c.i("num_heads")),
                [&](nn::MultiHeadAttention& m) -> TV { return {m(c.x[0], c.x[1], c.x[2], c.x[3])}; });
  };
}
