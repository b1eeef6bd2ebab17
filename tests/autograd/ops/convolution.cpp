// Convolutions: comparison with plain loops, for shapes that reach every path through the kernels. Those of volumes
// have the bits of those of images whose channels are the depths of a window.
// ctest: families products
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

Tensor numbers(const Shape& shape, DType dtype, uint64_t seed) {
  Generator generator(seed);
  return rand(shape, dtype, &generator) - 0.5;
}

struct ConvolutionCase {
  Shape x, weight;
  ConvOptions options = {};
};

// conv2d by its definition: calls f(index in y, index in x, index in weight) for every product.
void each_product(const Shape& x, const Shape& w, const Shape& y, const ConvOptions& o, auto f) {
  const int64_t filters = w[0] / o.groups;
  for (int64_t n = 0; n < y[0]; ++n)
    for (int64_t out = 0; out < y[1]; ++out)
      for (int64_t i = 0; i < y[2]; ++i)
        for (int64_t j = 0; j < y[3]; ++j)
          for (int64_t c = 0; c < w[1]; ++c)
            for (int64_t p = 0; p < w[2]; ++p)
              for (int64_t q = 0; q < w[3]; ++q) {
                const int64_t row = i * o.stride[0] + p * o.dilation[0] - o.padding[0];
                const int64_t col = j * o.stride[1] + q * o.dilation[1] - o.padding[1];
                if (row < 0 || row >= x[2] || col < 0 || col >= x[3]) continue;
                const int64_t channel = out / filters * w[1] + c;
                f(((n * y[1] + out) * y[2] + i) * y[3] + j, ((n * x[1] + channel) * x[2] + row) * x[3] + col,
                  ((out * w[1] + c) * w[2] + p) * w[3] + q);
              }
}

Tensor widened(const Tensor& x) { return x.detach().to(kFloat64); }

void check(const ConvolutionCase& one, DType dtype) {
  const Tensor x = numbers(one.x, dtype, 1).as_leaf(), weight = numbers(one.weight, dtype, 2).as_leaf();
  Tape tape;
  const Tensor y = conv2d(x, weight, {}, one.options), dy = numbers(y.shape(), dtype, 3);
  const Gradients grads = tape.backward(y, {.grad_output = dy});
  const Tensor wide_x = widened(x), wide_w = widened(weight), wide_dy = widened(dy);
  const Tensor right = zeros(y.shape(), kFloat64), dx = zeros(one.x, kFloat64), dw = zeros(one.weight, kFloat64);
  const double *from_x = wide_x.data<double>(), *from_w = wide_w.data<double>(), *from_dy = wide_dy.data<double>();
  double *to_y = right.mutable_data<double>(), *to_x = dx.mutable_data<double>(), *to_w = dw.mutable_data<double>();
  each_product(one.x, one.weight, y.shape(), one.options, [&](int64_t at, int64_t in, int64_t w) {
    to_y[at] += from_x[in] * from_w[w];
    to_x[in] += from_dy[at] * from_w[w];
    to_w[w] += from_dy[at] * from_x[in];
  });
  const double room = dtype == kFloat32 ? 2e-4 : 1e-12;
  const std::string what =
      fmt::format("{} x {} weight {} stride {} {} padding {} {} dilation {} {} groups {}", name(dtype), str(one.x),
                  str(one.weight), one.options.stride[0], one.options.stride[1], one.options.padding[0],
                  one.options.padding[1], one.options.dilation[0], one.options.dilation[1], one.options.groups);
  EXPECT_LE(largest_difference(widened(y), right), room) << what;
  EXPECT_LE(largest_difference(widened(grads[x]), dx), room) << what;
  EXPECT_LE(largest_difference(widened(grads[weight]), dw), room) << what;
}

