// Segments, sparse matrices, linear recurrences, sets and counts: what samples and PyTorch's values do not show.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

// --- segments ---

TEST(Segments, WithoutRowsHaveNoPartInSecondDerivatives) {
  const Tensor x = tensor({1., 3.}).as_leaf(), weight = tensor({1., 2., 4.}).as_leaf();
  for (const auto extreme : {segment_max, segment_min}) {
    Tape tape;
    const Tensor y = extreme(x, tensor({0, 2}), 3);
    const Tensor dx = tape.backward(y, {.create_graph = true, .grad_output = weight * 1})[x];
    expect_near(tape.backward(sum(dx * dx))[weight], {2, 0, 8});
  }
}

// A gradient that is recorded consists of other operations than one that is not.
TEST(Segments, HaveOneGradientRecordedOrNot) {
  Generator generator(3);
  const Tensor x = randn({97, 37}, kFloat32, &generator), index = randint(0, 11, {97}, &generator);
  for (const auto f : {segment_max, segment_min, segment_softmax, segment_logsumexp}) {
    const auto weighted = [&](const Tensor& v) {
      const Tensor y = f(v, index, 11);
      return y * sin(arange(y.numel()).to(kFloat32)).reshape(y.shape());
    };
    EXPECT_TRUE(same_bits(slope(weighted, x), slope(weighted, x, true)));
  }
}

TEST(Segments, AddRowsInTheOrderOfTheirPositions) {
  Generator generator(4);
  const Tensor x = randn({5000, 24}, kFloat32, &generator), index = randint(0, 37, {5000}, &generator);
  EXPECT_TRUE(same_bits(segment_sum(x, index, 37), index_add(zeros({37, 24}), 0, index, x)));
}

// --- sparse matrices ---

TEST(SparseMatrices, KeepForBackwardWhatGradientsNeed) {
  const Tensor offsets = tensor({0, 1, 2}), columns = tensor({1, 0}), values = tensor({2., 3.});
  const Tensor leaf = tensor({{1., 2.}, {3., 4.}}).as_leaf();
  Tape tape;
  const Tensor dense = leaf * 1, left = leaf * 1, y = sparse_matmul(offsets, columns, values, dense);
  const Tensor z = sampled_matmul(offsets, columns, left, ones({2, 2}));
  EXPECT_TRUE(dense.unique());
  EXPECT_TRUE(left.unique());
  expect_near(tape.backward(sum(y) + sum(z))[leaf], {4, 4, 3, 3});
}

// --- linear recurrences ---

TEST(LinearScan, HasTheBitsOfCumsumInSmallIntegers) {
  const Tensor x = arange(600).to(kFloat32).reshape({20, 30});
  for (const int axis : {0, 1}) EXPECT_TRUE(same_bits(linear_scan(ones({}), x, axis), cumsum(x, axis)));
}

// --- sets and counts ---

// Equal bins are found by a multiplication, others, and those that are only nearly equal, by a search; the numbers next
// to edges show which edge decides. 4096 bins are counted in several tables, 4097 in one.
TEST(Sets, CountNextToEdgesAsASearchDoes) {
  const auto check = [](const Tensor& edges, auto t) {
    using T = decltype(t);
    const std::vector<T> edge = edges.to_vector<T>();
    std::vector<T> values{std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(), -1000, 1000};
    for (const T e : edge) {
      for (const T other : {T{-2000}, T{2000}}) values.push_back(std::nextafter(e, other));
      values.push_back(e);
    }
    const std::size_t bins = edge.size() - 1;
    std::vector<int64_t> expected(bins);
    for (const T v : values) {
      if (!(v >= edge.front() && v <= edge.back())) continue;
      const auto place = static_cast<std::size_t>(std::upper_bound(edge.begin(), edge.end(), v) - edge.begin()) - 1;
      ++expected[std::min(place, bins - 1)];
    }
    const Tensor x = tensor(values, {static_cast<int64_t>(values.size())});
    EXPECT_EQ(histogram(x, edges).counts.template to_vector<int64_t>(), expected) << edges;
    EXPECT_EQ(histogram(x, edges, ones_like(x)).counts.to(kInt64).template to_vector<int64_t>(), expected) << edges;
  };
  for (const int64_t bins : {1, 7, 100, 4096, 4097}) {
    const Tensor equal = linspace(-0.3, 0.7, bins + 1, kFloat64), along = linspace(0, 1, bins + 1, kFloat64);
    const double width = 1 / static_cast<double>(bins);
    for (const Tensor& edges : {equal, equal + 0.4 * width * sin(6 * along), equal + 0.8 * width * sin(6 * along),
                                square(along), cat({equal, equal + 1.5}), 0 * along}) {
      check(edges, 0.0);
      check(edges.to(kFloat32), 0.0F);
    }
  }
  check(tensor({-kInf, 0., 1., kInf}, kFloat64), 0.0);
  check(tensor({0., 5e-324, 1e-323}, kFloat64), 0.0);
}

// Rows that are sorted by bytes of keys, and shorter ones.
TEST(Sets, SortLongRowsAsAStableSortDoes) {
  const auto check = [](const Tensor& x, auto t) {
    using T = decltype(t);
    const int64_t n = x.numel();
    const T* const from = x.data<T>();
    for (const bool descending : {false, true}) {
      std::vector<int64_t> expected(static_cast<std::size_t>(n));
      std::iota(expected.begin(), expected.end(), 0);
      std::stable_sort(expected.begin(), expected.end(), [&](int64_t i, int64_t j) {
        const T a = descending ? from[j] : from[i], b = descending ? from[i] : from[j];
        return a < b || (a == a && b != b);
      });
      const Sorted now = sort(x, 0, descending);
      for (int64_t i = 0; i < n; ++i) {
        const int64_t place = now.indices.data<int64_t>()[i];
        ASSERT_EQ(place, expected[static_cast<std::size_t>(i)]) << n << ", " << descending << ", " << i;
        ASSERT_EQ(std::memcmp(now.values.data<T>() + i, from + place, sizeof(T)), 0) << n << ", " << i;
      }
    }
  };
  for (const int64_t n : {9, 500, 3000}) {
    Tensor x = floor(randn({n}, kFloat64) * 20) / 4;  // with zeros of both signs
    x = cat({x, -x, tensor({kNan}, kFloat64).expand({3}), log(zeros({2}, kFloat64)), -log(zeros({2}, kFloat64)), x});
    check(x, double());
    check(x.to(kFloat32), float());
    const Tensor whole = cat({randint(-1000, 1000, {n}), full({2}, -0x1p63, kInt64), full({2}, 0x1p62, kInt64)});
    check(cat({whole, whole}), int64_t());
    check(whole > 0, bool());
  }
}

}  // namespace
}  // namespace tapegrad::tests
