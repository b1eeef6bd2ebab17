// Matrix products against plain loops, bit by bit: every layout, tiles, threads, who computes them, batches.
// build: -O1
// ctest: threads products families
#include <gtest/gtest.h>
#include <tapegrad/autograd/internal/machine.h>
#include <tapegrad/autograd/kernels/family.h>
#include <tapegrad/autograd/kernels/product/blas.h>
#include <tapegrad/autograd/kernels/product/blas_blis.h>
#include <tapegrad/autograd/kernels/product/engines.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/autograd/profiler.h>
#include <tapegrad/tests/support/threads.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <ostream>
#include <random>
#include <set>
#include <vector>

namespace tapegrad {
namespace {

struct Strides {
  int64_t row, col;
};

// Ways to store a matrix; all but the first five repeat or skip elements.
Strides strides_of(int layout, int64_t rows, int64_t cols) {
  const Strides all[] = {{cols, 1}, {1, rows}, {cols + 5, 1}, {2 * cols + 3, 2}, {-cols - 1, 1}, {0, 1}, {1, 0}};
  return all[layout];
}

struct Case {
  int64_t m, n, k;
  int a = 0, b = 0, c = 0;  // layouts
  double alpha = 1, beta = 0;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << "m " << c.m << " n " << c.n << " k " << c.k << ", layouts " << c.a << ' ' << c.b << ' ' << c.c
             << ", alpha " << c.alpha << " beta " << c.beta;
}

// The one order of sums along k. Blocks of 256, each in order from 0, added in order: beta c + block + block ... Of
// more than 65,536 terms, the sum of two such sums, the first of which is the longest with a power of two.
template <class T>
T in_order(int64_t k, T alpha, const T* a, int64_t a_step, const T* b, int64_t b_step, T beta, T c) {
  constexpr int64_t kBlock = 256;
  if (k > 65536) {
    int64_t half = 65536;
    while (2 * half < k) half *= 2;
    const T first = in_order(half, alpha, a, a_step, b, b_step, beta, c);
    return first + in_order(k - half, alpha, a + half * a_step, a_step, b + half * b_step, b_step, T{0}, T{0});
  }
  for (int64_t begin = 0; begin == 0 || begin < k; begin += kBlock) {  // also a sum of no terms
    T sum = 0;
    for (int64_t p = begin; p < std::min(k, begin + kBlock); ++p) sum = std::fma(a[p * a_step], b[p * b_step], sum);
    c = begin > 0 ? c + alpha * sum : beta == 0 ? alpha * sum : std::fma(beta, c, alpha * sum);
  }
  return c;
}

template <class T>
std::vector<T> drawn_numbers(int64_t n, std::mt19937& draw) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<T> values(n);
  for (T& x : values) x = static_cast<T>(uniform(draw));
  return values;
}

// A product against a loop, bit by bit, by every engine and any number of threads. Nothing else of C is written,
// and every tile is reported once. Of a large product, some elements are compared with the loop.
template <class T>
void check_gemm(const Case& s) {
  SCOPED_TRACE(testing::Message() << s << (sizeof(T) == 4 ? " float" : " double"));
  const Strides a = strides_of(s.a, s.m, s.k), b = strides_of(s.b, s.k, s.n), c = strides_of(s.c, s.m, s.n);
  const auto half = [](int64_t rows, int64_t cols) { return (rows + 2) * (2 * cols + 8); };  // on either side of (0, 0)
  std::mt19937 draw(static_cast<unsigned>(s.m * 31 + s.n * 7 + s.k));
  const std::vector<T> av = drawn_numbers<T>(2 * half(s.m, s.k), draw), bv = drawn_numbers<T>(2 * half(s.k, s.n), draw);
  std::vector<T> before = drawn_numbers<T>(2 * half(s.m, s.n), draw);
  if (s.beta == 0) before.assign(before.size(), std::numeric_limits<T>::quiet_NaN());
  const T *const ap = av.data() + half(s.m, s.k), *const bp = bv.data() + half(s.k, s.n);
  const int64_t start = half(s.m, s.n);
  const T alpha = static_cast<T>(s.alpha), beta = static_cast<T>(s.beta);

  std::vector<T> first;
  for (const Products products : {Products::own, Products::blis, Products::automatic})
    for (const int threads : {1, 2, 3, 7}) {
      set_num_threads(threads);
      std::vector<T> cv = before;
      std::vector<char> reported(s.m * s.n);
      blas::gemm<T>(products, s.m, s.n, s.k, alpha, {ap, a.row, a.col}, {bp, b.row, b.col}, beta,
                    {cv.data() + start, c.row, c.col}, [&](int64_t row, int64_t row_end, int64_t col, int64_t col_end) {
                      for (int64_t i = row; i < row_end; ++i)
                        for (int64_t j = col; j < col_end; ++j) ++reported[i * s.n + j];
                    });
      EXPECT_EQ(std::count(reported.begin(), reported.end(), 1), s.m * s.n);
      if (first.empty()) first = cv;
      ASSERT_EQ(std::memcmp(first.data(), cv.data(), cv.size() * sizeof(T)), 0)
          << name(products) << ", " << threads << " threads";
    }
  const int64_t step = 1 + s.m * s.n * s.k / 20'000'000;
  for (int64_t i = 0; i < s.m; ++i)
    for (int64_t j = 0; j < s.n; ++j) {
      T& found = first[start + i * c.row + j * c.col];
      const T old = before[start + i * c.row + j * c.col];
      if ((i * s.n + j) % step == 0) {
        const T expected = in_order(s.k, alpha, ap + i * a.row, a.col, bp + j * b.col, b.row, beta, old);
        ASSERT_EQ(std::memcmp(&found, &expected, sizeof(T)), 0) << i << ", " << j << ": " << found << ' ' << expected;
      }
      found = old;
    }
  EXPECT_EQ(std::memcmp(first.data(), before.data(), first.size() * sizeof(T)), 0) << "something else was written";
}

void check_both(const Case& s) {
  check_gemm<float>(s);
  check_gemm<double>(s);
}

TEST(Blas, ProductsOfOddSizesInEveryLayout) {
  const tests::KeepThreads restore;
  std::mt19937 draw(5);
  const auto any_of = [&](const auto& values) { return values[draw() % std::size(values)]; };
  const int64_t sizes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 14, 15, 16, 17, 31, 33, 64, 65, 97};
  const int64_t depths[] = {0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 33, 65, 256, 257, 300, 513, 700};
  const double alphas[] = {1, -0.5, 0}, betas[] = {0, 1, 0.75};
  for (int a = 0; a < 7; ++a)
    for (int b = 0; b < 7; ++b)
      for (int c = 0; c < 5; ++c)
        check_both({any_of(sizes), any_of(sizes), any_of(depths), a, b, c, any_of(alphas), any_of(betas)});
}

