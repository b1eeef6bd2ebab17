// Shape operations, regions, and writing by index: examples, views and special cases.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

const Tensor kCounted = arange(0, 6, 1, kFloat32).reshape({2, 3});
const Tensor kIds = arange(6).reshape({2, 3});

bool shares_memory(const Tensor& a, const Tensor& b) { return a.storage() == b.storage(); }

// --- tensor({...}) ---

TEST(Literals, HaveAnAxisPerLevel) {
  EXPECT_EQ(tensor({}).shape(), (Shape{0}));
  EXPECT_EQ(tensor({1}).shape(), (Shape{1}));
  EXPECT_EQ(tensor({{1.}}).shape(), (Shape{1, 1}));
  EXPECT_EQ(tensor({{1.}, {2.}}).shape(), (Shape{2, 1}));
  EXPECT_EQ(tensor({{1., 2.}}).shape(), (Shape{1, 2}));
  EXPECT_EQ(tensor({{}, {}}).shape(), (Shape{2, 0}));
  EXPECT_EQ(tensor({{{1}, {2}, {3}}}).shape(), (Shape{1, 3, 1}));
  EXPECT_EQ(tensor({{{{{1}}}}}).shape(), (Shape{1, 1, 1, 1, 1}));
  const Tensor x = tensor({{{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}});
  EXPECT_EQ(x.shape(), (Shape{1, 2, 2, 2}));
  EXPECT_EQ(x.to_vector<int64_t>(), (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
  expect_near(tensor({{{1.5, 2}, {3, 4}}, {{5, 6}, {7, 8}}}), {1.5, 2, 3, 4, 5, 6, 7, 8});
}

TEST(Literals, HaveTheWidestType) {
  EXPECT_EQ(tensor({true, false}).dtype(), kBool);
  EXPECT_EQ(tensor({true, 2}).dtype(), kInt64);
  EXPECT_EQ(tensor({1, 2.5}).dtype(), kFloat32);
  EXPECT_EQ(tensor({1.f}).dtype(), kFloat32);
  EXPECT_EQ(tensor({}).dtype(), kFloat32);
  EXPECT_EQ(tensor({1, 2}, kFloat64).dtype(), kFloat64);
  EXPECT_EQ(tensor({0.1}, kFloat64).item(), 0.1);
  EXPECT_EQ(tensor({0.1}).item<float>(), 0.1f);
  EXPECT_EQ(tensor({INT64_MAX}).item<int64_t>(), INT64_MAX);
  EXPECT_EQ(tensor({0.5, 0.}, kBool).to_vector<bool>(), (std::vector<bool>{true, false}));
}

TEST(Literals, MustBeEvenlyLong) {
  // clang-format off
  expect_texts({
      {"[tensor] expected rows of equal length, got 2 and 1 values", [] { tensor({{1, 2}, {3}}); }},
      {"[tensor] expected rows of equal length, got 2 and 1 values", [] { tensor({{{1, 2}}, {{3}}}); }},
      {"[tensor] expected rows of equal length, got 1 and 2 values", [] { tensor({{{1, 2}}, {{3, 4}, {5, 6}}}); }},
      {"[tensor] expected either lists or numbers on one level, got both", [] { tensor({{1, 2}, 3}); }},
      {"[tensor] expected either lists or numbers on one level, got both", [] { tensor({{{1}, {2}}, {3, 4}}); }},
      {"[tensor] expected either lists or numbers on one level, got both", [] { tensor({{3, 4}, {{1}, {2}}}); }},
  });
  // clang-format on
}

// --- shape ---

TEST(Shape, ViewsShareMemory) {
  const Tensor x = zeros({4, 5, 6});
  for (const Tensor& y : {diagonal(x, 1, 0, 2), unfold(x, 1, 3, 1), unflatten(x, -1, {2, -1}), movedim(x, 0, 2),
                          slice(x, {1, {}, {0, 4, 2}}), broadcast_to(x, {3, 4, 5, 6}), pad(x, {-1, -1}), pad(x, {0, 0}),
                          repeat(x, {1, 1, 1}), x.unsqueeze(0).squeeze(0), meshgrid({x[0][0]})[0]}) {
    EXPECT_TRUE(shares_memory(x, y)) << str(y.shape());
  }
  EXPECT_EQ(unfold(x, 1, 3, 1).shape(), (Shape{4, 3, 6, 3}));
  EXPECT_EQ(unflatten(x, -1, {2, -1}).shape(), (Shape{4, 5, 2, 3}));
  EXPECT_EQ(zeros({1, 4, 1, 2}).squeeze({0, 2}).shape(), (Shape{4, 2}));
  EXPECT_EQ(repeat(zeros({2, 1, 1, 1, 1, 1, 1, 2}), {3, 1, 1, 1, 1, 1, 1, 2}).shape(), (Shape{6, 1, 1, 1, 1, 1, 1, 4}));
}

// Rows that are read several times are copied after themselves, up to the end of a piece.
TEST(Shape, RepeatedRows) {
  for (const DType dtype : {kUInt8, kBFloat16, kFloat32, kInt64}) {
    for (const int64_t row : {1, 2, 3, 31, 600}) {
      for (const int64_t times : {1, 2, 255, 1000}) {
        const Tensor x = remainder(arange(5 * row), 200).reshape({5, 1, row});
        const Tensor y = x.to(kFloat32).to(dtype).expand({5, times, row}).contiguous();
        const std::vector<double> numbers = y.to(kFloat32).to(kFloat64).to_vector<double>();
        int64_t wrong = 0;
        for (int64_t i = 0; i < 5 * times * row; ++i) {
          wrong += numbers[static_cast<std::size_t>(i)] != (i / times / row * row + i % row) % 200;
        }
        EXPECT_EQ(wrong, 0) << row << " " << times << " " << name(dtype);
      }
    }
  }
}

// --- regions ---

// --- reading and writing by index ---

// The last value wins, however many threads there are, and only it has a gradient.
TEST(Index, LastOfRepeatedPlacesRemains) {
  const Tensor ids = tensor({1, 1}), source = tensor({{10., 11., 12.}, {20., 21., 22.}});
  expect_near(index_copy(kCounted, 0, ids, source), {0, 1, 2, 20, 21, 22});
  expect_near(index_put(kCounted, {ids}, source), {0, 1, 2, 20, 21, 22});
  expect_near(scatter(kCounted, 0, ids.reshape({2, 1}).expand({2, 3}), source), {0, 1, 2, 20, 21, 22});
  const auto of_source = [&](auto f) { expect_near(gradient(f, source), {0, 0, 0, 4, 5, 6}); };
  of_source([&](const Tensor& s) { return index_copy(kCounted, 0, ids, s); });
  of_source([&](const Tensor& s) { return index_put(kCounted, {ids}, s); });
  of_source([&](const Tensor& s) { return scatter(kCounted, 0, ids.reshape({2, 1}).expand({2, 3}), s); });

  const int64_t n = 100'003;
  const Tensor many = zeros({n}, kInt64), values = arange(0, n, 1, kFloat64);
  const KeepThreads keep;
  for (int threads : {1, 2, 3, 7}) {
    set_num_threads(threads);
    EXPECT_EQ(index_copy(zeros({1}, kFloat64), 0, many, values).item(), n - 1);
    EXPECT_EQ(index_put(zeros({1}, kFloat64), {many}, values).item(), n - 1);
    EXPECT_EQ(scatter(zeros({1}, kFloat64), 0, many, values).item(), n - 1);
    EXPECT_EQ(index_put(zeros({1}, kFloat64), {many}, ones({n}, kFloat64), true).item(), n);
  }
}

// The gradient of windows along an axis that is not the last one adds 16 columns at a time.
TEST(Shape, GradientsOfWindowsOfRowsAreThoseOfColumns) {
  for (const int64_t columns : {1, 15, 16, 17, 40}) {
    const Tensor x = sin(arange(30 * columns).to(kFloat32)).reshape({30, columns});
    const auto gradient = [&](const Tensor& of, int64_t axis) {
      Tape tape;
      const Tensor leaf = of.as_leaf(), windows = unfold(leaf, axis, 5, 2);  // [13, columns, 5] or [columns, 13, 5]
      const Tensor weights = cos(arange(windows.numel()).to(kFloat32)).reshape({13, columns, 5});
      return tape.backward(sum(windows * (axis == 0 ? weights : weights.transpose(0, 1))))[leaf];
    };
    EXPECT_TRUE(equal(gradient(x, 0), gradient(x.t().contiguous(), 1).t())) << columns;
  }
}

}  // namespace
}  // namespace tapegrad::tests
