// Your own layer, a model with it, and its training: what main.cpp and test.cpp share.
#pragma once

#include <tapegrad/tapegrad.h>
#include <tapegrad/train.h>

#include <numbers>
#include <string>

namespace tg = tapegrad;
namespace nn = tg::nn;

// x [..., in] -> [..., 2 features]: cosines and sines of fixed random frequencies, each with an amplitude that is
// trained (Rahimi, Recht 2007). A layer is a struct:
// - a Parameter is trained, saved and loaded; initialisers of nn::init overwrite it;
// - a Buffer is saved and loaded, but not trained;
// - visit names both. A struct without a constructor needs no visit.
struct FourierFeatures {
  nn::Parameter amplitudes;  // [2 features]
  nn::Buffer frequencies;    // [in, features]

  FourierFeatures(int64_t in, int64_t features, double scale)
      : amplitudes(tg::zeros({2 * features})), frequencies(scale * tg::randn({in, features})) {
    nn::init::normal(amplitudes, 1, 0.1);
  }
  tg::Tensor operator()(const tg::Tensor& x) const {
    const tg::Tensor angles = tg::matmul(x, frequencies);
    return amplitudes * tg::cat({tg::cos(angles), tg::sin(angles)}, -1);
  }
  void visit(auto&& field) {
    field("amplitudes", amplitudes);
    field("frequencies", frequencies);
  }
};

struct Net {
  FourierFeatures features{1, 32, 4.0};
  nn::Linear out{64, 1};
  tg::Tensor operator()(const tg::Tensor& x) const { return out(features(x)); }
};

inline Net load(const std::string& path) {
  Net net;
  nn::load_state_dict(net, tg::load_safetensors(path).tensors);
  return net;
}

// What the model learns: a curve, from noisy points on it. Replace both by your data.
inline tg::Tensor curve(const tg::Tensor& x) { return tg::sin(2 * std::numbers::pi * x) + 0.5 * tg::cos(9 * x); }
inline tg::data::TensorDataset points(int64_t count) {
  const tg::Tensor x = 2 * tg::rand({count, 1}) - 1;
  return {x, curve(x) + 0.05 * tg::randn({count, 1})};
}

// Trains the model, and writes model.safetensors, report.html and more into the folder.
inline Net train(const std::string& folder, bool resume = false) {
  tg::manual_seed(0);
  Net net;
  const tg::data::DataLoader batches(points(512), {.batch_size = 32, .shuffle = true});
  const auto unseen = points(128);
  tg::optim::AdamW adam(nn::parameters(net));
  constexpr int64_t kEpochs = 30;
  tg::train::Loop loop(
      net, adam, batches,
      [&](const auto& batch) -> tg::train::BatchLoss {
        const auto& [x, y] = batch;
        return {.loss = tg::mse_loss(net(x), y), .tokens = x.size(0), .terms = static_cast<double>(x.size(0))};
      },
      {.epochs = kEpochs,
       .schedule = tg::optim::WarmupCosine{.lr = 0.02, .warmup = 20, .total = kEpochs * batches.size()},
       .evaluate = [&] { return tg::train::Evaluation{tg::mse_loss(net(unseen.inputs()), unseen.targets()).item()}; },
       .evaluate_every = batches.size()});
  loop.run({.folder = folder, .resume = resume, .report = {.unit = "points"}});
  return net;
}
