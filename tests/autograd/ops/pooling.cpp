// Pooling, interpolation, normalisation per channel, patches of images, and images at the positions of a grid: special
// cases, memory order of gradients.
// ctest: families
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

Tensor ripples(const Shape& shape, double step = 0.7) {
  return sin(arange(0, static_cast<double>(shape.numel()), 1, kFloat64) * step).to(kFloat32).reshape(shape);
}
Tensor image(const Shape& shape) { return ripples(shape) * 2; }

// The place of the largest element of rows [top, bottom) and columns [left, right): the first of equal ones, the last
// NaN.
int64_t largest_of(const std::vector<float>& plane, int64_t width, int64_t top, int64_t bottom, int64_t left,
                   int64_t right) {
  int64_t best = top * width + left;
  for (int64_t i = top; i < bottom; ++i)
    for (int64_t j = left; j < right; ++j) {
      const float v = plane[static_cast<std::size_t>(i * width + j)], old = plane[static_cast<std::size_t>(best)];
      if (v > old || std::isnan(v)) best = i * width + j;
    }
  return best;
}

// Windows of different sizes: by columns where there are several rows; equal elements, zeros of both signs, NaN, -inf.
TEST(MaxPool, OfUnequalWindowsFindsTheFirstOfEqualElements) {
  const int64_t height = 19, width = 37;
  const std::vector<float> kinds = {0.F, -0.F, 1.F, -INFINITY, -1.F, 0.F, -0.F, NAN};
  for (const std::size_t used : {2U, 4U, 7U, 8U}) {
    std::vector<float> plane;
    for (int64_t i = 0; i < height * width; ++i)
      plane.push_back(kinds[static_cast<std::size_t>(i * i * 7919 / 64 + i) % used]);
    const Tensor x = tensor(plane, {1, height, width});
    for (const int64_t rows : {1, 5, 19})
      for (const int64_t columns : {1, 5, 8, 36}) {
        const MaxPooled y = adaptive_max_pool2d_with_indices(x, {rows, columns});
        const Tensor alone = adaptive_max_pool2d(x, {rows, columns});
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < columns; ++j) {
            const int64_t at = largest_of(plane, width, i * height / rows, ((i + 1) * height + rows - 1) / rows,
                                          j * width / columns, ((j + 1) * width + columns - 1) / columns);
            EXPECT_EQ(y.indices[0][i][j].item<int64_t>(), at) << rows << ' ' << columns << ' ' << i << ' ' << j;
            const auto bits = std::bit_cast<uint32_t>(plane[static_cast<std::size_t>(at)]);
            EXPECT_EQ(std::bit_cast<uint32_t>(y.values[0][i][j].item<float>()), bits);
            EXPECT_EQ(std::bit_cast<uint32_t>(alone[0][i][j].item<float>()), bits);
          }
      }
  }
}

// Pooling of one plane, against each of its windows.
template <class T>
void expect_windows(const Tensor& x, int64_t kernel, int64_t stride, int64_t padding) {
  const int64_t height = x.size(1), width = x.size(2);
  SCOPED_TRACE(testing::Message() << width << " columns, kernel " << kernel << ", stride " << stride << ", padding "
                                  << padding << ", " << name(x.dtype()));
  const std::vector<float> plane = x.to(kFloat32).to_vector<float>();
  const MaxPooled largest = max_pool2d_with_indices(x, kernel, {.stride = stride, .padding = padding});
  const std::vector<T> alone = max_pool2d(x, kernel, {.stride = stride, .padding = padding}).to_vector<T>();
  const std::vector<T> averages = avg_pool2d(x, kernel, {.stride = stride, .padding = padding}).to_vector<T>();
  const std::vector<int64_t> places = largest.indices.to_vector<int64_t>();
  const int64_t columns = largest.values.size(2);
  for (int64_t i = 0; i < static_cast<int64_t>(places.size()); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const int64_t top = i / columns * stride - padding, left = i % columns * stride - padding;
    const int64_t bottom = std::min(top + kernel, height), right = std::min(left + kernel, width);
    const int64_t first = std::max<int64_t>(top, 0), column = std::max<int64_t>(left, 0);
    const int64_t place = largest_of(plane, width, first, bottom, column, right);
    ASSERT_EQ(places[at], place) << i;
    ASSERT_EQ(alone[at], static_cast<T>(plane[static_cast<std::size_t>(place)]));
    T sum = 0;  // of the columns' sums
    for (int64_t j = column; j < right; ++j) {
      T of_column = 0;
      for (int64_t row = first; row < bottom; ++row)
        of_column += static_cast<T>(plane[static_cast<std::size_t>(row * width + j)]);
      sum += of_column;
    }
    ASSERT_EQ(averages[at], sum / static_cast<T>(kernel * kernel)) << i;
  }
}

