// The U-Net of examples/ported against denoising-diffusion-pytorch.
#include <tapegrad/examples/ported/unet.h>
#include <tapegrad/tests/nn/ported/ported.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad {
namespace {

using namespace tests;

void expect_pytorchs_unet(const std::string& name, const ported::UnetOptions& options, DType dtype) {
  const Ported golden(name);
  ported::Unet model{options};
  const Tensor x = golden.input("x", dtype), time = golden.input("time", dtype), target = golden.input("target", dtype);
  const Tensor before = options.self_condition ? golden.input("self_cond", dtype) : Tensor();
  expect_pytorchs_training(
      golden, model, dtype, [&](const ported::Unet& m) { return m(x, time, before); },
      [&](const Tensor& y) { return mse_loss(y, target); });
}

TEST(PortedUnet, TrainsAsInPyTorch) {
  for (const DType dtype : {kFloat64, kFloat32})
    expect_pytorchs_unet(
        "unet",
        {.dim = 8, .dim_mults = {1, 2}, .channels = 1, .self_condition = true, .attn_dim_head = {8}, .attn_heads = {2}},
        dtype);
}

TEST(PortedUnet, OptionsAreThoseOfPyTorch) {
  for (const DType dtype : {kFloat64, kFloat32})
    expect_pytorchs_unet("unet_options",
                         {.dim = 4,
                          .init_dim = 6,
                          .dim_mults = {1, 2},
                          .channels = 2,
                          .learned_variance = true,
                          .learned_sinusoidal_cond = true,
                          .learned_sinusoidal_dim = 6,
                          .attn_dim_head = {8, 4},
                          .attn_heads = {1, 2},
                          .full_attn = {true, false}},
                         dtype);
}

// Without comments, empty lines and includes. Counted in the same way, the Python model has 260 lines.
TEST(PortedUnet, NeedsFewerLinesThanInPython) {
  std::ifstream file(std::string(kSourceDir) + "/examples/ported/unet.h");
  int lines = 0;
  for (std::string line; std::getline(file, line);) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin != std::string::npos && line[begin] != '#' && line.compare(begin, 2, "//") != 0) ++lines;
  }
  EXPECT_GT(lines, 100);
  EXPECT_LE(lines, 0.85 * 260);
}

}  // namespace
}  // namespace tapegrad