TEST(Blas, ProductsCutIntoTilesAndThinOnes) {
  const tests::KeepThreads restore;
  const Case cases[] = {
      {300, 257, 100, 0, 1, 0, 1, 0},  // tiles down and across
      {800, 64, 64, 0, 1, 0, 1, 0},    // a shared panel of B
      {100, 300, 270, 1, 0, 1, 1, 1},  // C by columns
      {64, 64, 800, 1, 0, 0, 1, 0.5},  // along k
      {33, 65, 1501, 0, 1, 3, 2, 0},   // along k, C with gaps
      {257, 40, 513, 5, 6, 0, 1, 0},   // operands that repeat
      {64, 300, 512, 0, 0, 0, 1, 1},   // rows of A that fall on the same lines of the cache
      {64, 205, 300, 0, 0, 0, 1, 0},   // panels of B that the first rows of A pack
      {65, 700, 300, 0, 1, 0, -1, 0},  // turned: B' A'
      {41, 701, 512, 0, 1, 2, 1, 0},   // turned, rows of B' on the same lines of the cache
      {1, 1500, 700, 0, 1, 0, 1, 0},  {2, 65, 133, 0, 1, 3, 2, 1},  {3, 70, 64, 2, 1, 1, 1, 0.5},
      {4, 1500, 700, 0, 1, 0, 1, 0},  {300, 1, 501, 0, 0, 0, 1, 0}, {300, 1, 501, 0, 1, 3, -1, 1},
      {1, 1, 3000, 0, 1, 0, 1, 0},
  };
  for (const Case& s : cases) check_both(s);
}

TEST(Blas, TheSameBitsWhoeverComputes) {
  const tests::KeepThreads restore;
  const Case cases[] = {
      {513, 385, 1536, 0, 1, 0, 1, 0},     // rows of A that fall on the same lines of the cache
      {385, 1540, 300, 1, 0, 2, -0.5, 1},  // a weight's gradient, with AVX-512
      {520, 512, 512, 2, 1, 0, 1, 0.75},  {520, 530, 515, 1, 0, 0, 1, 0},  // a weight's gradient
      {515, 520, 530, 0, 0, 0, 1, 1},                                      // several blocks of A and of k
      {512, 384, 1536, 0, 1, 0, 1, 0},                                     // by default on BLIS,
      {511, 384, 1536, 0, 1, 0, 1, 0},                                     // and with one row less in our tiles
      {700, 3090, 40, 0, 1, 0, 1, 0},  // several blocks of B, or of A, for BLIS's kernels
      {3090, 500, 20, 1, 0, 0, 1, 1},  // the same of the other operand
  };
  for (const Case& s : cases) check_both(s);
  EXPECT_NE(blis_description().find(name(kernel_family())), std::string::npos) << blis_description();
}

