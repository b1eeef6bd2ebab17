// Convolutions of volumes have the bits of those of images whose channels are the depths of a window.
// ctest: families products
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

struct VolumeCase {
  Shape x, weight;
  ConvOptions options = {};
};

Tensor numbers_of(const Shape& shape) {
  Generator generator(1);
  return randn(shape, kFloat32, &generator);
}

// The windows of depths as images, [N * OD, C * KD, H, W].
Tensor images_of(const Tensor& x, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
  const Tensor padded = pad(x, {0, 0, 0, 0, padding, padding});
  const Tensor windows = unfold(padded, 2, dilation * (kernel - 1) + 1, stride);  // [N, C, OD, H, W, K]
  const Tensor taken = windows.slice(5, 0, kAll, dilation);
  return taken.permute({0, 2, 1, 5, 3, 4}).flatten(0, 1).flatten(1, 2);
}

// The same operations on images. Depthwise: the sum of one convolution for each depth of the kernel.
Tensor by_images(const VolumeCase& one, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const ConvOptions& o = one.options;
  const int64_t depths = weight.size(2);
  const ConvOptions planes{.stride = {o.stride[1], o.stride[2]},
                           .padding = PerAxis<int64_t>{o.padding[1], o.padding[2]},
                           .dilation = {o.dilation[1], o.dilation[2]},
                           .groups = o.groups};
  Tensor y;
  if (weight.size(1) == 1 && o.groups > 1) {
    const Tensor all = images_of(x, depths, o.stride[0], o.padding[0], o.dilation[0]);
    for (int64_t k = 0; k < depths; ++k) {
      const Tensor plane = all.slice(1, k, kAll, depths);
      const Tensor term = conv2d(plane, weight.select(2, k), k == 0 ? bias : Tensor(), planes);
      y = k == 0 ? term : y + term;
    }
  } else {
    y = conv2d(images_of(x, depths, o.stride[0], o.padding[0], o.dilation[0]), weight.flatten(1, 2), bias, planes);
  }
  return y.reshape({x.size(0), y.size(0) / x.size(0), y.size(1), y.size(2), y.size(3)}).transpose(1, 2);
}

TEST(ConvolutionVolumes, HaveTheBitsOfImages) {
  const std::vector<VolumeCase> cases = {
      {{2, 5, 6, 9, 11}, {20, 5, 3, 3, 3}, {.padding = {1, 1, 1}}},
      {{1, 6, 7, 8, 19}, {12, 3, 2, 3, 2}, {.stride = {3, 1, 2}, .padding = {2, 0, 1}, .groups = 2}},
      {{2, 17, 9, 8, 19}, {3, 17, 2, 3, 2}, {.padding = {2, 0, 1}, .dilation = {3, 1, 2}}},
      {{3, 1, 5, 8, 9}, {4, 1, 3, 3, 3}, {.padding = {0, 0, 0}}},
      // Products of whole images: with and without windows of depths.
      {{2, 300, 4, 6, 7}, {12, 300, 1, 1, 1}},
      {{2, 100, 5, 6, 7}, {12, 100, 3, 1, 1}, {.padding = {1, 0, 0}}},
      // Depthwise: one block of windows, several, and windows without a common plane.
      {{2, 6, 5, 8, 19}, {6, 1, 3, 3, 3}, {.padding = {1, 1, 1}, .groups = 6}},
      {{1, 2, 25, 64, 70}, {2, 1, 3, 3, 3}, {.padding = {1, 1, 1}, .groups = 2}},
      {{2, 3, 19, 8, 40}, {6, 1, 2, 3, 5}, {.stride = {4, 2, 2}, .padding = {1, 1, 2}, .groups = 3}},
      {{2, 3, 9, 8, 40}, {6, 1, 3, 1, 1}, {.padding = {7, 0, 0}, .dilation = {4, 1, 1}, .groups = 3}},
      {{2, 3, 1, 8, 9}, {3, 1, 1, 3, 3}, {.padding = {1, 1, 1}, .groups = 3}}};
  for (const VolumeCase& one : cases) {
    for (const DType dtype : {kFloat32, kFloat64}) {
      Generator generator(1);
      const Tensor x = randn(one.x, dtype, &generator).as_leaf(), w = randn(one.weight, dtype, &generator).as_leaf();
      const Tensor b = randn({one.weight[0]}, dtype, &generator).as_leaf();
      const auto all = [&](const Tensor& y) {
        Generator again(2);
        const Tensor dy = randn(y.shape(), dtype, &again);
        const Gradients grads = Tape::current()->backward(y, {.grad_output = dy});
        return std::vector<Tensor>{y, grads[w], grads[b], grads[x]};
      };
      std::vector<Tensor> ours, images;
      {
        Tape tape;
        ours = all(conv3d(x, w, b, one.options));
      }
      {
        Tape tape;
        images = all(by_images(one, x, w, b));
      }
      const std::string label = fmt::format("{} {} {}", str(one.x), str(one.weight), name(dtype));
      for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(same_bits(ours[i], images[i])) << label << ", " << i;
      EXPECT_LT(largest_difference(ours[3], images[3]), dtype == kFloat32 ? 1e-3 : 1e-11) << label;
    }
  }
}

