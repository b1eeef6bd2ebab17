// Dropout: PyTorch's masks and its arithmetic.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad {
namespace {

// The generators are at equal positions: neither has drawn more than the other.
bool equal_streams(const Generator& a, const Generator& b) { return a.state() == b.state(); }

TEST(Dropout, MultipliesByTheMaskThatTheGeneratorDraws) {
  for (const DType dtype : {kFloat32, kFloat64}) {
    for (const int64_t n : {1, 7, 8, 36, 1000, 70001}) {
      Generator g(3), same(3);
      const Tensor x = randn({n}, dtype, &g);
      randn({n}, dtype, &same);
      std::vector<uint8_t> keep(static_cast<std::size_t>(n));
      same.keep_mask(keep.data(), n, 0.9);
      const Tensor y = dropout(x, 0.1, true, &g);
      EXPECT_TRUE(equal_streams(g, same));
      with_floating_type(dtype, [&](auto t) {
        using T = decltype(t);
        const T scale = T{1} / static_cast<T>(0.9);
        for (int64_t i = 0; i < n; ++i) {
          ASSERT_EQ(y.data<T>()[i], x.data<T>()[i] * (keep[static_cast<std::size_t>(i)] ? scale : T{0})) << i;
        }
      });
    }
  }
}

TEST(Dropout, FigureOfTutorial004Seed123) {
  manual_seed(123);
  const std::vector<float> y = dropout(ones({6, 6}), 0.5).to_vector<float>();
  std::string digits;
  for (const float v : y) digits += static_cast<char>('0' + static_cast<int>(v));
  EXPECT_EQ(digits, "220220000202222202022002020202022220");
}

TEST(Dropout, DrawsInRowMajorOrderWhateverTheStrides) {
  Generator a(5), b(5);
  const Tensor x = randn({40, 30}, kFloat32, &a);
  randn({40, 30}, kFloat32, &b);
  const std::vector<float> turned = dropout(x.t(), 0.3, true, &a).to_vector<float>();
  EXPECT_EQ(turned, dropout(x.t().contiguous(), 0.3, true, &b).to_vector<float>());
}

TEST(Dropout, DrawsNothingIfNothingIsDropped) {
  Generator g(1);
  const Generator before = g;
  const Tensor x = ones({4});
  EXPECT_TRUE(dropout(x, 0.5, false, &g).same(x));
  EXPECT_TRUE(dropout(x, 0, true, &g).same(x));
  EXPECT_EQ(dropout(Tensor::empty({0, 3}), 0.5, true, &g).numel(), 0);
  EXPECT_EQ(dropout(x, 1, true, &g).to_vector<float>(), std::vector<float>(4));
  EXPECT_TRUE(equal_streams(g, before));
}

TEST(Dropout, DroppedNanAndInfinityPropagate) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor y = dropout(full({64}, inf), 0.5);
  int infinite = 0, nan = 0;
  for (const float v : y.to_vector<float>()) std::isnan(v) ? ++nan : ++infinite;
  EXPECT_GT(infinite, 0);
  EXPECT_GT(nan, 0);
  EXPECT_EQ(infinite + nan, 64);
}

}  // namespace
}  // namespace tapegrad
