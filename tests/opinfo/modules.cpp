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
tg::ConvOptions conv_module_options(const Case& c) {
  tg::ConvOptions o = conv_options(c);
  o.padding_mode = tg::tasks::pad_mode(c.attributes, "padding_mode");
  return o;
}
nn::BatchNormOptions batch_norm_options(const Case& c) {
  nn::BatchNormOptions o{.eps = c.d("eps"),
                         .momentum = c.od("momentum"),
                         .affine = c.b("affine", true),
                         .track_running_stats = c.b("track_running_stats", true),
                         .bias = c.b("bias", true)};
  return o;
}
nn::InstanceNormOptions instance_norm_options(const Case& c) {
  return {.eps = c.d("eps"),
          .momentum = c.d("momentum"),
          .affine = c.b("affine"),
          .track_running_stats = c.b("track_running_stats"),
          .bias = c.b("bias", true)};
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

void add_activations(Calls& on) {
  on["nn.ReLU"] = [](Case& c) -> TV { return simple(c, nn::ReLU()); };
  on["nn.ReLU6"] = [](Case& c) -> TV { return simple(c, nn::ReLU6()); };
  on["nn.SELU"] = [](Case& c) -> TV { return simple(c, nn::SELU()); };
  on["nn.SiLU"] = [](Case& c) -> TV { return simple(c, nn::SiLU()); };
  on["nn.Mish"] = [](Case& c) -> TV { return simple(c, nn::Mish()); };
  on["nn.Sigmoid"] = [](Case& c) -> TV { return simple(c, nn::Sigmoid()); };
  on["nn.LogSigmoid"] = [](Case& c) -> TV { return simple(c, nn::LogSigmoid()); };
  on["nn.Tanh"] = [](Case& c) -> TV { return simple(c, nn::Tanh()); };
  on["nn.Softsign"] = [](Case& c) -> TV { return simple(c, nn::Softsign()); };
  on["nn.Hardsigmoid"] = [](Case& c) -> TV { return simple(c, nn::Hardsigmoid()); };
  on["nn.Hardswish"] = [](Case& c) -> TV { return simple(c, nn::Hardswish()); };
  on["nn.GELU"] = [](Case& c) -> TV {
    return simple(c, nn::GELU{c.s("approximate") == "tanh" ? tg::Gelu::tanh : tg::Gelu::erf});
  };
  on["nn.LeakyReLU"] = [](Case& c) -> TV { return simple(c, nn::LeakyReLU{c.d("negative_slope")}); };
  on["nn.ELU"] = [](Case& c) -> TV { return simple(c, nn::ELU{c.d("alpha")}); };
  on["nn.Softplus"] = [](Case& c) -> TV { return simple(c, nn::Softplus{c.d("beta"), c.d("threshold")}); };
  on["nn.Hardtanh"] = [](Case& c) -> TV { return simple(c, nn::Hardtanh{c.d("min_val"), c.d("max_val")}); };
  on["nn.Softmax"] = [](Case& c) -> TV { return simple(c, nn::Softmax{c.i("dim")}); };
  on["nn.LogSoftmax"] = [](Case& c) -> TV { return simple(c, nn::LogSoftmax{c.i("dim")}); };
  on["nn.GLU"] = [](Case& c) -> TV { return simple(c, nn::GLU{c.i("dim")}); };
  on["nn.PReLU"] = [](Case& c) -> TV { return simple(c, nn::PReLU(c.i("num_parameters"))); };
}

template <class M>
void add_norm(Calls& on, const std::string& name, auto options) {
  on["nn." + name] = [options](Case& c) -> TV { return simple(c, M(c.i("num_features"), options(c))); };
}
void add_layers(Calls& on) {
  on["nn.Linear"] = [](Case& c) -> TV {
    return simple(c, nn::Linear(c.i("in_features"), c.i("out_features"), c.b("bias", true)));
  };
  on["nn.Embedding"] = [](Case& c) -> TV {
    return with(c, nn::Embedding(c.i("num_embeddings"), c.i("embedding_dim"), c.oi("padding_idx")),
                [&](nn::Embedding& m) -> TV { return {m(c.x[0])}; });
  };
  on["nn.Dropout"] = [](Case& c) -> TV { return simple(c, nn::Dropout(c.d("p"))); };
  on["nn.LayerNorm"] = [](Case& c) -> TV {
    return simple(c, nn::LayerNorm(tg::Shape(c.dims("shape")),
                                   {.eps = c.d("eps"), .affine = c.b("affine", true), .bias = c.b("bias", true)}));
  };
  on["nn.RMSNorm"] = [](Case& c) -> TV {
    return simple(c, nn::RMSNorm(tg::Shape(c.dims("shape")), {.eps = c.d("eps"), .affine = c.b("affine", true)}));
  };
  on["nn.GroupNorm"] = [](Case& c) -> TV {
    return simple(
        c, nn::GroupNorm(c.i("num_groups"), c.i("num_channels"), c.d("eps"), c.b("affine", true), c.b("bias", true)));
  };
  add_norm<nn::BatchNorm1d>(on, "BatchNorm1d", batch_norm_options);
  add_norm<nn::BatchNorm2d>(on, "BatchNorm2d", batch_norm_options);
  add_norm<nn::BatchNorm3d>(on, "BatchNorm3d", batch_norm_options);
  add_norm<nn::InstanceNorm1d>(on, "InstanceNorm1d", instance_norm_options);
  add_norm<nn::InstanceNorm2d>(on, "InstanceNorm2d", instance_norm_options);
  add_norm<nn::InstanceNorm3d>(on, "InstanceNorm3d", instance_norm_options);
}

template <class M>
void add_convolution(Calls& on, const std::string& name) {
  on["nn." + name] = [](Case& c) -> TV {
    const int64_t in = c.i("in_channels"), out = c.i("out_channels");
    const bool bias = c.b("bias", true);
    if constexpr (std::is_same_v<M, nn::Conv1d>)
      return simple(c, M(in, out, c.i("kernel_size"), conv_module_options(c), bias));
    else if constexpr (std::is_same_v<M, nn::ConvTranspose1d>)
      return simple(c, M(in, out, c.i("kernel_size"), conv_transpose_options(c), bias));
    else if constexpr (std::is_same_v<M, nn::ConvTranspose2d> || std::is_same_v<M, nn::ConvTranspose3d>)
      return simple(c, M(in, out, c.per_axis("kernel_size"), conv_transpose_options(c), bias));
    else
      return simple(c, M(in, out, c.per_axis("kernel_size"), conv_module_options(c), bias));
  };
}
void add_convolutions(Calls& on) {
  add_convolution<nn::Conv1d>(on, "Conv1d");
  add_convolution<nn::Conv2d>(on, "Conv2d");
  add_convolution<nn::Conv3d>(on, "Conv3d");
  add_convolution<nn::ConvTranspose1d>(on, "ConvTranspose1d");
  add_convolution<nn::ConvTranspose2d>(on, "ConvTranspose2d");
  add_convolution<nn::ConvTranspose3d>(on, "ConvTranspose3d");
}

template <class M>
void add_max_pool(Calls& on, const std::string& name) {
  on["nn." + name] = [](Case& c) -> TV { return simple(c, M(c.per_axis("kernel_size"), max_pool_options(c))); };
}
template <class M>
void add_avg_pool(Calls& on, const std::string& name) {
  on["nn." + name] = [](Case& c) -> TV { return simple(c, M(c.per_axis("kernel_size"), avg_pool_options(c))); };
}
template <class M>
void add_adaptive_pool(Calls& on, const std::string& name) {
  on["nn." + name] = [](Case& c) -> TV { return simple(c, M(c.per_axis("output_size"))); };
}
void add_pooling(Calls& on) {
  add_max_pool<nn::MaxPool1d>(on, "MaxPool1d");
  add_max_pool<nn::MaxPool2d>(on, "MaxPool2d");
  add_max_pool<nn::MaxPool3d>(on, "MaxPool3d");
  add_avg_pool<nn::AvgPool1d>(on, "AvgPool1d");
  add_avg_pool<nn::AvgPool2d>(on, "AvgPool2d");
  add_avg_pool<nn::AvgPool3d>(on, "AvgPool3d");
  add_adaptive_pool<nn::AdaptiveAvgPool1d>(on, "AdaptiveAvgPool1d");
  add_adaptive_pool<nn::AdaptiveAvgPool2d>(on, "AdaptiveAvgPool2d");
  add_adaptive_pool<nn::AdaptiveAvgPool3d>(on, "AdaptiveAvgPool3d");
  add_adaptive_pool<nn::AdaptiveMaxPool1d>(on, "AdaptiveMaxPool1d");
  add_adaptive_pool<nn::AdaptiveMaxPool2d>(on, "AdaptiveMaxPool2d");
  add_adaptive_pool<nn::AdaptiveMaxPool3d>(on, "AdaptiveMaxPool3d");
}

void add_recurrent(Calls& on) {
  on["nn.RNN"] = [](Case& c) -> TV {
    return with(c, nn::RNN(c.i("input_size"), c.i("hidden_size"), recurrent_options(c), nonlinearity(c)),
                [&](nn::RNN& m) -> TV {
                  auto r = m(c.x[0], c.x[1], lengths(c));
                  return {r.output, r.hidden};
                });
  };
  on["nn.GRU"] = [](Case& c) -> TV {
    return with(c, nn::GRU(c.i("input_size"), c.i("hidden_size"), recurrent_options(c)), [&](nn::GRU& m) -> TV {
      auto r = m(c.x[0], c.x[1], lengths(c));
      return {r.output, r.hidden};
    });
  };
  on["nn.LSTM"] = [](Case& c) -> TV {
    return with(c, nn::LSTM(c.i("input_size"), c.i("hidden_size"), recurrent_options(c)), [&](nn::LSTM& m) -> TV {
      auto r = m(c.x[0], {c.x[1], c.x[2]}, lengths(c));
      return {r.output, r.hidden, r.cell};
    });
  };
  on["nn.RNNCell"] = [](Case& c) -> TV {
    return with(c, nn::RNNCell(c.i("input_size"), c.i("hidden_size"), c.b("bias", true), nonlinearity(c)),
                [&](nn::RNNCell& m) -> TV { return {m(c.x[0], c.x[1])}; });
  };
  on["nn.GRUCell"] = [](Case& c) -> TV {
    return with(c, nn::GRUCell(c.i("input_size"), c.i("hidden_size"), c.b("bias", true)),
                [&](nn::GRUCell& m) -> TV { return {m(c.x[0], c.x[1])}; });
  };
  on["nn.LSTMCell"] = [](Case& c) -> TV {
    return with(c, nn::LSTMCell(c.i("input_size"), c.i("hidden_size"), c.b("bias", true)), [&](nn::LSTMCell& m) -> TV {
      auto r = m(c.x[0], {c.x[1], c.x[2]});
      return {r.hidden, r.cell};
    });
  };
  // x [B, T, C] three times, and a mask, true where attention is allowed, or none.
  on["nn.MultiheadAttention"] = [](Case& c) -> TV {
    return with(c, nn::MultiHeadAttention(c.i("embed_dim"), c.i("num_heads")),
                [&](nn::MultiHeadAttention& m) -> TV { return {m(c.x[0], c.x[1], c.x[2], c.x[3])}; });
  };
}

}  // namespace

void add_modules() {
  Calls& on = calls();
  add_activations(on);
  add_layers(on);
  add_convolutions(on);
  add_pooling(on);
  add_recurrent(on);
}