TEST(Convolution, EqualsPlainLoops) {
  const std::vector<ConvolutionCase> cases = {
      {{1, 1, 1, 1}, {1, 1, 1, 1}},
      {{3, 40, 9, 9}, {33, 40, 3, 3}, {.padding = 1}},       // several blocks along the taps
      {{40, 3, 4, 4}, {8, 3, 3, 3}, {.padding = 1}},         // several images in a block
      {{1, 8, 50, 60}, {12, 8, 3, 3}, {.padding = {1, 0}}},  // several blocks of rows
      {{1, 5, 1, 3000}, {9, 5, 1, 5}, {.padding = {0, 2}}},  // and of columns
      {{2, 5, 3, 1100}, {17, 5, 2, 5}, {.stride = {1, 3}, .padding = 1}},
      {{2, 6, 19, 23}, {10, 6, 3, 2}, {.stride = {2, 3}, .padding = {2, 1}}},
      {{2, 6, 40, 41}, {10, 6, 3, 3}, {.stride = 2, .padding = 1}},
      {{2, 6, 19, 23}, {10, 6, 3, 2}, {.padding = 3, .dilation = {3, 2}}},
      {{2, 6, 19, 23}, {10, 6, 3, 4}, {.stride = {3, 2}, .padding = {2, 5}, .dilation = {2, 3}}},
      {{2, 6, 13, 13}, {10, 6, 1, 1}, {.stride = 3}},  // elements of x that no window reads
      {{2, 6, 13, 13}, {10, 6, 2, 2}, {.stride = 5}},
      {{2, 6, 3, 3}, {10, 6, 1, 1}, {.padding = 2}},
      {{2, 12, 9, 9}, {18, 4, 3, 3}, {.padding = 1, .groups = 3}},
      {{3, 70, 7, 6}, {20, 70, 1, 1}},
      {{3, 8, 7, 6}, {12, 4, 1, 1}, {.groups = 2}},
      {{2, 300, 5, 5}, {20, 300, 2, 2}},                            // more channels than a block has taps
      {{2, 5, 20, 37}, {5, 1, 3, 3}, {.padding = 1, .groups = 5}},  // depthwise
      {{2, 5, 20, 37}, {15, 1, 3, 5}, {.stride = {2, 3}, .padding = {1, 2}, .groups = 5}},
      {{2, 4, 12, 11}, {8, 1, 3, 2}, {.stride = 3, .padding = 4, .dilation = {1, 4}, .groups = 4}},
      {{2, 4, 9, 9}, {4, 1, 1, 1}, {.stride = 2, .groups = 4}},
      {{300, 2, 3, 3}, {2, 1, 2, 2}, {.groups = 2}},
      {{1, 2, 30, 30}, {3, 2, 7, 7}, {.padding = 20}},  // windows that contain only padding
      {{300, 3, 4, 5}, {7, 3, 4, 5}},                   // patches: an image; two that do not reach its end; one
      {{4, 3, 9, 13}, {10, 3, 4, 3}, {.stride = {4, 3}}},
      {{2, 31, 8, 8}, {300, 31, 4, 4}, {.stride = 4}},
      {{2, 32, 8, 8}, {300, 32, 4, 4}, {.stride = 4}},  // as many channels as need none
      {{3, 3, 9, 7}, {5, 3, 4, 3}, {.dilation = {1, 3}}},
  };
  for (const ConvolutionCase& one : cases) {
    check(one, kFloat32);
    check(one, kFloat64);
  }
}

// Fewer than 32 channels: the gradient for x is one product, with the bits of those of each tap, which more
// channels get; unless sums are so long that a product is cut into blocks.
TEST(Convolution, GradientsOfPatchesHaveTheBitsOfTaps) {
  for (const int64_t o : {1, 40, 256})
    for (const Shape& image : std::vector<Shape>{{3, 31, 4, 4}, {2, 31, 13, 9}, {1, 31, 64, 60}}) {
      const Tensor weight = numbers({o, 31, 4, 4}, kFloat32, 2), x = numbers(image, kFloat32, 1);
      const auto gradient = [&](const Tensor& of, const Tensor& by) {
        const auto dy = [](const Tensor& y) { return numbers(y.shape(), kFloat32, 3); };
        return value_and_gradients([&](auto& in) { return conv2d(in[0], by, {}, {.stride = 4}); }, {of}, dy).back();
      };
      const Tensor more = gradient(pad(x, {0, 0, 0, 0, 0, 1}), pad(weight, {0, 0, 0, 0, 0, 1}));
      EXPECT_TRUE(same_bits(gradient(x, weight), more.slice(1, 0, 31))) << o << " " << str(image);
    }
}

