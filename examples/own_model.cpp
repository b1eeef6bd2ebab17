// Trains your own model on your own data: a small network that separates the two arms of a spiral.
//
//   own_model OUT [--resume]   writes checkpoint, metrics.jsonl, model.safetensors and report.html into the folder OUT
#include <tapegrad/tapegrad.h>
#include <tapegrad/train.h>

#include <cmath>
#include <cstdio>
#include <string_view>

namespace tg = tapegrad;

struct Spirals {  // example i: a point [2], and its arm, 0 or 1
  int64_t size() const { return 1000; }
  std::pair<tg::Tensor, int64_t> operator[](int64_t i) const {
    const double radius = 0.1 + 0.0009 * double(i), angle = 9 * radius + 3.14159 * double(i % 2);
    return {tg::tensor({radius * std::cos(angle), radius * std::sin(angle)}).to(tg::kFloat32), i % 2};
  }
};

struct Net {
  tg::nn::Linear in{2, 64}, hidden{64, 64}, out{64, 2};
  tg::nn::Dropout dropout{0.1};
  tg::Tensor operator()(const tg::Tensor& x) const { return out(dropout(tg::relu(hidden(tg::relu(in(x)))))); }
};

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: own_model OUT [--resume]\n"), 2;
  tg::manual_seed(0);
  const auto parts = tg::data::random_split(Spirals(), std::vector<int64_t>{800, 200});
  const tg::data::DataLoader training(parts[0], {.batch_size = 20, .shuffle = true, .prefetch = 2});
  const tg::data::DataLoader validation(parts[1], {.batch_size = 200});
  Net net;
  tg::optim::AdamW adam(tg::nn::parameters(net), {.lr = 3e-3});

  const auto loss_of = [&](const auto& batch) -> tg::train::BatchLoss {
    const auto& [points, arms] = batch;
    const tg::Tensor logits = net(points), right = tg::argmax(logits, -1) == arms;
    return {.loss = tg::cross_entropy(logits, arms),
            .accuracy = tg::mean(right.to(tg::kFloat64)).item(),
            .tokens = points.size(0),
            .terms = static_cast<double>(points.size(0))};
  };
  tg::train::Loop loop(
      net, adam, training, loss_of,
      {.epochs = 40,
       .clip_grad_norm = 1,
       .schedule = tg::optim::WarmupCosine{.lr = 3e-3, .warmup = 50, .total = 40 * training.size()},
       .evaluate = [&] { return tg::train::Evaluation{loss_of(*validation.begin().next()).loss.item()}; },
       .evaluate_every = 100,
       .patience = 8});
  const bool resume = argc > 2 && argv[2] == std::string_view("--resume");
  loop.run({.folder = argv[1], .resume = resume, .keep_best = true, .report = {.unit = "points"}});
  std::printf("best validation loss %.4f (target: below 0.05)\n", loop.best().validation);
  return loop.best().validation < 0.05 ? 0 : 1;
}
