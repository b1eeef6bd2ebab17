// Trains the Mamba of mamba.h to predict the next character of a text.
//
//   ported_mamba OUT [--resume] [--data FILE]   writes the run into the folder OUT; fails above its target
#include "mamba.h"

#include "training.h"

namespace tg = tapegrad;

int main(int argc, char** argv) {
  const ported::Characters text(tg::train::read_file(data_option(argc, argv, "the_verdict.txt")));
  tg::manual_seed(0);
  ported::Mamba model{{.d_model = 48, .n_layer = 2, .vocab_size = text.vocabulary, .d_state = 8}};
  tg::nn::init::normal(model.embedding.weight, 0, 0.05);
  constexpr int64_t kBatch = 8, kLength = 64;
  return ported::train_to_target(
      argc, argv, model, {.steps = 120, .lr = 5e-3, .target = 2.3, .unit = "characters", .units = kBatch * kLength},
      [&](bool unseen) {
        const tg::Tensor ids = text.pieces(kBatch, kLength + 1, unseen);
        return tg::cross_entropy(model(ids(tg::all, tg::range(0, kLength))), ids(tg::all, tg::range(1, kLength + 1)));
      });
}
