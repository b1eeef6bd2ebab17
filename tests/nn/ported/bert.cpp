// BERT of examples/ported against transformers.
#include <tapegrad/examples/ported/bert.h>
#include <tapegrad/tests/nn/ported/ported.h>

namespace tapegrad {
namespace {

using namespace tests;

TEST(PortedBert, TrainsAsInPyTorch) {
  const Ported golden("bert");
  const Tensor ids = golden.input("ids", kInt64), types = golden.input("types", kInt64);
  const Tensor labels = golden.input("labels", kInt64);
  for (const DType dtype : {kFloat64, kFloat32}) {
    ported::BertForMaskedLM model{{.vocab_size = 31,
                                   .hidden_size = 16,
                                   .num_hidden_layers = 2,
                                   .num_attention_heads = 2,
                                   .intermediate_size = 32,
                                   .max_position_embeddings = 12,
                                   .hidden_dropout_prob = 0,
                                   .attention_probs_dropout_prob = 0}};
    expect_pytorchs_training(
        golden, model, dtype, [&](const ported::BertForMaskedLM& m) { return m(ids, types, ids != 0); },
        [&](const Tensor& y) { return cross_entropy(y, labels, {.ignore_index = -100}); });
  }
}

}  // namespace
}  // namespace tapegrad