// A and B by rows and by columns.
void check_by_rows_and_columns(const auto& check, Case s) {
  for (const int a : {0, 1})
    for (const int b : {0, 1}) {
      s.a = a, s.b = b;
      check(s);
    }
}

TEST(Blas, AnyNumberOfRows) {
  const tests::KeepThreads restore;
  for (const int64_t m : {1, 2, 3, 4, 5, 8, 9, 16, 17})
    for (const int64_t n : {1, 8, 15, 16, 17, 50})
      for (const int64_t k : {1, 3, 4, 17, 64, 255, 256, 257, 300, 513, 771}) {
        check_by_rows_and_columns(check_gemm<float>, {m, n, k});
        if (n == 17 && m % 2 == 1)
          check_by_rows_and_columns(check_gemm<float>, {.m = m, .n = n, .k = k, .alpha = -0.3, .beta = 0.7});
        if (n >= 16 && m < 6)
          check_by_rows_and_columns(check_gemm<double>, {.m = m, .n = n, .k = k, .beta = k % 2 == 0 ? 0.0 : 1.0});
      }
}

TEST(Blas, BlocksOfLongSums) {
  const tests::KeepThreads restore;
  check_by_rows_and_columns(check_gemm<float>, {1, 1100, 1030});
  check_by_rows_and_columns(check_gemm<float>, {.m = 3, .n = 700, .k = 900, .beta = 1});
  check_by_rows_and_columns(check_gemm<float>, {.m = 64, .n = 64, .k = 800, .beta = 1});  // computed in parallel
  check_by_rows_and_columns(check_gemm<float>,
                            {.m = 60, .n = 70, .k = 4500, .beta = 0.7});  // more of them than at a time
  check_by_rows_and_columns(check_gemm<float>,
                            {.m = 20, .n = 130, .k = 771, .alpha = -0.3, .beta = 0.7});  // an odd number
  check_by_rows_and_columns(check_both, {130, 260, 300});
}

// Of more than 65,536 terms.
TEST(Blas, VeryLongSums) {
  const tests::KeepThreads restore;
  for (const int64_t k : {65536, 65537, 131072, 200000, 400123}) {
    check_gemm<float>({1, 1, k, 0, 1});
    check_gemm<float>({1, 3, k, 0, 0, 0, -0.3, 0.7});
  }
  check_gemm<float>({17, 20, 140000, 0, 1, 0, 1, 1});
  check_gemm<float>({20, 17, 140000, 1, 0});
  check_gemm<double>({3, 5, 70001});
  std::mt19937 draw(7);
  const int64_t k = 200000;
  const std::vector<float> a = drawn_numbers<float>(2 * k, draw), b = drawn_numbers<float>(5 * k, draw);
  const PackedMatrix<float> packed(k, 5, {b.data(), 5, 1});
  for (const int64_t depth : {k, k - 1, int64_t{70001}, int64_t{256}}) {
    std::vector<float> c(10);
    packed.multiply_part(2, 5, depth, 1, a.data(), k, 0, c.data(), 5);
    for (int64_t i = 0; i < 10; ++i)
      EXPECT_EQ(c[i], in_order(depth, 1.0F, a.data() + i / 5 * k, 1, b.data() + i % 5, 5, 0.0F, 0.0F));
  }
}

// At sizes for which gemm would not choose BLIS, with edges of its micro-kernels and of the packed blocks.
// Skipped in builds without BLIS and for instruction sets for which it has no kernel.
TEST(Blas, EdgesOnBlis) {
  if (!blas::has_blis_kernel<float>()) GTEST_SKIP() << blis_description();
  for (int64_t m : {1, 5, 6, 7, 14, 30, 170}) {
    for (int64_t n : {1, 7, 8, 9, 16, 33, 70, 500})
      for (int64_t k : {0, 1, 3, 40, 300, 400}) {
        std::vector<float> a(m * k), b(k * n), c(m * n), expected(m * n);
        for (int64_t i = 0; i < m * k; ++i) a[i] = static_cast<float>(i * 7 % 11 - 5);
        for (int64_t i = 0; i < k * n; ++i) b[i] = static_cast<float>(i * 5 % 13 - 6);
        for (int64_t i = 0; i < m * n; ++i) c[i] = static_cast<float>(i % 9);
        for (const float beta : {0.0f, 1.0f}) {
          for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j) {
              float sum = 0;
              for (int64_t p = 0; p < k; ++p) sum += a[i * k + p] * b[j * k + p];
              expected[i * n + j] = 2 * sum + beta * c[i * n + j];
            }
          std::vector<float> y = c;
          blas::multiply_on_blis<float>({m, n, k, 2, a.data(), k, 1, b.data(), 1, k, beta, y.data(), n});
          ASSERT_EQ(y, expected) << m << ' ' << n << ' ' << k;
        }
      }
  }
}

