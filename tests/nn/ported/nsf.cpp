// The neural spline flow of examples/ported against nflows.
#include <tapegrad/examples/ported/nsf.h>
#include <tapegrad/tests/nn/ported/ported.h>

namespace tapegrad {
namespace {

using namespace tests;

TEST(PortedNsf, TrainsAsInPyTorch) {
  const Ported golden("nsf");
  for (const DType dtype : {kFloat64, kFloat32}) {
    ported::NeuralSplineFlow model{{.features = 5, .hidden_features = 16, .num_flow_steps = 2, .num_bins = 4}};
    const Tensor x = golden.input("x", dtype);
    expect_pytorchs_training(
        golden, model, dtype, [&](const ported::NeuralSplineFlow& m) { return m.log_prob(x); },
        [](const Tensor& y) { return -mean(y); });
    const ported::Mapped drawn = model._transform(golden.input("noise", dtype), true);
    const Tensor theirs = golden.file["inverse"];  // after the training: samples, and log |det| in the last column
    const double room = dtype == kFloat64 ? 1e-8 : 2e-4;
    expect_equal_to(drawn.y, theirs(all, range(0, 5)), room, "samples");
    expect_equal_to(drawn.log_det, theirs(all, 5), room, "log_det");
    const ported::Mapped back = model._transform(drawn.y, false);
    expect_equal_to(back.y, golden.input("noise", dtype), dtype == kFloat64 ? 1e-9 : 1e-4, "noise");
    expect_equal_to(back.log_det, -drawn.log_det, dtype == kFloat64 ? 1e-9 : 1e-4, "log_det of the way back");
  }
}

}  // namespace
}  // namespace tapegrad
