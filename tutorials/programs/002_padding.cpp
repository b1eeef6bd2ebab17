// Tutorial 002 as a program: multi-head attention over padded sequences, with the shape of each step.
#include <tapegrad/tapegrad.h>

#include <iostream>

#include "padded_attention.h"

namespace tg = tapegrad;

namespace {

// [shapes]
// bool [B, S, 1]: the last `count` words of each sequence are padding.
tg::Tensor last_are_padding(int64_t batch, int64_t length, int64_t count) {
  const tg::Tensor padded = tg::arange(length) >= static_cast<double>(length - count);
  return padded.reshape({1, length, 1}).expand({batch, length, 1});
}

void run(int64_t batch, int64_t length, int64_t input_dim) {
  constexpr int64_t kModel = 64, kHeads = 4;
  std::cout << "batch " << batch << ", length " << length << ", input width " << input_dim << "\n";
  const tg::tasks::tutorial002::MultiHeadAttention attention(input_dim, kModel, kHeads);
  tg::NamedTensors steps;
  static_cast<void>(
      attention(tg::randn({batch, length, input_dim}), last_are_padding(batch, length, length / 3), &steps));
  for (const tg::NamedTensor& step : steps) {
    std::cout << "  " << step.name << std::string(14 - step.name.size(), ' ') << tg::str(step.tensor.shape()) << "\n";
  }
}
// [/shapes]

}  // namespace

int main() {
  tg::manual_seed(0);
  run(4, 10, 32);
  run(2, 5, 32);
  run(8, 20, 64);
  run(1, 100, 32);

  // [by_ids]
  // In practice the padding mask comes from the token ids; it masks keys for every head and query.
  const tg::Tensor ids = tg::tensor({{5, 8, 3, 0, 0}, {7, 2, 9, 4, 0}});
  std::cout << "\npadding mask (true: a word)\n" << tg::nn::padding_mask(ids) << "\n";

  // The same attention as a module of nn; padding gets no weight.
  const tg::nn::MultiHeadSelfAttention attention({.d_in = 3, .d_out = 4, .num_heads = 2, .causal = false});
  tg::Tensor weights;
  static_cast<void>(attention(tg::randn({2, 5, 3}), {.mask = tg::nn::padding_mask(ids), .weights = &weights}));
  // [/by_ids]
  std::cout << "\nweights of the first sequence's first head\n" << weights[0][0] << "\n";
}
