// Integer tensors with numbers that float64 does not hold: every function that takes a number computes with the
// integer.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

constexpr int64_t kOdd = 9007199254740993;  // 2^53 + 1
constexpr int64_t kFactor = 6364136223846793005;
constexpr int64_t kMost = INT64_MAX, kLeast = INT64_MIN;

void expect_integers(const Tensor& x, const std::vector<int64_t>& expected, const std::string& what = "") {
  ASSERT_EQ(x.dtype(), kInt64) << what;
  EXPECT_EQ(x.to_vector<int64_t>(), expected) << what;
}
std::vector<bool> bools(const Tensor& x) { return x.to_vector<bool>(); }
int64_t wrapped(uint64_t x) { return static_cast<int64_t>(x); }

TEST(Integers, OperatorsWithNumbersAreExact) {
  const std::vector<int64_t> values{0, 1, -7, kOdd, kMost, kLeast};
  const Tensor x = tensor(values, {6});
  for (const int64_t n : {int64_t{3}, int64_t{-7}, kOdd, kOdd + 1, -kOdd, kFactor, kMost, kLeast}) {
    std::vector<int64_t> sum, difference, reversed, product, most, least, rest;
    for (const int64_t v : values) {
      const auto a = static_cast<uint64_t>(v), b = static_cast<uint64_t>(n);
      sum.push_back(wrapped(a + b)), difference.push_back(wrapped(a - b)), reversed.push_back(wrapped(b - a));
      product.push_back(wrapped(a * b)), most.push_back(std::max(v, n)), least.push_back(std::min(v, n));
      rest.push_back(v % n);
    }
    expect_integers(x + n, sum), expect_integers(n + x, sum);
    expect_integers(x - n, difference), expect_integers(n - x, reversed);
    expect_integers(x * n, product), expect_integers(n * x, product);
    expect_integers(maximum(x, n), most), expect_integers(minimum(x, n), least);
    expect_integers(fmod(x, n), rest);
    expect_integers(remainder(x, n), remainder(x, tensor({n})).to_vector<int64_t>());
    expect_integers(floor_divide(x, n), floor_divide(x, tensor({n})).to_vector<int64_t>());
    expect_integers(div(x, n, Rounding::trunc), div(x, tensor({n}), Rounding::trunc).to_vector<int64_t>());
    Tensor y = x;
    y += n;
    expect_integers(y, sum);
    y -= n, y *= n;
    expect_integers(y, product);
    y(0) = n, y(1) += n;
    EXPECT_EQ(y[0].item<int64_t>(), n);
    EXPECT_EQ(y[1].item<int64_t>(), wrapped(static_cast<uint64_t>(n) * 2));
  }
  expect_integers(pow(tensor({kOdd, int64_t{-3}}), 3), {wrapped(uint64_t{kOdd} * kOdd * kOdd), -27});
}