// Whole vectors of windows, their rest, and windows one by one: rows shorter and longer than a vector has lanes.
TEST(Pooling, OfRowsOfEveryWidthIsThatOfEachWindow) {
  for (int64_t width = 3; width <= 70; ++width) {
    const Tensor x = image({1, 5, width}), equal_ones = floor(x);
    for (const int64_t kernel : {1, 2, 3})
      for (const int64_t stride : {1, 2, 3}) {
        expect_windows<float>(x, kernel, stride, 0);
        expect_windows<float>(equal_ones, kernel, stride, kernel / 2);
        expect_windows<double>(x.to(kFloat64), kernel, stride, kernel / 2);
      }
    EXPECT_TRUE(equal(interpolate(x.unsqueeze(0), {.scale_factor = 2.}),
                      repeat_interleave(repeat_interleave(x.unsqueeze(0), 2, 2), 2, 3)))
        << width;
  }
}

TEST(Pooling, OfAViewLeavesTheRestAlone) {  // infinity next to the view must not be read into it
  const Tensor whole = full({1, 1, 8, 24}, kInf), x = where(arange(24) < 8, 1, whole).slice(3, 0, 8);
  for (const Tensor& y : {max_pool2d(x, 2), avg_pool2d(x, 2), interpolate(x, {.size = {5, 9}}),
                          interpolate(x, {.size = {5, 9}, .mode = Interpolation::bilinear})})
    EXPECT_TRUE(all(y == 1));
}

TEST(BatchNorm, IsAccurateFarFromZeroAndAcrossSteps) {
  const Tensor x = cat({zeros({1, 2, 5000}), image({3, 2, 5000}) * 0.01 + 1000}), exact = x.to(kFloat64);
  const BatchNormed all = batch_norm_training(x);
  const Tensor wanted = var(exact, {0, 2});
  EXPECT_TRUE(tapegrad::all(abs(all.var.to(kFloat64) - wanted) < 1e-6 * wanted));
  const Tensor shifted = image({64, 1, 500}) * 0.5 + 300, variance = var(shifted.to(kFloat64), {0, 2});
  EXPECT_TRUE(tapegrad::all(abs(batch_norm_training(shifted).var.to(kFloat64) - variance) < 1e-6 * variance));
}

TEST(ChannelNorms, RunningStatisticsAreConstants) {
  const Tensor x = zeros({1, 2, 4, 5}), var = ones({2}).as_leaf();
  const Tape tape;
  EXPECT_ERROR(batch_norm(x, zeros({2}), var));
  EXPECT_ERROR(batch_norm(x, zeros({2}), {}));
}

// Channels are added one by one, or in vectors: of a few of them, and for a few points of a large image, one by one.
TEST(GridSample, AddsToManyChannelsAsToOne) {
  for (const DType dtype : {kFloat32, kFloat64}) {
    for (const int64_t channels : {3, 4, 16, 21, 37})
      for (const Shape& points : {Shape{2, 2}, Shape{10, 31}}) {
        const Shape shape{2, channels, points[0], points[1]};
        const Tensor dy = where(arange(static_cast<double>(shape.numel())).reshape(shape) == 5, kNan, ripples(shape));
        const Tensor grid = ripples({2, points[0], points[1], 2}, 0.37).to(dtype) * 1.3;
        const auto added = [&](const Tensor& seed) {
          const Tensor x = zeros({2, seed.size(1), 9, 14}, dtype).as_leaf();
          return Tape().backward(grid_sample(x, grid), {.grad_output = seed.to(dtype)})[x];
        };
        std::vector<Tensor> one_by_one;
        for (int64_t c = 0; c < channels; ++c) one_by_one.push_back(added(dy.slice(1, c, c + 1)));
        EXPECT_TRUE(same_bits(added(dy), cat(one_by_one, 1))) << channels << " " << str(points) << " " << name(dtype);
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

TEST(GridSample, ErrorTexts) {
  EXPECT_ERROR(grid_sample(zeros({1, 1, 2, 2}), zeros({1, 1, 1, 2}), {.mode = static_cast<GridMode>(3)}));
  EXPECT_ERROR(grid_sample(zeros({1, 1, 2, 2}), zeros({1, 1, 1, 2}), {.padding = static_cast<GridPadding>(-1)}));
}

}  // namespace
}  // namespace tapegrad::tests
