// Patches of images, and images at the positions of a grid: special cases, errors.
// ctest: families
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

Tensor ripples(const Shape& shape, double step = 0.7) {
  return sin(arange(0, static_cast<double>(shape.numel()), 1, kFloat64) * step).to(kFloat32).reshape(shape);
}

TEST(Patches, FoldAddsWhatUnfoldTakes) {
  const Tensor x = ripples({2, 3, 7, 9});
  for (const FoldOptions& options :
       {FoldOptions{}, FoldOptions{.padding = 1, .stride = 2}, FoldOptions{.dilation = 2}}) {
    const Tensor counts = fold2d(unfold2d(ones({1, 1, 7, 9}), 3, options), {7, 9}, 3, options);
    expect_near(fold2d(unfold2d(x, 3, options), {7, 9}, 3, options), x * counts);
  }
}

TEST(Patches, ShufflesAreInverse) {
  const Tensor x = ripples({2, 12, 3, 5});
  EXPECT_TRUE(all(pixel_unshuffle(pixel_shuffle(x, 2), 2) == x));
  EXPECT_TRUE(all(channel_shuffle(channel_shuffle(x, 3), 4) == x));
}

TEST(GridSample, OfTheIdentityIsTheImage) {
  const Tensor x = ripples({2, 3, 11, 37}), volume = ripples({1, 2, 3, 5, 19});
  const Tensor flat = tensor({1.0, 0.0, 0.0, 0.0, 1.0, 0.0}).reshape({1, 2, 3}).expand({2, 2, 3});
  const Tensor deep = tensor({1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0}).reshape({1, 3, 4});
  for (const bool aligned : {false, true}) {
    const Tensor grid = affine_grid(flat, x.shape(), aligned);
    for (const GridMode mode : {GridMode::bilinear, GridMode::nearest, GridMode::bicubic}) {
      expect_near(grid_sample(x, grid, {.mode = mode, .align_corners = aligned}), x);
    }
    expect_near(grid_sample(volume, affine_grid(deep, volume.shape(), aligned), {.align_corners = aligned}), volume);
  }
}

TEST(GridSample, FusedAndRecordedGradientsAgree) {
  const Tensor x = ripples({2, 5, 9, 14}), grid = ripples({2, 10, 17, 2}, 0.37) * 1.3;
  for (const GridMode mode : {GridMode::bilinear, GridMode::bicubic}) {
    const auto by_grid = [&](const Tensor& v) { return grid_sample(x, v, {.mode = mode}); };
    const auto by_x = [&](const Tensor& v) { return grid_sample(v, grid, {.mode = mode}); };
    const Tensor composed = gradient(by_grid, grid, true), scale = 1 + amax(abs(composed));
    expect_near(gradient(by_grid, grid, false) / scale, composed / scale);
    expect_near(gradient(by_x, x, false), gradient(by_x, x, true));
  }
}

// Channels are added one by one, or in vectors: of a few of them, and for a few points of a large image, one by one.
TEST(GridSample, AddsToManyChannelsAsToOne) {
  for (const DType dtype : {kFloat32, kFloat64}) {
    for (const int64_t channels : {3, 4, 16, 21, 37}) {
      for (const Shape& points : {Shape{2, 2}, Shape{10, 31}}) {
        const Shape shape{2, channels, points[0], points[1]};
        const Tensor dy = where(arange(static_cast<double>(shape.numel())).reshape(shape) == 5, kNan, ripples(shape));
        const Tensor grid = ripples({2, points[0], points[1], 2}, 0.37).to(dtype) * 1.3;
        const auto added = [&](const Tensor& seed) {
          const Tensor x = zeros({2, seed.size(1), 9, 14}, dtype).as_leaf();
          Tape tape;
          return tape.backward(grid_sample(x, grid), {.grad_output = seed.to(dtype)})[x];
        };
        std::vector<Tensor> one_by_one;
        for (int64_t c = 0; c < channels; ++c) one_by_one.push_back(added(dy.slice(1, c, c + 1)));
        EXPECT_TRUE(same_bits(added(dy), cat(one_by_one, 1))) << channels << " " << str(points) << " " << name(dtype);
      }
    }
  }
}

TEST(GridSample, ReadsNothingNextToAView) {
  const Tensor whole = full({1, 1, 8, 24}, kInf);
  const Tensor x = where(arange(24) < 8, 1, whole).slice(3, 0, 8), grid = ripples({1, 5, 30, 2}, 0.37);
  EXPECT_TRUE(all(grid_sample(x, grid, {.padding = GridPadding::border}) > 0.999));
  EXPECT_TRUE(all(isfinite(grid_sample(x, grid * 3))));
  EXPECT_EQ(unfold2d(x, 3, {.padding = 1}).shape(), (Shape{1, 9, 64}));
  EXPECT_TRUE(all(isfinite(unfold2d(x, 3, {.padding = 1}))));
}

TEST(GridSample, APositionOfNanReadsNothing) {
  for (const DType dtype : {kFloat32, kFloat64}) {
    for (const GridMode mode : {GridMode::bilinear, GridMode::nearest, GridMode::bicubic}) {
      for (const GridPadding padding : {GridPadding::zeros, GridPadding::border, GridPadding::reflection}) {
        SCOPED_TRACE(testing::Message() << static_cast<int>(mode) << " " << static_cast<int>(padding));
        const bool reflects = padding == GridPadding::reflection;
        const double edge = padding == GridPadding::border ? 6 : reflects ? kNan : 0, start = edge == 6 ? 4 : edge;
        const GridSampleOptions options{.mode = mode, .padding = padding};
        const Tensor x = arange(1, 10, 1, dtype).reshape({1, 1, 3, 3}).as_leaf();
        const Tensor grid = tensor({{{{kNan, 0.}, {0., kNan}, {kInf, 0.}, {-kInf, 0.}, {0., 0.}}}}).to(dtype).as_leaf();
        Tape tape;
        const Tensor y = grid_sample(x, grid, options);
        expect_near(y, {kNan, kNan, edge, start, 5});
        const Gradients grads = tape.backward(y, {.create_graph = true, .grad_output = ones_like(y)});
        EXPECT_EQ(sum(grads[x]).item(), edge == 6 ? 3 : 1);
        const Tensor of_grid =
            tests::slope([&](const Tensor& at) { return grid_sample(x.detach(), at, options); }, grid);
        EXPECT_EQ(std::isnan(of_grid[0][0][0][0].item()), mode != GridMode::nearest);
        EXPECT_EQ(std::isnan(of_grid[0][0][1][1].item()), mode != GridMode::nearest);
        if (!reflects) {
          EXPECT_EQ(of_grid[0][0][2][0].item(), 0);
        }
        expect_near(of_grid[0][0][4], grads[grid].detach()[0][0][4]);
      }
    }
    const Tensor volume = arange(1, 9, 1, dtype).reshape({1, 1, 2, 2, 2});
    expect_near(grid_sample(volume, tensor({{{{{0., kNan, 0.}, {kInf, 0., 0.}}}}}).to(dtype)), {kNan, 0});
  }
}

TEST(GridSample, ErrorTexts) {
  EXPECT_ERROR(grid_sample(zeros({1, 1, 2, 2}), zeros({1, 1, 1, 2}), {.mode = static_cast<GridMode>(3)}));
  EXPECT_ERROR(grid_sample(zeros({1, 1, 2, 2}), zeros({1, 1, 1, 2}), {.padding = static_cast<GridPadding>(-1)}));
}

}  // namespace
}  // namespace tapegrad::tests
