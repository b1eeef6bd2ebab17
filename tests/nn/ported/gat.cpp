// The graph attention network of examples/ported against pytorch-GAT.
#include <tapegrad/examples/ported/gat.h>
#include <tapegrad/tests/nn/ported/ported.h>

namespace tapegrad {
namespace {

using namespace tests;

TEST(PortedGat, TrainsAsInPyTorch) {
  const Ported golden("gat");
  const Tensor edges = golden.input("edges", kInt64), labels = golden.input("labels", kInt64);
  for (const DType dtype : {kFloat64, kFloat32}) {
    ported::Gat model({.num_heads_per_layer = {3, 2}, .num_features_per_layer = {12, 4, 5}, .dropout = 0});
    const Tensor x = golden.input("x", dtype);
    expect_pytorchs_training(
        golden, model, dtype, [&](const ported::Gat& m) { return m(x, edges); },
        [&](const Tensor& y) { return cross_entropy(y, labels); });
  }
}

}  // namespace
}  // namespace tapegrad
