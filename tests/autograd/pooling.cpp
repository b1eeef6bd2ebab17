// Pooling, interpolation and normalisation per channel: special cases, errors, memory order of gradients.
#include <tapegrad/autograd/pooling.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/tests/support/near.h>

#include <limits>
#include <vector>

namespace tapegrad::tests {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tensor image(const Shape& shape) {
  return (sin(arange(0, static_cast<double>(shape.numel()), 1, kFloat64) * 0.7) * 2).to(kFloat32).reshape(shape);
}

// The gradient of sum(f(x) * seed); with `again` by way of the recorded backward.
template <class F>
Tensor gradient(F f, const Tensor& x, bool again) {
  const Tensor leaf = x.as_leaf();
  Tape tape;
  const Tensor y = f(leaf);
  return tape.backward(y, {.create_graph = again, .grad_output = image(y.shape()) + 1, .keep = {}})[leaf].detach();
}

template <class F>
void expect_one_gradient(F f, const Tensor& x) {
  expect_near(gradient(f, x, false), gradient(f, x, true));
}

TEST(MaxPool, TakesTheFirstOfEqualElementsAndTheLastNan) {
  const Tensor x = tensor({{1., 1., 0., 1., kNan, 2., kNan, 3.}});
  const MaxPooled y = max_pool1d_with_indices(x, 4);
  expect_near(y.values, {1, kNan});
  EXPECT_EQ(y.indices.to_vector<int64_t>(), (std::vector<int64_t>{0, 6}));
  const MaxPooled lowest = max_pool1d_with_indices(full({1, 4}, -kInf), 2, {.padding = 1});
  expect_near(lowest.values, {-kInf, -kInf, -kInf});
  EXPECT_EQ(lowest.indices.to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 3}));
}

TEST(MaxPool, OfLongRowsFindsEveryPosition) {
  for (const int64_t stride : {1, 2, 3}) {
    const Tensor x = image({1, 2, 40, 67});
    const MaxPooled y = max_pool2d_with_indices(x, {2, 3}, {.stride = stride, .padding = {1, 1}});
    const Tensor there = gather(x.reshape({2, 40 * 67}), 1, y.indices.reshape({2, -1}));
    expect_near(y.values.reshape({2, -1}), there);
  }
}

TEST(MaxPool, FusedAndRecordedGradientsAgree) {
  const Tensor x = image({2, 3, 9, 37});
  expect_one_gradient([](const Tensor& v) { return max_pool2d(v, 3, {.stride = 2, .padding = 1}); }, x);
  expect_one_gradient([](const Tensor& v) { return adaptive_max_pool2d(v, {4, 5}); }, x);
}

TEST(AvgPool, OfOnesIsExactlyOne) {
  for (const int64_t kernel : {2, 3, 5, 7}) {
    const Tensor y = avg_pool2d(ones({1, 1, 23, 40}), kernel, {.stride = 1});
    EXPECT_TRUE(all(y == 1)) << kernel;
    EXPECT_TRUE(all(avg_pool2d(ones({1, 1, 23, 40}), kernel, {.padding = 1, .count_include_pad = false}) == 1));
  }
  EXPECT_TRUE(all(adaptive_avg_pool2d(full({2, 3, 7, 7}, 0.3), 1) == full({}, 0.3)));
  EXPECT_EQ(adaptive_avg_pool2d(ones({2, 3, 7, 7}), {0, 2}).shape(), (Shape{2, 3, 0, 2}));
}

TEST(AvgPool, GradientOfAnEmptyResultIsZero) {
  for (const bool again : {false, true}) {
    expect_near(gradient(
                    [](const Tensor& v) {
                      return adaptive_avg_pool2d(v, {0, 2});
                    },
                    image({1, 1, 2, 2}), again),
                {0, 0, 0, 0});
    expect_near(gradient(
                    [](const Tensor& v) {
                      return adaptive_avg_pool2d(v, {2, 0});
                    },
                    image({1, 1, 2, 2}), again),
                {0, 0, 0, 0});
  }
}

TEST(Interpolate, RepeatsElements) {
  const Tensor x = tensor({1., 2.}).reshape({1, 1, 2});
  expect_near(interpolate(x, {.scale_factor = 2}), {1, 1, 2, 2});
  expect_near(interpolate(x, {.size = 3}), {1, 1, 2});
  expect_near(interpolate(x, {.size = 4, .mode = Interpolation::linear}), {1, 1.25, 1.75, 2});
  expect_near(interpolate(x, {.size = 4, .mode = Interpolation::linear, .align_corners = true}),
              {1, 4. / 3, 5. / 3, 2});
}

