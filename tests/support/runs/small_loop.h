// Training loops of a second: datasets of numbers, and a linear model that is trained on one of them.
#pragma once

#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/linear.h>
#include <tapegrad/optim/sgd.h>
#include <tapegrad/train/data/data_loader.h>
#include <tapegrad/train/loop.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace tapegrad::tests {

struct Numbered {  // i
  int64_t count;
  int64_t size() const { return count; }
  double operator[](int64_t i) const { return static_cast<double>(i); }
};

struct Numbers {  // x [2] and y = x0 - 2 x1
  int64_t size() const { return 32; }
  std::pair<Tensor, double> operator[](int64_t i) const {
    const double a = std::sin(static_cast<double>(i)), b = std::cos(static_cast<double>(3 * i));
    return {tensor({a, b}).to(kFloat32), a - 2 * b};
  }
};

// A linear model over Numbers, in training.
struct Trained {
  explicit Trained(train::LoopOptions options = {}, int64_t batch_size = 4)
      : model((manual_seed(3), nn::Linear(2, 1))),
        sgd(nn::parameters(model), {.lr = 0.1}),
        loader(Numbers(), {.batch_size = batch_size, .shuffle = true}),
        loop(
            model, sgd, loader,
            [this](const auto& batch) {
              if (++batches == fail_at) fail("test", "no batch");
              return train::BatchLoss{.loss = mse_loss(model(batch.first).reshape({-1}), batch.second), .tokens = 4};
            },
            std::move(options)) {}
  std::vector<float> weights() const { return model.weight->to_vector<float>(); }

  nn::Linear model;
  optim::SGD sgd;
  data::DataLoader<Numbers> loader;
  int64_t batches = 0, fail_at = 0;
  train::Loop loop;
};

}  // namespace tapegrad::tests