// Depthwise, four rows of a narrow result are computed together.
TEST(Convolution, DepthwiseRowsHaveTheBitsOfWiderOnes) {
  for (const int64_t width : {1, 2, 4, 5, 8, 9, 16, 17, 32, 33}) {
    const Tensor weight = numbers({6, 1, 3, 3}, kFloat32, 2), x = numbers({2, 3, 13, width + 2}, kFloat32, 1);
    const auto convolved = [&](const Tensor& of) { return conv2d(of, weight, {}, {.groups = 3}); };
    const Tensor wide = cat({x, numbers({2, 3, 13, 70}, kFloat32, 3)}, 3);
    EXPECT_TRUE(same_bits(convolved(x), convolved(wide).slice(3, 0, width))) << width;
  }
}

// Small shapes with all options; calls f(case, its number).
void each_small_shape(auto f) {
  uint64_t state = 5;
  const auto draw = [&](int64_t low, int64_t high) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return low + static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(high - low + 1));
  };
  for (int i = 0; i < 150; ++i) {
    const int64_t groups = draw(1, 3), c = draw(1, 4), o = draw(1, 9);
    ConvolutionCase one{{draw(1, 3), groups * c, draw(4, 14), draw(4, 14)},
                        {groups * o, c, draw(1, 3), draw(1, 3)},
                        {.stride = {draw(1, 4), draw(1, 4)},
                         .padding = {draw(0, 3), draw(0, 3)},
                         .dilation = {draw(1, 2), draw(1, 2)},
                         .groups = groups}};
    one.x[2] = std::max(one.x[2], (one.weight[2] - 1) * 2 + 1);
    one.x[3] = std::max(one.x[3], (one.weight[3] - 1) * 2 + 1);
    f(one, i);
  }
}

TEST(Convolution, ManySmallShapes) {
  each_small_shape([](const ConvolutionCase& one, int i) { check(one, i % 2 == 0 ? kFloat32 : kFloat64); });
}

// The gradient for x, and so a transposed convolution, where some elements of the weight are not finite.
TEST(Convolution, BrokenWeightsReachOnlyWhatTheyContributeTo) {
  int64_t untouched = 0, infinite = 0;
  each_small_shape([&](const ConvolutionCase& one, int i) {
    const DType dtype = i % 2 == 0 ? kFloat32 : kFloat64;
    std::vector<double> w = numbers(one.weight, dtype, 2).to(kFloat64).to_vector<double>();
    const auto some = static_cast<std::size_t>(i);
    w[some % w.size()] = i % 3 == 0 ? std::nan("") : kInf;
    w[some * 7 % w.size()] = i % 2 == 0 ? -kInf : std::nan("");
    const Tensor x = zeros(one.x, dtype).as_leaf(), weight = tensor(w, one.weight).to(dtype);
    Tape tape;
    const Tensor y = conv2d(x, weight, {}, one.options), dy = numbers(y.shape(), dtype, 3);
    const Tensor wide_dy = widened(dy), right = zeros(one.x, kFloat64);
    each_product(one.x, one.weight, y.shape(), one.options,
                 [&, to = right.mutable_data<double>(), from = wide_dy.data<double>()](
                     int64_t at, int64_t in, int64_t tap) { to[in] += from[at] * w[static_cast<std::size_t>(tap)]; });
    const Tensor dx = tape.backward(y, {.grad_output = dy})[x];
    EXPECT_TRUE(allclose(dx, right.to(dtype), 1e-4, 1e-4, true)) << i << " " << str(dx);
    untouched += sum(isfinite(right)).item<int64_t>();
    infinite += sum(isinf(right)).item<int64_t>();
  });
  EXPECT_GT(untouched, 1000);
  EXPECT_GT(infinite, 1000);
}

