// Samples of layers: linear, normalisation, pooling, convolutions, activations, containers, recurrent layers.
#include <tapegrad/checks/cases/case.h>
#include <tapegrad/checks/modules/module_table.h>
#include <tapegrad/tapegrad.h>

#include <array>

namespace tapegrad::tasks {
namespace {

using X = std::span<const Tensor>;

void add_layers(ModuleTable& table) {
  table.add("Linear", "[2, 3] to [2, 4]", {spread({2, 3})}, [] { return nn::Linear(3, 4); });
  table.add("Linear", "without bias", {spread({2, 2, 3})}, [] { return nn::Linear(3, 2, false); });
  table.add("EnsembleLinear", "one x for two members", {spread({2, 3})}, [] { return nn::EnsembleLinear(2, 3, 4); });
  table.add("EnsembleLinear", "an x for each, without bias", {spread({2, 2, 3})},
            [] { return nn::EnsembleLinear(2, 3, 2, false); });
  table.add("Linear", "with an update of low rank", {spread({2, 3})}, [] {
    nn::Linear layer(3, 4);
    nn::init::normal(layer.weight.low_rank.emplace(3, 4, 2, 3.0).b);
    return layer;
  });
  table.add("LowRank", "[2, 2, 3] to [2, 2, 4]", {spread({2, 2, 3})}, [] {
    nn::LowRank update(3, 4, 2, 5.0);
    nn::init::normal(update.b);
    return update;
  });
  table.add("Embedding", "ids [2, 3]", {some_ids({2, 3}, 5)}, [] { return nn::Embedding(5, 3); });
  for (const nn::Bag mode : {nn::Bag::sum, nn::Bag::mean, nn::Bag::max})
    table.add(
        "EmbeddingBag", std::array{"sum", "mean", "max"}[static_cast<std::size_t>(mode)], {tensor({1, 4, 2, 0, 4})},
        [mode] { return nn::EmbeddingBag(5, 3, {.mode = mode, .padding_idx = 2}); },
        [](auto& module, X x) {
          return module(x[0], tensor({0, 2, 2}));
        });
  table.add(
      "EmbeddingBag", "weights", {tensor({{1, 4}, {0, 4}}), spread({2, 2})},
      [] { return nn::EmbeddingBag(5, 3, {.mode = nn::Bag::sum}); },
      [](auto& module, X x) { return module(x[0], {}, x[1]); });
  table.add("Dropout", "in training", {spread({3, 4})}, [] { return nn::Dropout(0.4); });
  table.add(
      "Dropout", "in evaluation", {spread({3, 4})}, [] { return nn::Dropout(0.4); },
      [](auto& module, X x) {
        nn::eval(module);
        return module(x[0]) * 2;
      });
  for (const std::string_view name : nn::activation_names())
    table.add("FeedForward", name, {spread({2, 3})},
              [name] { return nn::FeedForward(3, 4, 0.1, nn::activation_named(name)); });
  table.add(
      "SublayerConnection", "around tanh", {spread({2, 3, 4})}, [] { return nn::SublayerConnection(4, 0.2, 1e-6); },
      [](auto& module, X x) { return module(x[0], [](const Tensor& v) { return tanh(v); }); });
}

void add_norm_layers(ModuleTable& table) {
  table.add("LayerNorm", "[2, 3, 4]", {spread({2, 3, 4})}, [] { return nn::LayerNorm(4); });
  table.add("LayerNorm", "without bias", {spread({3, 4})}, [] { return nn::LayerNorm(4, 1e-5, false); });
  table.add("LayerNormStd", "[2, 3, 4]", {spread({2, 3, 4})}, [] { return nn::LayerNormStd(4); });
  table.add("LayerNorm", "over two axes", {spread({2, 3, 4})}, [] { return nn::LayerNorm(Shape{3, 4}); });
  table.add("LayerNorm", "over two axes, without parameters", {spread({2, 3, 4})}, [] {
    return nn::LayerNorm(Shape{3, 4}, {.affine = false});
  });
  table.add("RMSNorm", "over two axes", {spread({2, 3, 4})}, [] { return nn::RMSNorm(Shape{3, 4}); });
  table.add("RMSNorm", "without parameters", {spread({2, 4})}, [] { return nn::RMSNorm(4, {.affine = false}); });
  table.add("RMSNorm", "[2, 3, 4]", {spread({2, 3, 4})}, [] { return nn::RMSNorm(4); });
}

void add_tables_of_positions(ModuleTable& table) {
  table.add(
      "LearnedPositions", "three of five", {spread({3, 4})}, [] { return nn::LearnedPositions(5, 4); },
      [](auto& module, X x) { return x[0] * module(3, 1); });
  table.add(
      "SinusoidalPositions", "[2, 3, 4]", {spread({2, 3, 4})}, [] { return nn::SinusoidalPositions(5, 4); },
      [](auto& module, X x) { return exp(module(x[0])); });
  table.add(
      "LearnedPositions", "interpolated", {spread({3, 4})}, [] { return nn::LearnedPositions(3, 4); },
      [](auto& module, X x) { return x[0] * module.interpolated(3, 2, 7); });
}

void add_channel_norms(ModuleTable& table) {
  const auto evaluate = [](auto& module, X x) {
    nn::eval(module);
    return module(x[0]);
  };
  const nn::BatchNormOptions smooth{.eps = 1e-2};
  const auto one = [=] { return nn::BatchNorm1d(3, smooth); };
  const auto two = [=] { return nn::BatchNorm2d(2, smooth); };
  const auto plain = [=] { return nn::BatchNorm(2, {.eps = 1e-2, .affine = false, .track_running_stats = false}); };
  table.add("BatchNorm", "[2, 2, 3], without parameters", {spread({2, 2, 3})}, plain);
  table.add("BatchNorm1d", "[4, 3]", {spread({4, 3})}, one);
  table.add("BatchNorm1d", "[2, 3, 2]", {spread({2, 3, 2})}, one);
  table.add("BatchNorm1d", "in evaluation", {spread({2, 3})}, one, evaluate);
  table.add("BatchNorm2d", "[2, 2, 2, 2]", {spread({2, 2, 2, 2})}, two);
  table.add("BatchNorm2d", "in evaluation", {spread({1, 2, 2, 2})}, two, evaluate);
  table.add("GroupNorm", "[2, 4, 3]", {spread({2, 4, 3})}, [] { return nn::GroupNorm(2, 4, 1e-2); });
  table.add("GroupNorm", "without bias", {spread({2, 4, 3})}, [] { return nn::GroupNorm(2, 4, 1e-2, true, false); });
  table.add("InstanceNorm1d", "[2, 3]", {spread({2, 3})},
            [] { return nn::InstanceNorm1d(2, {.eps = 1e-2, .affine = true}); });
  table.add("InstanceNorm2d", "[2, 2, 2, 2]", {spread({2, 2, 2, 2})},
            [] { return nn::InstanceNorm2d(2, {.eps = 1e-2}); });
  const auto tracked = [] { return nn::InstanceNorm(2, {.eps = 1e-2, .affine = true, .track_running_stats = true}); };
  table.add("InstanceNorm", "with running statistics", {spread({2, 2, 3})}, tracked);
  table.add("InstanceNorm", "in evaluation", {spread({2, 2, 3})}, tracked, evaluate);
}

void add_pooling(ModuleTable& table) {
  const auto add = [&](std::string_view name, const Shape& shape, auto module) {
    table.add(name, str(shape), {spread(shape)}, [=] { return module; });
  };
  add("MaxPool1d", {2, 5}, nn::MaxPool1d(2));
  add("MaxPool2d", {1, 2, 4, 5}, nn::MaxPool2d({2, 3}, {.stride = 1}));
  add("MaxPool3d", {1, 2, 2, 3, 4}, nn::MaxPool3d(2, {.stride = 1}));
  add("AvgPool1d", {2, 5}, nn::AvgPool1d(2));
  add("AvgPool2d", {1, 2, 4, 5}, nn::AvgPool2d(3, {.stride = 2, .padding = 1}));
  add("AvgPool3d", {1, 2, 2, 3, 4}, nn::AvgPool3d(2, {.stride = 1}));
  add("AdaptiveAvgPool1d", {2, 5}, nn::AdaptiveAvgPool1d(2));
  add("AdaptiveAvgPool2d", {1, 2, 4, 5}, nn::AdaptiveAvgPool2d(1));
  add("AdaptiveAvgPool3d", {2, 3, 2, 3}, nn::AdaptiveAvgPool3d(2));
  add("AdaptiveMaxPool1d", {2, 5}, nn::AdaptiveMaxPool1d(2));
  add("AdaptiveMaxPool2d", {1, 2, 4, 5}, nn::AdaptiveMaxPool2d({2, 1}));
  add("AdaptiveMaxPool3d", {2, 3, 2, 3}, nn::AdaptiveMaxPool3d({2, 1, 2}));
  add("Upsample", {1, 2, 3, 2}, nn::Upsample({.scale_factor = 2, .mode = Interpolation::bilinear}));
  add("Upsample", {1, 2, 4, 3}, nn::Upsample({.size = 3, .mode = Interpolation::bicubic, .antialias = true}));
  add("PixelShuffle", {8, 2, 1}, nn::PixelShuffle(2));
  add("PixelUnshuffle", {2, 4, 2}, nn::PixelUnshuffle(2));
  add("ChannelShuffle", {2, 4, 3}, nn::ChannelShuffle(2));
  add("Unfold", {2, 3, 4}, nn::Unfold(2, {.padding = 1}));
  add("Fold", {8, 6}, nn::Fold({3, 4}, 2));
}

void add_convolutions(ModuleTable& table) {
  table.add("Conv1d", "[2, 3, 6] to [2, 4, 3]", {spread({2, 3, 6})},
            [] { return nn::Conv1d(3, 4, 3, {.stride = 2, .padding = 1}); });
  table.add("Conv2d", "[2, 3, 4, 4] to [2, 2, 4, 4]", {spread({2, 3, 4, 4})},
            [] { return nn::Conv2d(3, 2, 3, {.padding = 1}); });
  table.add("Conv2d", "groups, without bias", {spread({4, 4, 3})}, [] {
    return nn::Conv2d(4, 6, {2, 3}, {.groups = 2}, false);
  });
  table.add("Conv2d", "reflecting, of the same size", {spread({2, 3, 4})}, [] {
    return nn::Conv2d(2, 3, {2, 3}, {.padding = Padding::same, .padding_mode = PadMode::reflect});
  });
  table.add("ConvTranspose1d", "[2, 3, 4] to [2, 2, 8]", {spread({2, 3, 4})},
            [] { return nn::ConvTranspose1d(3, 2, 3, {.stride = 2, .padding = 1, .output_padding = 1}); });
  table.add("ConvTranspose2d", "[1, 3, 2, 3] to [1, 2, 4, 6]", {spread({1, 3, 2, 3})},
            [] { return nn::ConvTranspose2d(3, 2, 2, {.stride = 2}); });
  table.add("Conv3d", "[1, 2, 3, 2, 3] to [1, 2, 2, 2, 3]", {spread({1, 2, 3, 2, 3})}, [] {
    return nn::Conv3d(2, 2, {2, 1, 3}, {.padding = {0, 0, 1}});
  });
  table.add("ConvTranspose3d", "[1, 2, 2, 2, 1] to [1, 1, 4, 4, 2]", {spread({1, 2, 2, 2, 1})},
            [] { return nn::ConvTranspose3d(2, 1, 2, {.stride = 2}); });
}

void add_weight_norms(ModuleTable& table) {
  table.add("WeightNorm", "of a Linear", {spread({2, 3})}, [] { return nn::WeightNorm(nn::Linear(3, 2)); });
  table.add("WeightNorm", "of a Conv1d, over all axes", {spread({2, 5})},
            [] { return nn::WeightNorm(nn::Conv1d(2, 2, 3), std::nullopt); });
  const auto evaluated = [](auto& module, X x) {  // in training, u and v change from call to call
    nn::eval(module);
    return module(x[0]);
  };
  table.add(
      "SpectralNorm", "of a Linear", {spread({2, 3})}, [] { return nn::SpectralNorm(nn::Linear(3, 2)); }, evaluated);
  table.add(
      "SpectralNorm", "of a ConvTranspose1d", {spread({2, 3})},
      [] { return nn::SpectralNorm(nn::ConvTranspose1d(2, 2, 2)); }, evaluated);
}

void add_activations(ModuleTable& table) {
  const auto add = [&table]<class Module>(std::string_view name, const Module&, const Tensor& x) {
    table.add(name, str(x.shape()), {x}, [] { return Module(); });
  };
  const Tensor x = spread({3, 4}, -1, 2), wide = spread({3, 4}, -4, 4);
  add("ReLU", nn::ReLU(), x);
  add("ReLU6", nn::ReLU6(), x);
  add("SELU", nn::SELU(), x);
  add("SiLU", nn::SiLU(), wide);
  add("Mish", nn::Mish(), wide);
  add("Sigmoid", nn::Sigmoid(), wide);
  add("LogSigmoid", nn::LogSigmoid(), wide);
  add("Tanh", nn::Tanh(), x);
  add("Softsign", nn::Softsign(), x);
  add("Hardsigmoid", nn::Hardsigmoid(), wide);
  add("Hardswish", nn::Hardswish(), wide);
  add("GELU", nn::GELU(), wide);
  add("LeakyReLU", nn::LeakyReLU(), x);
  add("ELU", nn::ELU(), x);
  add("Softplus", nn::Softplus(), wide);
  add("Hardtanh", nn::Hardtanh(), spread({3, 4}, -1.8, 1.9));
  add("Softmax", nn::Softmax(), wide);
  add("LogSoftmax", nn::LogSoftmax(), wide);
  add("GLU", nn::GLU(), wide);
  add("PReLU", nn::PReLU(), x);
  table.add("PReLU", "per channel", {spread({2, 3, 4}, -1, 2)}, [] { return nn::PReLU(3); });
}

void add_containers(ModuleTable& table) {
  table.add("Sequential", "with a function", {spread({2, 3})}, [] {
    return nn::Sequential(
        nn::Linear(3, 4), [](const Tensor& x) { return tanh(x); }, nn::LayerNorm(4));
  });
  table.add(
      "AnyModule", "in a list", {spread({2, 3})},
      [] {
        nn::List<nn::AnyModule> layers;
        layers.emplace_back(nn::Linear(3, 2));
        layers.emplace_back(nn::RMSNorm(2));
        return layers;
      },
      [](auto& layers, X x) { return layers[1](layers[0](x[0])); });
  table.add(
      "Dict", "two heads", {spread({2, 3})},
      [] {
        return nn::Dict<nn::Linear>{{"a", nn::Linear(3, 2)}, {"b", nn::Linear(3, 1)}};
      },
      [](auto& heads, X x) { return heads["a"](x[0]) * heads["b"](x[0]); });
  table.add("Variant", "the second of two", {spread({2, 3})},
            [] { return nn::Variant<nn::Linear, nn::RMSNorm>(nn::RMSNorm(3)); });
  table.add("Hooked", "with hooks", {spread({2, 3})}, [] {
    nn::Hooked<nn::Linear> layer(3, 4);
    layer.on_forward([](const Tensor&, const Tensor& y) { return sin(y); });
    return layer;
  });
  table.add("Identity", "[2, 3]", {spread({2, 3})}, [] { return nn::Identity(); });
  table.add("Flatten", "[2, 3, 2]", {spread({2, 3, 2})}, [] { return nn::Flatten(); });
  table.add("Unflatten", "[2, 6]", {spread({2, 6})}, [] { return nn::Unflatten(1, {3, -1}); });
}

// All results in one row.
Tensor joined(std::initializer_list<Tensor> results) {
  std::vector<Tensor> rows;
  for (const Tensor& y : results) rows.push_back(y.reshape({-1}));
  return cat(rows);
}

void add_recurrent(ModuleTable& table) {
  const Tensor x = spread({3, 2, 2}), lengths = tensor({2, 3});
  const auto both = [](auto& module, X x) {
    const auto [output, hidden] = module(x[0], x[1]);
    return joined({output, hidden});
  };
  const auto all = [](auto& module, X x) {
    const auto [output, hidden, cell] = module(x[0], {x[1], x[2]}, x.size() > 3 ? x[3] : Tensor());
    return joined({output, hidden, cell});
  };
  const Tensor h = spread({1, 2, 2}, -1, 1), c = spread({1, 2, 2}, -0.7, 0.9), h4 = spread({4, 2, 2}, -1, 1);
  table.add(
      "RNN", "tanh", {x, h}, [] { return nn::RNN(2, 2); }, both);
  table.add(
      "RNN", "relu", {x, h + 1}, [] { return nn::RNN(2, 2, {}, Nonlinearity::relu); }, both);
  table.add(
      "GRU", "one layer", {x, h}, [] { return nn::GRU(2, 2); }, both);
  table.add(
      "GRU", "lengths, batch first", {spread({2, 3, 2}), lengths},
      [] { return nn::GRU(2, 2, {.batch_first = true, .bidirectional = true}); },
      [](auto& module, X x) {
        const auto [output, hidden] = module(x[0], {}, x[1]);
        return joined({output, hidden});
      });
  table.add(
      "LSTM", "one layer", {x, h, c}, [] { return nn::LSTM(2, 2); }, all);
  table.add(
      "LSTM", "without bias, one sequence", {spread({3, 2})}, [] { return nn::LSTM(2, 2, {.bias = false}); },
      [](auto& module, X x) { return module(x[0]).output; });
  table.add(
      "LSTM", "two layers, both directions, dropout, lengths", {x, h4, h4 * 0.8, lengths},
      [] { return nn::LSTM(2, 2, {.num_layers = 2, .dropout = 0.3, .bidirectional = true}); }, all);
  const Tensor row = spread({2, 3}), state = spread({2, 2}, -1, 1);
  const auto step = [](auto& module, X x) { return module(x[0], x[1]); };
  table.add(
      "RNNCell", "tanh", {row, state}, [] { return nn::RNNCell(3, 2); }, step);
  table.add(
      "RNNCell", "relu, without bias", {row, state + 1}, [] { return nn::RNNCell(3, 2, false, Nonlinearity::relu); },
      step);
  table.add(
      "GRUCell", "two sequences", {row, state}, [] { return nn::GRUCell(3, 2); }, step);
  table.add(
      "LSTMCell", "two sequences", {row, state, state * 0.7}, [] { return nn::LSTMCell(3, 2); },
      [](auto& module, X x) {
        const auto [hidden, cell] = module(x[0], {x[1], x[2]});
        return joined({hidden, cell});
      });
}

}  // namespace

void add_layer_samples(ModuleTable& table) {
  add_layers(table);
  add_norm_layers(table);
  add_tables_of_positions(table);
  add_channel_norms(table);
  add_pooling(table);
  add_convolutions(table);
  add_weight_norms(table);
  add_activations(table);
  add_containers(table);
  add_recurrent(table);
}

}  // namespace tapegrad::tasks
