// The one order of sums along k: a product has the bits of a plain loop, whatever its shape, layout, kernels and
// number of threads. So a row has the same bits among any other rows.
// ctest: products families
#include <tapegrad/autograd/kernels/product/blas.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

// Blocks of 256, each in order from 0, added in order: beta c + block + block ... Of more than 65,536 terms, the sum of
// two such sums, the first of which is the longest with a power of two.
template <class T>
T in_order(int64_t k, T alpha, const T* a, int64_t a_step, const T* b, int64_t b_step, T beta, T c) {
  constexpr int64_t kBlock = 256;
  if (k > 65536) {
    int64_t half = 65536;
    while (2 * half < k) half *= 2;
    const T first = in_order(half, alpha, a, a_step, b, b_step, beta, c);
    return first + in_order(k - half, alpha, a + half * a_step, a_step, b + half * b_step, b_step, T{0}, T{0});
  }
  for (int64_t begin = 0; begin < k; begin += kBlock) {
    T sum = 0;
    for (int64_t p = begin; p < std::min(k, begin + kBlock); ++p) sum = std::fma(a[p * a_step], b[p * b_step], sum);
    c = begin > 0 ? c + alpha * sum : beta == 0 ? alpha * sum : std::fma(beta, c, alpha * sum);
  }
  return c;
}

template <class T>
std::vector<T> drawn_numbers(int64_t n, std::mt19937& draw) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<T> values(static_cast<std::size_t>(n));
  for (T& x : values) x = static_cast<T>(uniform(draw));
  return values;
}

// A by rows or columns, and B.
template <class T>
void expect_order(int64_t m, int64_t n, int64_t k, bool a_by_rows, bool b_by_rows, T alpha, T beta) {
  SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k << (a_by_rows ? ", A by rows" : ", A by columns")
                                  << (b_by_rows ? ", B by rows" : ", B by columns") << ", alpha " << alpha << ", beta "
                                  << beta << (sizeof(T) == 4 ? ", float" : ", double"));
  std::mt19937 draw(static_cast<unsigned>(m * 31 + n * 7 + k));
  const std::vector<T> a = drawn_numbers<T>(m * k, draw), b = drawn_numbers<T>(k * n, draw),
                       before = drawn_numbers<T>(m * n, draw);
  const MatrixView<const T> a_view{a.data(), a_by_rows ? k : 1, a_by_rows ? 1 : m};
  const MatrixView<const T> b_view{b.data(), b_by_rows ? n : 1, b_by_rows ? 1 : k};
  std::vector<T> expected = before;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      T& c = expected[static_cast<std::size_t>(i * n + j)];
      c = in_order(k, alpha, a.data() + i * a_view.row_stride, a_view.col_stride, b.data() + j * b_view.col_stride,
                   b_view.row_stride, beta, c);
    }
  for (const int threads : {1, 2, 3, 7}) {
    set_num_threads(threads);
    std::vector<T> c = before;
    gemm<T>(m, n, k, alpha, a_view, b_view, beta, {c.data(), n, 1});
    ASSERT_EQ(std::memcmp(c.data(), expected.data(), c.size() * sizeof(T)), 0) << threads << " threads";
  }
}

TEST(ProductOrder, AnyNumberOfRows) {
  const KeepThreads keep;
  for (const int64_t m : {1, 2, 3, 4, 5, 8, 9, 16, 17}) {
    for (const int64_t n : {1, 8, 15, 16, 17, 50})
      for (const int64_t k : {1, 3, 4, 17, 64, 255, 256, 257, 300, 513, 771}) {
        for (const bool a_by_rows : {true, false})
          for (const bool b_by_rows : {true, false}) {
            expect_order<float>(m, n, k, a_by_rows, b_by_rows, 1, 0);
            if (n == 17 && m % 2 == 1) expect_order<float>(m, n, k, a_by_rows, b_by_rows, -0.3F, 0.7F);
            if (n >= 16 && m < 6) expect_order<double>(m, n, k, a_by_rows, b_by_rows, 1, k % 2 == 0 ? 0.0 : 1.0);
          }
      }
  }
}