// Most elements of the result have no taps. A time in proportion to the square of the stride would be hours.
TEST(Convolution, StridesFarBeyondTheKernel) {
  for (const int64_t groups : {1, 4}) {
    const int64_t stride = 1'000'000;
    const Tensor x = numbers({1, 4, 3}, kFloat32, 1), bias = numbers({4}, kFloat32, 2);
    const Tensor weight = numbers({4, 4 / groups, 5}, kFloat32, 3);
    const Tensor y = conv_transpose1d(x, weight, bias, {.stride = stride, .groups = groups});
    const Tensor dense =
        conv_transpose1d(x, weight, bias, {.stride = 5, .groups = groups});  // the same, close together
    ASSERT_EQ(y.shape(), (Shape{1, 4, 2 * stride + 5}));
    for (int64_t i = 0; i < 3; ++i) EXPECT_TRUE(equal(narrow(y, 2, i * stride, 5), narrow(dense, 2, i * 5, 5)));
    EXPECT_TRUE(equal(narrow(y, 2, 5, stride - 5), bias.reshape({1, 4, 1}).expand({1, 4, stride - 5})));
  }
  const ConvTransposeOptions both{.stride = {3000, 2000}};
  const Tensor image = conv_transpose2d(ones({1, 1, 2, 2}), ones({1, 1, 2, 3}), {}, both);
  EXPECT_EQ(image.shape(), (Shape{1, 1, 3002, 2003}));
  EXPECT_EQ(sum(image).item(), 24);
  EXPECT_EQ(image[0][0][3001][2002].item(), 1);
  // A stride as long as the kernel: every class of elements has one tap.
  const Tensor wide = numbers({1, 1, 200'000}, kFloat32, 4);
  EXPECT_TRUE(equal(conv_transpose1d(ones({1, 1, 2}), wide, {}, {.stride = 200'000}), cat({wide, wide}, 2)));
  // A single window: the stride is the distance to a next one, which there is not.
  EXPECT_EQ(conv_transpose1d(ones({1, 2, 1}), ones({2, 1, 3}), {}, {.stride = INT32_MAX, .groups = 2}).size(2), 3);
  EXPECT_EQ(conv1d(ones({1, 2, 7}), ones({2, 1, 3}), {}, {.stride = INT32_MAX, .groups = 2}).size(2), 1);
}

TEST(Convolution, NaNReachesOnlyTheWindowsThatContainIt) {
  Tensor x = zeros({1, 20, 9, 9});
  x.mutable_data<float>()[4 * 9 + 4] = std::numeric_limits<float>::infinity();
  const Tensor y = conv2d(x, ones({18, 20, 3, 3}), {}, {.padding = 1}), hit = logical_not(isfinite(y));
  EXPECT_EQ(sum(hit).item<int64_t>(), 18 * 9);
  EXPECT_TRUE(all(hit.slice(2, 3, 6).slice(3, 3, 6)));
}

// The images are divided into blocks by the sizes alone, so that all families add the same sums, and BLIS, too: each
// sum has 600 products, more than one of its blocks along k.
TEST(Convolution, GradientsOfWeightsHaveTheSameBitsInAllFamilies) {
  Tape tape;
  const Tensor x = numbers({6, 8, 12, 12}, kFloat32, 1), weight = numbers({8, 8, 3, 3}, kFloat32, 2).as_leaf();
  const Tensor y = conv2d(x, weight);
  const Gradients grads = tape.backward(y, {.grad_output = numbers(y.shape(), kFloat32, 3)});
  EXPECT_EQ(tapegrad::bits_of({{"weight", grads[weight]}}), "3e23 14b6 0dbb d14a");
}

// Of few pixels and a large weight: block after block of a panel. With padding: the sums of all blocks, then these.
TEST(Convolution, GradientsOfWindowsHaveTheBitsOfPaddedOnes) {
  const Tensor inside = numbers({64, 8, 12, 12}, kFloat32, 1), weight = numbers({96, 8, 14, 14}, kFloat32, 2).as_leaf();
  const auto gradient = [&](const Tensor& x, int64_t padding) {
    Tape tape;
    const Tensor y = conv2d(x, weight, {}, {.padding = padding});
    return tape.backward(y, {.grad_output = numbers(y.shape(), kFloat32, 3)})[weight];
  };
  const Tensor expected = gradient(inside, 1);
  EXPECT_TRUE(same_bits(gradient(pad(inside, {1, 1, 1, 1}), 0), expected));
  const auto volume = [&](const Tensor& x) { return x.reshape({x.size(0), 4, 2, 14, 14}); };
  const Tensor by = volume(weight.detach()).as_leaf();
  Tape tape;
  const Tensor y = conv3d(volume(pad(inside, {1, 1, 1, 1})), by);
  const Tensor found = tape.backward(y, {.grad_output = numbers(y.shape(), kFloat32, 3)})[by];
  EXPECT_TRUE(same_bits(found.reshape(expected.shape()), expected));
}

// Four small images at a time, for some of the panels.
TEST(Convolution, SmallImagesHaveTheBitsOfSingleOnes) {
  const Tensor x = numbers({22, 128, 7, 7}, kFloat32, 1), weight = numbers({128, 128, 3, 3}, kFloat32, 2);
  const Tensor all = conv2d(x, weight, {}, {.padding = 1});
  for (const int64_t i : {0, 3, 4, 20, 21})
    EXPECT_TRUE(same_bits(all.slice(0, i, i + 1), conv2d(x.slice(0, i, i + 1), weight, {}, {.padding = 1}))) << i;
}

TEST(Convolution, OfGroupsWithoutChannels) {
  for (const int64_t groups : {1, 2, 4}) {
    const Tensor none = zeros({2, 0, 4, 5}), bias = arange(groups).to(kFloat32);
    const Tensor y = conv_transpose2d(none, zeros({0, 1, 2, 3}), bias, {.groups = groups});
    EXPECT_TRUE(same_bits(y, bias.reshape({1, groups, 1, 1}).expand(y.shape())));
    Tape tape;
    const Tensor x = ones({2, groups, 4, 5}).as_leaf(), empty = conv2d(x, zeros({0, 1, 2, 3}), {}, {.groups = groups});
    EXPECT_EQ(empty.shape(), (Shape{2, 0, 3, 3}));
    EXPECT_TRUE(same_bits(tape.backward(empty, {.grad_output = empty.detach()})[x], zeros_like(x)));
  }
}

Tensor numbers_of(const Shape& shape) { return normal_of(shape, 1, kFloat32); }

// The windows of depths as images, [N * OD, C * KD, H, W].
Tensor images_of(const Tensor& x, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
  const Tensor padded = pad(x, {0, 0, 0, 0, padding, padding});
  const Tensor windows = unfold(padded, 2, dilation * (kernel - 1) + 1, stride);  // [N, C, OD, H, W, K]
  const Tensor taken = windows.slice(5, 0, kAll, dilation);
  return taken.permute({0, 2, 1, 5, 3, 4}).flatten(0, 1).flatten(1, 2);
}

// The same operations on images. Depthwise: the sum of one convolution for each depth of the kernel.
Tensor by_images(const ConvolutionCase& one, const Tensor& x, const Tensor& weight, const Tensor& bias) {
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
  const std::vector<ConvolutionCase> cases = {
      {{2, 5, 6, 9, 11}, {20, 5, 3, 3, 3}, {.padding = {1, 1, 1}}},
      {{1, 6, 7, 8, 19}, {12, 3, 2, 3, 2}, {.stride = {3, 1, 2}, .padding = {2, 0, 1}, .groups = 2}},
      {{2, 17, 9, 8, 19}, {3, 17, 2, 3, 2}, {.padding = {2, 0, 1}, .dilation = {3, 1, 2}}},
      {{3, 1, 5, 8, 9}, {4, 1, 3, 3, 3}, {.padding = {0, 0, 0}}},
      {{3, 3, 2, 6, 9}, {300, 3, 2, 6, 3}, {.stride = {1, 1, 3}}},  // all depths
      {{2, 3, 4, 6, 9}, {5, 3, 2, 3, 3}, {.stride = {1, 3, 3}}},
      // Products of whole images: with and without windows of depths.
      {{2, 300, 4, 6, 7}, {12, 300, 1, 1, 1}},
      {{2, 100, 5, 6, 7}, {12, 100, 3, 1, 1}, {.padding = {1, 0, 0}}},
      // Depthwise: one block of windows, several, and windows without a common plane.
      {{2, 6, 5, 8, 19}, {6, 1, 3, 3, 3}, {.padding = {1, 1, 1}, .groups = 6}},
      {{1, 2, 25, 64, 70}, {2, 1, 3, 3, 3}, {.padding = {1, 1, 1}, .groups = 2}},
      {{2, 3, 19, 8, 40}, {6, 1, 2, 3, 5}, {.stride = {4, 2, 2}, .padding = {1, 1, 2}, .groups = 3}},
      {{2, 3, 9, 8, 40}, {6, 1, 3, 1, 1}, {.padding = {7, 0, 0}, .dilation = {4, 1, 1}, .groups = 3}},
      {{2, 3, 1, 8, 9}, {3, 1, 1, 3, 3}, {.padding = {1, 1, 1}, .groups = 3}}};
  for (const ConvolutionCase& one : cases)
    for (const DType dtype : {kFloat32, kFloat64}) {
      Generator generator(1);
      const Tensor x = randn(one.x, dtype, &generator), w = randn(one.weight, dtype, &generator);
      const std::vector<Tensor> inputs{w, randn({one.weight[0]}, dtype, &generator), x};
      const auto dy = [](const Tensor& y) { return normal_of(y.shape(), 2, y.dtype()); };
      const auto ours =
          value_and_gradients([&](auto& in) { return conv3d(in[2], in[0], in[1], one.options); }, inputs, dy);
      const auto images =
          value_and_gradients([&](auto& in) { return by_images(one, in[2], in[0], in[1]); }, inputs, dy);
      const std::string label = fmt::format("{} {} {}", str(one.x), str(one.weight), name(dtype));
      for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(same_bits(ours[i], images[i])) << label << ", " << i;
      EXPECT_LT(largest_difference(ours[3], images[3]), dtype == kFloat32 ? 1e-3 : 1e-11) << label;
    }
}

// Taps outside of x are left out, and what they would add is zero: explicit zeros give the same bits, with as many
// channels as make every kind of panel.
TEST(ConvolutionVolumes, HaveTheBitsOfExplicitZeros) {
  struct Padded {
    Shape x, kernel;
    PerAxis<int64_t> stride, padding, dilation;
  };
  const std::vector<Padded> cases = {
      {{2, 3, 4, 5, 6}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
      {{3, 2, 2, 9, 40}, {5, 2, 4}, {1, 2, 1}, {4, 1, 3}, {1, 1, 1}},  // windows without any depth of x
      {{2, 1, 7, 7, 7}, {3, 3, 3}, {2, 2, 3}, {2, 2, 2}, {2, 3, 1}},
      {{1, 4, 1, 6, 6}, {1, 3, 3}, {1, 1, 1}, {2, 4, 5}, {1, 1, 1}},  // rows and columns without any element
      {{1, 2, 1, 30, 3}, {3, 9, 1}, {1, 1, 2}, {1, 4, 1}, {1, 1, 1}},
  };
  for (const Padded& one : cases)
    for (const int64_t o : {1, 6, 13, 24, 36, 40, 56, 80, 97}) {
      ConvOptions options{.stride = one.stride, .dilation = one.dilation}, padded = options;
      padded.padding = one.padding;
      const std::vector<Tensor> inputs{numbers_of(one.x),
                                       numbers_of({o, one.x[1], one.kernel[0], one.kernel[1], one.kernel[2]})};
      const auto& p = one.padding;
      const auto dy = [](const Tensor& y) { return numbers_of(y.shape()); };
      const auto now = value_and_gradients([&](auto& in) { return conv3d(in[0], in[1], {}, padded); }, inputs, dy);
      const auto then = value_and_gradients(
          [&](auto& in) {
            return conv3d(pad(in[0], {p[2], p[2], p[1], p[1], p[0], p[0]}), in[1], {}, options);
          },
          inputs, dy);
      EXPECT_TRUE(same_bits(now[0], then[0]) && same_bits(now[1], then[1])) << str(one.x) << ", " << o;
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