TEST(Integers, ComparisonsWithNumbersAreExact) {
  const Tensor x = tensor({kOdd - 1, kOdd, kOdd + 1});
  EXPECT_EQ(bools(x == kOdd), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(bools(x != kOdd), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(bools(x < kOdd), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(bools(x >= kOdd), (std::vector<bool>{false, true, true}));
  EXPECT_EQ(bools(kOdd == x), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(bools(kOdd > x), (std::vector<bool>{true, false, false}));
  // with fractions, and numbers beyond int64
  const Tensor y = tensor({16777216, 16777217, -3, 3});
  EXPECT_EQ(bools(y > 16777216.5), (std::vector<bool>{false, true, false, false}));
  EXPECT_EQ(bools(y <= -2.5), (std::vector<bool>{false, false, true, false}));
  EXPECT_EQ(bools(y == 2.5), (std::vector<bool>{false, false, false, false}));
  const Tensor ends = tensor({kMost, kLeast});
  EXPECT_EQ(bools(ends < 0x1p63), (std::vector<bool>{true, true}));
  EXPECT_EQ(bools(ends == 0x1p63), (std::vector<bool>{false, false}));
  EXPECT_EQ(bools(ends == -0x1p63), (std::vector<bool>{false, true}));
  EXPECT_EQ(bools(ends < 18446744073709551615U), (std::vector<bool>{true, true}));
  EXPECT_EQ(bools(ends > -1e30), (std::vector<bool>{true, true}));
  EXPECT_EQ(bools(ends != kNan), (std::vector<bool>{true, true}));
  EXPECT_FALSE(allclose(x, x + 1, 0, 0.5));
  EXPECT_TRUE(allclose(x, x + 1, 0, 1));
  EXPECT_FALSE(allclose(tensor({kMost}), tensor({kLeast}), 0.5, 0));
}

TEST(Integers, ValuesAreExact) {
  expect_integers(full({1}, kOdd, kInt64), {kOdd});
  expect_integers(full({1}, kMost, kInt64), {kMost});
  expect_integers(full_like(tensor({1}), kLeast), {kLeast});
  expect_integers(scalar(kFactor, kInt64), {kFactor});
  const Tensor x = tensor({1, 2, 3}), first = tensor({true, false, false}), ids = tensor({1});
  expect_integers(masked_fill(x, first, kOdd), {kOdd, 2, 3});
  expect_integers(where(first, x, kOdd), {1, kOdd, kOdd});
  expect_integers(where(first, kOdd, x), {kOdd, 2, 3});
  expect_integers(scatter(x, 0, ids, kOdd), {1, kOdd, 3});
  expect_integers(index_fill(x, 0, ids, kOdd), {1, kOdd, 3});
  expect_integers(index_add(x, 0, ids, ids, kOdd), {1, kOdd + 2, 3});
  expect_integers(pad(x, {1, 0}, PadMode::constant, kOdd), {kOdd, 1, 2, 3});
  expect_integers(slice_update(x, {{1, 2}}, kOdd), {1, kOdd, 3});
  expect_integers(clamp(x * kOdd, kOdd + 1, 2 * kOdd - 1), {kOdd + 1, 2 * kOdd - 1, 2 * kOdd - 1});
  expect_integers(clamp(x, {}, kOdd), {1, 2, 3});
  expect_integers(addcmul(x, x, x, kOdd), {kOdd + 1, 4 * kOdd + 2, 9 * kOdd + 3});
  Tensor y = x;
  y(first) = kOdd;
  expect_integers(y, {kOdd, 2, 3});
  expect_integers(arange(kOdd, kOdd + 3), {kOdd, kOdd + 1, kOdd + 2});
  expect_integers(arange(kMost, kMost - 5, -2), {kMost, kMost - 2, kMost - 4});
  expect_integers(arange(kLeast, kMost, kMost), {kLeast, -1, kMost - 1});
  expect_integers(arange(3, 0.5, -1), {3, 2, 1});
  expect_integers(arange(kMost - 1, 0x1p63), {kMost - 1, kMost});
  expect_integers(arange(3, 3), {});
  expect_integers(tensor({kOdd, 2.}, kInt64), {kOdd, 2});
}

TEST(Integers, NumbersOfEveryKind) {
  enum Small { kSmall = 5 };
  const Tensor x = tensor({1, 2}), f = tensor({1., 2.});
  expect_integers(x + true, {2, 3});
  expect_integers(x + 'a', {98, 99});
  expect_integers(x + kSmall, {6, 7});
  expect_integers(x * std::size_t{3}, {3, 6});
  expect_integers(x + uint64_t{kMost}, {kLeast, kLeast + 1});
  expect_integers(x * 3.F, {3, 6});
  expect_integers(x + 1e18, {1'000'000'000'000'000'001, 1'000'000'000'000'000'002});
  EXPECT_EQ((x + 0.5).dtype(), kFloat32);
  EXPECT_EQ((x + 1e30).dtype(), kFloat32);
  EXPECT_EQ((f + kOdd).dtype(), kFloat32);
  expect_near(f * 18446744073709551615U, {0x1p64F, 0x1p65F});
  EXPECT_EQ(full({1}, kOdd, kFloat64).item(), 0x1p53);
}

TEST(Integers, NumbersThatTheTypeDoesNotHold) {
  const Tensor x = tensor({1, 2});
  const uint64_t most = std::numeric_limits<uint64_t>::max();
  EXPECT_ERROR(x * most);
  EXPECT_ERROR(full({1}, most, kInt64));
  EXPECT_ERROR(full({1}, kOdd, kInt32));
  EXPECT_ERROR(masked_fill(x.to(kInt32), x > 0, kOdd));
  EXPECT_ERROR(tensor({most}));
  EXPECT_ERROR(arange(kOdd, kOdd + 2, 1, kInt32));
  EXPECT_ERROR(arange(kLeast, kMost));
}

}  // namespace
}  // namespace tapegrad::tests
