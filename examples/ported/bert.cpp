// Trains the BERT of bert.h to restore masked characters of pieces of text that occur twice.
//
//   ported_bert OUT [--resume] [--data FILE]   writes the run into the folder OUT; fails above its target
#include "bert.h"

#include "training.h"

namespace tg = tapegrad;

constexpr int64_t kBatch = 32, kLength = 8;

int main(int argc, char** argv) {
  const ported::Characters text(tg::train::read_file(data_option(argc, argv, "the_verdict.txt")));
  const int64_t mask = text.vocabulary + 1;  // characters are 1 to `vocabulary`, 0 is padding
  tg::manual_seed(0);
  ported::BertForMaskedLM model{{.vocab_size = mask + 1,
                                 .hidden_size = 48,
                                 .num_hidden_layers = 2,
                                 .num_attention_heads = 4,
                                 .intermediate_size = 96,
                                 .max_position_embeddings = 2 * kLength,
                                 .hidden_dropout_prob = 0,
                                 .attention_probs_dropout_prob = 0}};
  ported::BertEmbeddings& embeddings = model.bert.embeddings;
  tg::nn::init::normal(embeddings.word_embeddings.weight, 0, 0.3);
  tg::nn::init::normal(embeddings.position_embeddings.weight, 0, 0.3);
  tg::nn::init::zeros(embeddings.token_type_embeddings.weight);
  return ported::train_to_target(
      argc, argv, model,
      {.steps = 1000, .lr = 3e-3, .target = 1.0, .unit = "characters", .units = 2 * kBatch * kLength},
      [&](bool unseen) {
        const tg::Tensor piece = text.pieces(kBatch, kLength, unseen) + 1, ids = tg::cat({piece, piece}, 1);
        const tg::Tensor hidden = tg::rand({kBatch, 2 * kLength}) < 0.15;
        return tg::cross_entropy(model(tg::where(hidden, tg::full_like(ids, double(mask)), ids)),
                                 tg::masked_fill(ids, !hidden, -100), {.ignore_index = -100});
      });
}