TEST(ConvolutionVolumes, HaveTheSameBitsForAnyNumberOfThreads) {
  const Tensor x = numbers_of({3, 6, 25, 30, 31}).as_leaf(), w = numbers_of({12, 1, 3, 3, 3}).as_leaf();
  expect_same_with_any_threads([&] {
    Tape tape;
    const Tensor y = conv3d(x, w, {}, {.stride = {1, 2, 1}, .padding = 1, .groups = 6});
    const Gradients grads = tape.backward(y, {.grad_output = numbers_of(y.shape())});
    return std::vector<Tensor>{y, grads[x], grads[w]};
  });
}

// Taps outside of x are left out, and what they would add is zero: explicit zeros give the same bits, with as many
// channels as make every kind of panel.
TEST(ConvolutionVolumes, HaveTheBitsOfExplicitZeros) {
  struct Padded {
    Shape x, kernel;
    std::vector<int64_t> stride, padding, dilation;
  };
  const std::vector<Padded> cases = {
      {{2, 3, 4, 5, 6}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
      {{3, 2, 2, 9, 40}, {5, 2, 4}, {1, 2, 1}, {4, 1, 3}, {1, 1, 1}},  // windows without any depth of x
      {{2, 1, 7, 7, 7}, {3, 3, 3}, {2, 2, 3}, {2, 2, 2}, {2, 3, 1}},
      {{1, 4, 1, 6, 6}, {1, 3, 3}, {1, 1, 1}, {2, 4, 5}, {1, 1, 1}},  // rows and columns without any element
      {{1, 2, 1, 30, 3}, {3, 9, 1}, {1, 1, 2}, {1, 4, 1}, {1, 1, 1}},
  };
  for (const Padded& one : cases) {
    for (const int64_t o : {1, 6, 13, 24, 36, 40, 56, 80, 97}) {
      const auto all = [](const std::vector<int64_t>& v) { return PerAxis<int64_t>{v[0], v[1], v[2]}; };
      const ConvOptions options{.stride = all(one.stride), .dilation = all(one.dilation)};
      ConvOptions padded = options;
      padded.padding = all(one.padding);
      const Tensor x = numbers_of(one.x).as_leaf();
      const Tensor w = numbers_of({o, one.x[1], one.kernel[0], one.kernel[1], one.kernel[2]}).as_leaf();
      const auto& p = one.padding;
      Tape tape;
      const Tensor y = conv3d(x, w, {}, padded);
      const Tensor expected = conv3d(pad(x, {p[2], p[2], p[1], p[1], p[0], p[0]}), w, {}, options);
      EXPECT_TRUE(same_bits(y, expected)) << str(one.x) << ", " << o;
      const Tensor dy = numbers_of(y.shape());
      const Gradients now = tape.backward(y, {.retain_graph = true, .grad_output = dy});
      const Gradients then = tape.backward(expected, {.grad_output = dy});
      EXPECT_TRUE(same_bits(now[x], then[x])) << str(one.x) << ", " << o;
    }
  }
}

// Zeros around a volume are multiplied, so that a weight of NaN reaches all elements.
TEST(ConvolutionVolumes, MultiplyThePadding) {
  for (const int64_t groups : {1, 3}) {
    Tensor weight = ones({3, 3 / groups, 3, 3, 3});
    weight = where(arange(3).reshape({1, 1, 3, 1, 1}) == 0, kNan, weight);
    const Tensor y = conv3d(ones({1, 3, 4, 5, 6}), weight, {}, {.padding = 1, .groups = groups});
    EXPECT_TRUE(all(isnan(y))) << groups;
  }
}

}  // namespace
}  // namespace tapegrad::tests
