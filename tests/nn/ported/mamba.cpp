// Mamba of examples/ported against mamba-minimal.
#include <tapegrad/examples/ported/mamba.h>
#include <tapegrad/tests/nn/ported/ported.h>

namespace tapegrad {
namespace {

using namespace tests;

TEST(PortedMamba, TrainsAsInPyTorch) {
  const Ported golden("mamba");
  const Tensor ids = golden.input("ids", kInt64);
  for (const DType dtype : {kFloat64, kFloat32}) {
    ported::Mamba model{{.d_model = 16, .n_layer = 2, .vocab_size = 29, .d_state = 6}};
    expect_pytorchs_training(
        golden, model, dtype, [&](const ported::Mamba& m) { return m(ids(all, range(0, -1))); },
        [&](const Tensor& y) { return cross_entropy(y, ids(all, range(1, kAll))); });
  }
}

}  // namespace
}  // namespace tapegrad