TEST(Pooling, OfAViewLeavesTheRestAlone) {  // infinity next to the view must not be read into it
  const Tensor whole = full({1, 1, 8, 24}, kInf);
  const Tensor x = where(arange(24) < 8, 1, whole).slice(3, 0, 8);
  for (const Tensor& y : {max_pool2d(x, 2), avg_pool2d(x, 2), interpolate(x, {.size = {5, 9}}),
                          interpolate(x, {.size = {5, 9}, .mode = Interpolation::bilinear})}) {
    EXPECT_TRUE(all(y == 1));
  }
}

struct WrongCall {
  const char* text;
  void (*call)();
};

void expect_texts(const std::vector<WrongCall>& calls) {
  for (const WrongCall& wrong : calls) EXPECT_EQ(error_of(wrong.call), wrong.text);
}

Tensor x4() { return zeros({1, 2, 4, 5}); }

TEST(Pooling, ErrorTexts) {
  expect_texts({
      {"[max_pool2d] expected x [N, C, H, W] or [C, H, W], got shape [4, 5]",
       [] {
         max_pool2d(zeros({4, 5}), 2);
       }},
      {"[avg_pool1d] expected x [N, C, L] or [C, L], got shape [1, 2, 4, 5]", [] { avg_pool1d(x4(), 2); }},
      {"[avg_pool2d] expected float32 or float64, got int64 of shape [1, 2, 4, 5] (convert with to(kFloat32))",
       [] { avg_pool2d(x4().to(kInt64), 2); }},
      {"[max_pool2d] expected spatial sizes of 1 or more, got shape [1, 2, 0, 5]",
       [] {
         max_pool2d(zeros({1, 2, 0, 5}), 1);
       }},
      {"[max_pool2d] expected kernel_size as one number or 2 numbers, got 3",
       [] {
         max_pool2d(x4(), {1, 2, 3});
       }},
      {"[max_pool2d] expected kernel_size as one number or 2 numbers, got 0", [] { max_pool2d(x4(), {}); }},
      {"[max_pool1d] expected stride as one number, got 2",
       [] {
         max_pool1d(zeros({1, 4}), 1, {.stride = {1, 2}});
       }},
      {"[max_pool2d] expected kernel_size of 1 or more, got 0",
       [] {
         max_pool2d(x4(), {2, 0});
       }},
      {"[max_pool2d] expected stride of 1 or more, got 0", [] { max_pool2d(x4(), 2, {.stride = 0}); }},
      {"[max_pool2d] expected dilation of 1 or more, got -1", [] { max_pool2d(x4(), 2, {.dilation = -1}); }},
      {"[avg_pool2d] expected padding of 0 or more, got -1", [] { avg_pool2d(x4(), 2, {.padding = -1}); }},
      {"[avg_pool2d] expected padding of at most half of the window's 3 elements, got 2",
       [] { avg_pool2d(x4(), 3, {.padding = 2}); }},
      {"[max_pool2d] expected an image of 5 or more elements for a window of 5 with padding 0, got shape [1, 2, 4, 5]",
       [] { max_pool2d(x4(), 3, {.dilation = 2}); }},
      {"[max_pool1d] expected windows with an element outside of the padding",
       [] {
         max_pool1d(zeros({1, 1}), 2, {.padding = 1, .dilation = 2});
       }},
      {"[avg_pool2d] expected a divisor_override other than 0", [] { avg_pool2d(x4(), 2, {.divisor_override = 0}); }},
      {"[adaptive_avg_pool2d] expected output_size of 0 or more, got -2", [] { adaptive_avg_pool2d(x4(), -2); }},
      {"[adaptive_max_pool1d] expected output_size as one number, got 2",
       [] {
         adaptive_max_pool1d(zeros({1, 4}), {1, 2});
       }},
      {"[interpolate] expected either size or scale_factor, got none", [] { interpolate(x4(), {}); }},
      {"[interpolate] expected either size or scale_factor, got both",
       [] { interpolate(x4(), {.size = 2, .scale_factor = 2}); }},
      {"[interpolate] expected align_corners with linear or bilinear, got nearest",
       [] { interpolate(x4(), {.size = 2, .align_corners = true}); }},
      {"[interpolate] expected x [N, C, L], got shape [1, 2, 4, 5]",
       [] { interpolate(x4(), {.size = 2, .mode = Interpolation::linear}); }},
      {"[interpolate] expected x [N, C, H, W], got shape [2, 4, 5]",
       [] {
         interpolate(zeros({2, 4, 5}), {.size = 2, .mode = Interpolation::bilinear});
       }},
      {"[interpolate] expected sizes of 1 or more, got 0",
       [] {
         interpolate(x4(), {.size = {2, 0}});
       }},
      {"[interpolate] expected scale factors that give sizes of 1 or more, got 0.1 for 4",
       [] { interpolate(x4(), {.scale_factor = 0.1}); }},
      {"[interpolate] expected size as one number or 2 numbers, got 3",
       [] {
         interpolate(x4(), {.size = {1, 2, 3}});
       }},
  });
}

}  // namespace
}  // namespace tapegrad::tests
