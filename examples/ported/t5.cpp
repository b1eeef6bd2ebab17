// Trains the T5 of t5.h to reverse sequences.
//
//   ported_t5 OUT [--resume]   writes the run into the folder OUT; fails above its target
#include "t5.h"

#include "training.h"

namespace tg = tapegrad;

int main(int argc, char** argv) {
  tg::manual_seed(0);
  ported::T5ForConditionalGeneration model{
      {.vocab_size = 12, .d_model = 32, .d_kv = 8, .d_ff = 64, .num_layers = 2, .num_heads = 4, .dropout_rate = 0}};
  constexpr int64_t kBatch = 32, kLength = 6;
  return ported::train_to_target(argc, argv, model,
                                 {.steps = 600, .lr = 5e-3, .target = 0.5, .unit = "tokens", .units = kBatch * kLength},
                                 [&](bool) {
                                   const tg::Tensor ids = tg::randint(2, 12, {kBatch, kLength});
                                   return tg::cross_entropy(model(ids, tg::flip(ids, {1})), tg::flip(ids, {1}));
                                 });
}
