// Convolution layers compared with PyTorch's (data/convolution.json), and their errors.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

using nlohmann::json;

// The first parameters, by name, and the result; then the result again in a layer that loads the parameters.
template <class Make>
void expect_pytorchs(const char* name, const Shape& x_shape, Make make) {
  SCOPED_TRACE(name);
  const json golden = stored("convolution.json").at(name);
  manual_seed(123);
  auto layer = make();
  NamedTensors state;
  for (const auto& [path, parameter] : nn::named_parameters(layer)) {
    const json& expected = golden["parameters"].at(path);
    const auto sizes = expected["shape"].get<std::vector<int64_t>>();
    ASSERT_EQ(parameter->shape(), Shape(sizes.data(), static_cast<int64_t>(sizes.size()))) << path;
    expect_close(parameter, expected["values"], {2e-7, 0}, path);
    state.push_back({path, tensor(expected["values"].get<std::vector<float>>(), parameter->shape())});
  }
  EXPECT_EQ(state.size(), golden["parameters"].size());
  const Tensor x = filled(x_shape, 0).to(kFloat32);
  expect_close(layer(x), golden["y"], {1e-6, 1e-6}, "y");
  manual_seed(1);
  auto other = make();
  nn::load_state_dict(other, state);
  expect_close(other(x), golden["y"], {1e-6, 1e-6}, "y of loaded parameters");
}

TEST(Convolution, StartsWithPyTorchsParameters) {
  expect_pytorchs("conv1d", {2, 4, 9}, [] { return nn::Conv1d(4, 6, 3, {.stride = 2, .padding = 1}); });
  expect_pytorchs("conv1d_groups", {2, 4, 5}, [] { return nn::Conv1d(4, 6, 2, {.groups = 2}, false); });
  expect_pytorchs("conv2d", {2, 3, 4, 5}, [] { return nn::Conv2d(3, 4, 3, {.padding = 1}); });
  expect_pytorchs("conv2d_depthwise", {1, 4, 5, 6}, [] {
    return nn::Conv2d(4, 4, {3, 2}, {.stride = {1, 2}, .groups = 4});
  });
  expect_pytorchs("conv1d_same", {2, 3, 5},
                  [] { return nn::Conv1d(3, 4, 4, {.padding = Padding::same, .dilation = 3}); });
  expect_pytorchs("conv2d_same", {2, 3, 4, 5}, [] { return nn::Conv2d(3, 4, {2, 5}, {.padding = Padding::same}); });
  expect_pytorchs("conv1d_reflect", {3, 7},
                  [] { return nn::Conv1d(3, 4, 4, {.stride = 2, .padding = 2, .padding_mode = PadMode::reflect}); });
  expect_pytorchs("conv2d_circular", {2, 2, 3, 4}, [] {
    return nn::Conv2d(2, 4, {2, 3}, {.padding = {1, 2}, .groups = 2, .padding_mode = PadMode::circular});
  });
  expect_pytorchs("conv2d_replicate_same", {2, 2, 3, 4}, [] {
    return nn::Conv2d(2, 3, {4, 2}, {.padding = Padding::same, .padding_mode = PadMode::replicate});
  });
  expect_pytorchs("conv_transpose1d", {2, 3, 4},
                  [] { return nn::ConvTranspose1d(3, 5, 3, {.stride = 2, .padding = 1, .output_padding = 1}); });
  expect_pytorchs("conv_transpose2d", {1, 4, 2, 3}, [] {
    return nn::ConvTranspose2d(4, 6, {2, 3}, {.stride = {2, 1}, .groups = 2});
  });
}

TEST(Convolution, CloneKeepsTheOptions) {
  const nn::Conv2d layer(2, 3, 3, {.stride = 2, .padding = 1});
  const nn::Conv2d copy = nn::clone(layer);
  const Tensor x = filled({1, 2, 6, 6}, 1).to(kFloat32);
  expect_near(copy(x), layer(x));
}

TEST(ConvolutionErrors, OfLayers) {
  EXPECT_ERROR(nn::Conv2d(0, 3, 3));
  EXPECT_ERROR(nn::Conv1d(3, -1, 3));
  EXPECT_ERROR(nn::ConvTranspose2d(3, 3, {3, 0}));
  EXPECT_ERROR(nn::ConvTranspose1d(3, 3, 3, {.groups = 0}));
  EXPECT_ERROR(nn::Conv2d(4, 6, 3, {.groups = 4}));
  EXPECT_ERROR(nn::Conv2d(4, 6, {1, 2, 3}));
}

}  // namespace
}  // namespace tapegrad::tests
