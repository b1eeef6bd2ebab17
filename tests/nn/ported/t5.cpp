// T5 of examples/ported against transformers, which computes its norms in float32.
#include <tapegrad/examples/ported/t5.h>
#include <tapegrad/tests/nn/ported/ported.h>

namespace tapegrad {
namespace {

using namespace tests;

TEST(PortedT5, TrainsAsInPyTorch) {
  const Ported golden("t5");
  const Tensor ids = golden.input("ids", kInt64), labels = golden.input("labels", kInt64);
  for (const DType dtype : {kFloat64, kFloat32}) {
    ported::T5ForConditionalGeneration model{{.vocab_size = 31,
                                              .d_model = 16,
                                              .d_kv = 8,
                                              .d_ff = 32,
                                              .num_layers = 2,
                                              .num_heads = 2,
                                              .relative_attention_num_buckets = 8,
                                              .relative_attention_max_distance = 10,
                                              .dropout_rate = 0}};
    expect_pytorchs_training(
        golden, model, dtype, [&](const ported::T5ForConditionalGeneration& m) { return m(ids, labels, ids != 0); },
        [&](const Tensor& y) { return cross_entropy(y, labels); });
  }
}

}  // namespace
}  // namespace tapegrad