// Who computes, and that it is counted.
TEST(Blas, TellsWhatComputes) {
  const tests::KeepThreads restore;
  set_num_threads(2);
  const Engine small = blas::engine_of_linear(20, 20, 20);
  const bool has = blas::has_blis_kernel<float>(), always = products() == Products::blis && has;
  EXPECT_EQ(small, always ? Engine::blis : Engine::small);
  EXPECT_EQ(blas::engine_of_linear(120, 120, 120), always ? Engine::blis : Engine::tiles);
  const Engine large = products() == Products::own || !has ? Engine::tiles : Engine::blis;
  const Engine less = always ? Engine::blis : Engine::tiles;  // a row less than BLIS computes
  const std::vector<float> a(512 * 1536, 1), b(1536 * 384, 2);
  std::vector<float> c(512 * 384);
  const auto counted = [&](int64_t m, int64_t n, int64_t k, Engine engine) {
    const auto before = product_counts();
    gemm<float>(m, n, k, 1, {a.data(), k, 1}, {b.data(), n, 1}, 0, {c.data(), n, 1});
    return product_counts()[static_cast<std::size_t>(engine)] - before[static_cast<std::size_t>(engine)];
  };
  EXPECT_EQ(counted(20, 20, 20, small), 0) << "nobody asks";
  const Profiler profiler({.measure_peak = false});
  EXPECT_EQ(counted(20, 20, 20, small), 20 * 20 * 20);
  EXPECT_EQ(counted(512, 384, 1536, large), 512 * 384 * 1536);
  EXPECT_EQ(counted(511, 384, 1536, less), 511 * 384 * 1536);
  const ProfileReport report = profiler.report();
  const auto& told = report.products;
  double all = 0;
  for (const auto& [engine, multiplications] : told) all += multiplications;
  EXPECT_EQ(all, 1023 * 384 * 1536 + 20 * 20 * 20);
  EXPECT_EQ(told.size(), std::set({small, large, less}).size());
}

TEST(Blas, NanAndInfinityPropagate) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (int64_t k : {2, 40}) {
    std::vector<float> a(3 * k, 1), b(k * 20, 0), c(60, nan);
    a[0] = nan;
    a[k] = inf;
    gemm<float>(3, 20, k, 1, {a.data(), k, 1}, {b.data(), 20, 1}, 0, {c.data(), 20, 1});
    for (int j = 0; j < 20; ++j) {
      EXPECT_TRUE(std::isnan(c[j]));
      EXPECT_TRUE(std::isnan(c[20 + j]));  // infinity times zero
      EXPECT_EQ(c[40 + j], 0);
    }
  }
}

TEST(Blas, BatchesWithRepeatedOperands) {
  const tests::KeepThreads restore;
  // [2, 3] products A_ij B_j as heads have them: A [2, 3, m, k] read through transposed axes, B [3, k, n] repeated
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{7, 9, 5}, {20, 20, 32}, {64, 70, 300}, {300, 310, 200}}) {
    std::vector<double> a(6 * m * k), b(3 * k * n), first;
    std::mt19937 draw(3);
    for (double& x : a) x = static_cast<double>(draw() % 17) - 8;
    for (double& x : b) x = static_cast<double>(draw() % 13) - 6;
    for (int threads : {1, 2, 3, 7}) {
      set_num_threads(threads);
      for (bool by_columns : {false, true}) {
        std::vector<double> c(6 * m * n, 1);
        // a stored as [2, m, 3, k]
        batched_gemm<double>(6, m, n, k, 1, {a.data(), 3 * k, 1}, {b.data(), n, 1}, 2,
                             {c.data(), by_columns ? 1 : n, by_columns ? m : 1}, [m = m, n = n, k = k](int64_t i) {
                               return BatchOffset{i / 3 * 3 * m * k + i % 3 * k, i % 3 * k * n, i * m * n};
                             });
        for (int64_t i = 0; i < 6; ++i) {
          for (int64_t row = 0; row < m; row += 3)
            for (int64_t col = 0; col < n; ++col) {
              double sum = 2;
              for (int64_t p = 0; p < k; ++p)
                sum += a[i / 3 * 3 * m * k + row * 3 * k + i % 3 * k + p] * b[i % 3 * k * n + p * n + col];
              ASSERT_EQ(c[i * m * n + (by_columns ? col * m + row : row * n + col)], sum);
            }
        }
      }
    }
  }
  batched_gemm<double>(0, 2, 2, 2, 1, {}, {}, 0, {}, [](int64_t) { return BatchOffset{}; });
}

}  // namespace
}  // namespace tapegrad