TEST(ProductOrder, LargeProducts) {
  const KeepThreads keep;
  for (const bool a_by_rows : {true, false})
    for (const bool b_by_rows : {true, false}) {
      expect_order<float>(1, 1100, 1030, a_by_rows, b_by_rows, 1, 0);
      expect_order<float>(3, 700, 900, a_by_rows, b_by_rows, 1, 1);
      expect_order<float>(64, 64, 800, a_by_rows, b_by_rows, 1, 1);          // its blocks are computed in parallel
      expect_order<float>(60, 70, 4500, a_by_rows, b_by_rows, 1, 0.7F);      // more of them than at a time
      expect_order<float>(20, 130, 771, a_by_rows, b_by_rows, -0.3F, 0.7F);  // an odd number
      expect_order<float>(130, 260, 300, a_by_rows, b_by_rows, 1, 0);
      expect_order<double>(130, 100, 300, a_by_rows, b_by_rows, 1, 0);
    }
}

TEST(ProductOrder, LongSums) {
  const KeepThreads keep;
  for (const int64_t k : {65536, 65537, 131072, 200000, 400123}) {
    expect_order<float>(1, 1, k, true, false, 1, 0);
    expect_order<float>(1, 3, k, true, true, -0.3F, 0.7F);
  }
  expect_order<float>(17, 20, 140000, true, false, 1, 1);
  expect_order<float>(20, 17, 140000, false, true, 1, 0);
  expect_order<double>(3, 5, 70001, true, true, 1, 0);
  std::mt19937 draw(7);
  const int64_t k = 200000;
  const std::vector<float> a = drawn_numbers<float>(2 * k, draw), b = drawn_numbers<float>(5 * k, draw);
  const PackedMatrix<float> packed(k, 5, {b.data(), 5, 1});
  for (const int64_t depth : {k, k - 1, int64_t{70001}, int64_t{256}}) {
    std::vector<float> c(10);
    packed.multiply_part(2, 5, depth, 1, a.data(), k, 0, c.data(), 5);
    for (int64_t i = 0; i < 10; ++i)
      EXPECT_EQ(c[static_cast<std::size_t>(i)],
                in_order(depth, 1.0F, a.data() + i / 5 * k, 1, b.data() + i % 5, 5, 0.0F, 0.0F));
  }
}

TEST(ProductOrder, LongSumsAreAccurate) {
  const int64_t n = int64_t{1} << 22;
  const Tensor x = full({n}, 0.7), o = ones({n});
  const double right = x[0].item() * static_cast<double>(n);
  EXPECT_LE(std::abs(dot(x, o).item() / right - 1), 5e-6);
  EXPECT_LE(std::abs(linear(x.reshape({1, n}), o.reshape({1, n})).item() / right - 1), 5e-6);
  const InferenceMode inference;
  EXPECT_LE(std::abs(linear(x.reshape({1, n}), o.reshape({1, n})).item() / right - 1), 5e-6);
}

// linear() while a tape records, without one, and several weights at once.
TEST(ProductOrder, LinearInTrainingAndGeneration) {
  const KeepThreads keep;
  Generator draws(1);
  for (const int64_t in : {5, 64, 300, 776, 1030}) {
    for (const int64_t out : {1, 7, 16, 33, 300}) {
      const Tensor w = randn({out, in}, kFloat32, &draws), bias = randn({out}, kFloat32, &draws);
      const Tensor x = randn({40, in}, kFloat32, &draws), leaf = w.detach().as_leaf();
      Tensor all;
      {
        Tape tape;
        all = linear(x, leaf, bias).detach();
      }
      for (const int64_t rows : {1, 2, 3, 4, 5, 8, 15, 16, 17, 39}) {
        set_num_threads(static_cast<int>(rows % 4) + 1);
        const std::vector<float> expected = narrow(all, 0, 1, rows).to_vector<float>();
        const Tensor some = narrow(x, 0, 1, rows);
        EXPECT_EQ(linear(some, w, bias).to_vector<float>(), expected) << rows;
        {
          Tape tape;
          EXPECT_EQ(linear(some, leaf, bias).detach().to_vector<float>(), expected) << rows;
        }
        const InferenceMode inference;
        Tensor results[2];
        const LinearWeight both[] = {{w, {}, bias}, {w, {}, bias}};
        linear_each(some, both, results);
        for (const Tensor& y : results) EXPECT_EQ(y.to_vector<float>(), expected) << rows;
        // With one of another format, whose rows end in whole groups.
        const QuantizedMatrix eight_bits = quantize(w, weight_format("int8"));
        const Tensor none;
        const LinearWeight mixed[] = {{none, eight_bits, bias}, {w, {}, bias}};
        linear_each(some, mixed, results);
        EXPECT_EQ(results[0].to_vector<float>(), linear(some, eight_bits, bias).to_vector<float>()) << rows;
        EXPECT_EQ(results[1].to_vector<float>(), expected) << rows;
      }
    }
  }
}

}  // namespace
}  // namespace tapegrad::tests
