// What the programs of this folder share: a short training run whose files have the house's form, and its target.
#pragma once

#include "../data_option.h"

#include <tapegrad/tapegrad.h>
#include <tapegrad/train.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace ported {

struct Training {
  int64_t steps;
  double lr;
  double target;  // of the mean loss on data that were not trained on
  std::string unit;
  int64_t units;  // per step
};

/// Trains the model with loss_of(false), the loss of a new batch, and writes the run into the folder argv[1]; with
/// --resume it continues a run. Returns 0 if the mean of loss_of(true), on other data, is below the target.
template <class Model, class LossOf>
int train_to_target(int argc, char** argv, Model& model, const Training& training, LossOf loss_of) {
  namespace tg = tapegrad;
  if (argc < 2) return std::fprintf(stderr, "usage: %s OUT [--resume]\n", argv[0]), 2;
  tg::optim::AdamW adam(tg::nn::parameters(model), {.lr = training.lr});
  tg::train::Parts parts;
  parts.add("model", model);
  parts.add("adam", adam, tg::optim::WarmupCosine{.lr = training.lr, .warmup = 20, .total = training.steps});
  const auto step = [&](int64_t) -> tg::train::StepResult {
    tg::Tape tape;
    const tg::Tensor loss = loss_of(false);
    tg::Gradients grads = tape.backward(loss);
    tg::optim::clip_grad_norm(grads, 1);
    adam.step(grads);
    return {.loss = loss.item(), .tokens = training.units};
  };
  tg::train::StepCount steps(training.steps);
  tg::train::Loop loop(parts, steps, step);
  loop.run({.folder = argv[1], .resume = argv[argc - 1] == std::string("--resume"), .report = {.unit = training.unit}});
  const tg::nn::EvalMode eval(model);
  double mean = 0;
  for (int i = 0; i < 10; ++i) mean += loss_of(true).item() / 10;
  std::printf("loss on other data: %.3f (target: below %.2f)\n", mean, training.target);
  return mean < training.target ? 0 : 1;
}

/// A text as characters.
struct Characters {
  int64_t vocabulary = 0;
  tapegrad::Tensor seen, unseen;  // int64 [n]: nine tenths of the text, and the end

  explicit Characters(const std::string& text) {
    const auto tokenizer = tapegrad::data::make_character_tokenizer(text);
    const auto encoded = tokenizer->encode(text);
    const auto count = static_cast<int64_t>(encoded.size());
    const tapegrad::Tensor ids = tapegrad::tensor(std::vector<int64_t>(encoded.begin(), encoded.end()), {count});
    vocabulary = max(ids).item<int64_t>() + 1;
    seen = ids.slice(0, 0, count * 9 / 10);
    unseen = ids.slice(0, count * 9 / 10);
  }
  /// Random pieces, [batch, length].
  tapegrad::Tensor pieces(int64_t batch, int64_t length, bool of_unseen) const {
    const tapegrad::Tensor& ids = of_unseen ? unseen : seen;
    return ids(tapegrad::randint(0, ids.numel() - length + 1, {batch, 1}) + tapegrad::arange(length));
  }
};

}  // namespace ported
