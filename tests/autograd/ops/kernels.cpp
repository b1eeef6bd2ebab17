// The kernels against plain loops: elementary functions on vectors, the kernel families, the machine.
// build: -O1
#include <tapegrad/autograd/kernels/simd/simd_targets.h>
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/tests/autograd/ops/kernels.cpp"
#include <hwy/foreach_target.h>
#include <tapegrad/autograd/kernels/product/blas_micro.h>
#include <tapegrad/autograd/kernels/simd/power-inl.h>
#include <tapegrad/autograd/kernels/simd/simd.h>
#include <tapegrad/autograd/kernels/simd/softmax-inl.h>

#include <cmath>
#include <tuple>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

template <class T>
using Row = void (*)(int64_t n, const T* x, T* y);
template <class T, class F>
constexpr Row<T> row(F) {
  return [](int64_t n, const T* x, T* y) { map_row(n, y, F(), x); };
}

// A function of rows, its name and its exact values; the last two have neither.
template <class T>
using Elementary = std::tuple<Row<T>, const char*, long double (*)(long double)>;
template <class T>
const Elementary<T>* elementary() {
  using Real = long double;
  static constexpr Elementary<T> kAll[] = {
      {row<T>([](auto v) { return exp(v); }), "exp", [](Real x) { return std::exp(x); }},
      {row<T>([](auto v) { return expm1(v); }), "expm1", [](Real x) { return std::expm1(x); }},
      {row<T>([](auto v) { return log(v); }), "log", [](Real x) { return std::log(x); }},
      {row<T>([](auto v) { return log1p(v); }), "log1p", [](Real x) { return std::log1p(x); }},
      {row<T>([](auto v) { return tanh(v); }), "tanh", [](Real x) { return std::tanh(x); }},
      {row<T>([](auto v) { return sigmoid(v); }), "sigmoid", [](Real x) { return 1 / (1 + std::exp(-x)); }},
      {row<T>([](auto v) { return erf(v); }), "erf", [](Real x) { return std::erf(x); }},
      {row<T>([](auto v) { return sin(v); }), "sin", [](Real x) { return std::sin(x); }},
      {row<T>([](auto v) { return cos(v); }), "cos", [](Real x) { return std::cos(x); }},
      {row<T>([](auto v) { return rsqrt(v); }), "rsqrt", [](Real x) { return 1 / std::sqrt(x); }},
      {row<T>([](auto v) { return exp2(v); }), "exp2", [](Real x) { return std::exp2(x); }},
      {row<T>([](auto v) { return log2(v); }), "log2", [](Real x) { return std::log2(x); }},
      {row<T>([](auto v) { return log10(v); }), "log10", [](Real x) { return std::log10(x); }},
      {row<T>([](auto v) { return tan(v); }), "tan", [](Real x) { return std::tan(x); }},
      {row<T>([](auto v) { return asin(v); }), "asin", [](Real x) { return std::asin(x); }},
      {row<T>([](auto v) { return acos(v); }), "acos", [](Real x) { return std::acos(x); }},
      {row<T>([](auto v) { return atan(v); }), "atan", [](Real x) { return std::atan(x); }},
      {row<T>([](auto v) { return sinh(v); }), "sinh", [](Real x) { return std::sinh(x); }},
      {row<T>([](auto v) { return cosh(v); }), "cosh", [](Real x) { return std::cosh(x); }},
      {row<T>([](auto v) { return asinh(v); }), "asinh", [](Real x) { return std::asinh(x); }},
      {row<T>([](auto v) { return acosh(v); }), "acosh", [](Real x) { return std::acosh(x); }},
      {row<T>([](auto v) { return atanh(v); }), "atanh", [](Real x) { return std::atanh(x); }},
      {row<T>([](auto v) { return softplus(v); }), "softplus",
       [](Real x) { return (x < 0 ? 0 : x) + std::log1p(std::exp(-std::fabs(x))); }},
      {row<T>([](auto v) { return 1 - v * v; }), nullptr, nullptr},
      {row<T>([](auto v) { return where(v < 0, minimum(v, -1), maximum(v, 2)); }), nullptr, nullptr},
  };
  return kAll;
}
const Elementary<float>* elementary_float() { return elementary<float>(); }
const Elementary<double>* elementary_double() { return elementary<double>(); }

template <class T>
void of_two(int function, int64_t n, const T* a, const T* b, T* y) {
  map_row(
      n, y,
      [function](auto v, auto w) { return function == 0   ? atan2(v, w)
                                          : function == 1 ? fmod(v, w)
                                                          : remainder(v, w); },
      a, b);
}
void of_two_floats(int function, int64_t n, const float* a, const float* b, float* y) { of_two(function, n, a, b, y); }
void of_two_doubles(int function, int64_t n, const double* a, const double* b, double* y) {
  of_two(function, n, a, b, y);
}

void float_powers(int64_t n, const float* a, const float* b, float* y) {
  map_row(
      n, y, [](auto v, auto w) { return pow(v, w); }, a, b);
}

void float_logarithms(int64_t n, const float* x, float* y) {
  map_row(
      n, y, [](auto v) { return log_of_each(v); }, x);
}

// Masks to bytes and back, and vectors that hold only the first `n` lanes.
template <class T>
bool parts_are_exact() {
  for (int64_t n = 0; n <= kLanes<T>; ++n) {
    T from[2 * kLanes<T>], to[2 * kLanes<T>];
    bool bytes[2 * kLanes<T>], back[2 * kLanes<T>];
    for (int64_t i = 0; i < 2 * kLanes<T>; ++i) {
      from[i] = static_cast<T>(i + 1);
      to[i] = -1;
      bytes[i] = i % 3 == 0;
      back[i] = true;
    }
    store(load(from, n), to, n);
    store_mask(load_mask<T>(bytes, n), back, n);
    for (int64_t i = 0; i < 2 * kLanes<T>; ++i) {
      if (to[i] != (i < n ? from[i] : T(-1)) || back[i] != (i < n ? bytes[i] : true)) return false;
    }
    T all[kLanes<T>], sum = 0;
    store(load(from, n), all);
    for (T lane : all) sum += lane;
    Sum<Vec<T>> parts;
    parts.part[0] = load(from, n);
    if (sum != reduce_sum(parts) || sum != static_cast<T>(n * (n + 1) / 2)) return false;
  }
  return true;
}
bool parts_float() { return parts_are_exact<float>(); }
bool parts_double() { return parts_are_exact<double>(); }

// The 14-row kernel of AVX-512 with this set's vectors (slow where registers are few): sums of small integers are
// exact.
template <class T>
bool fourteen_rows_are_exact() {
  constexpr int64_t kDeep = 37, kWidth = 2 * kLanes<T> - 1;
  T a[14 * kDeep], b[kDeep * 2 * kLanes<T>], c[14 * kWidth], expected[14 * kWidth];
  for (int64_t i = 0; i < 14 * kDeep; ++i) a[i] = static_cast<T>(i * 7 % 11 - 5);
  for (int64_t i = 0; i < kDeep * 2 * kLanes<T>; ++i) b[i] = static_cast<T>(i * 5 % 13 - 6);
  for (int64_t i = 0; i < 14; ++i)
    for (int64_t j = 0; j < kWidth; ++j) {
      T sum = 0;
      for (int64_t p = 0; p < kDeep; ++p) sum += a[i * kDeep + p] * b[p * 2 * kLanes<T> + j];
      c[i * kWidth + j] = static_cast<T>(i - j);
      expected[i * kWidth + j] = 2 * sum + 3 * c[i * kWidth + j];
    }
  micro<T, 14, 2>(kDeep, 2, a, kDeep, 1, b, 2 * kLanes<T>, 3, c, kWidth, kWidth, {b, kLanes<T>, 2, 5});
  return std::memcmp(c, expected, sizeof c) == 0;
}
bool fourteen_rows_float() { return fourteen_rows_are_exact<float>(); }
bool fourteen_rows_double() { return fourteen_rows_are_exact<double>(); }

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <random>
#include <vector>

#include <tapegrad/autograd/internal/machine.h>
#include <tapegrad/autograd/kernels/family.h>
#include <tapegrad/tests/support/near.h>

namespace tapegrad {
namespace {

HWY_EXPORT(elementary_float);
HWY_EXPORT(elementary_double);
HWY_EXPORT(of_two_floats);
HWY_EXPORT(of_two_doubles);
HWY_EXPORT(float_powers);
HWY_EXPORT(float_logarithms);
HWY_EXPORT(parts_float);
HWY_EXPORT(parts_double);
HWY_EXPORT(fourteen_rows_float);
HWY_EXPORT(fourteen_rows_double);

// ---- Elementary functions ----

// The distance in units of the last place of the exact value; NaN, infinities and the signs of zeros must agree.
template <class T>
double ulps(T y, long double exact) {
  const T rounded = static_cast<T>(exact);
  if (std::isnan(rounded) || std::isnan(y)) return std::isnan(rounded) && std::isnan(y) ? 0 : 1e9;
  if (rounded == y && std::signbit(rounded) == std::signbit(y)) return 0;
  const T finite = std::clamp(y, std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max());
  if (std::isinf(y) && !std::isinf(rounded) && std::fabs(rounded) < std::numeric_limits<T>::max()) return 1e9;
  if (y == 0 && rounded == 0) return 1e9;
  int exponent = 0;
  std::frexp(std::isinf(rounded) ? std::numeric_limits<T>::max() : rounded, &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent) - std::numeric_limits<T>::digits;
  const long double target = std::isinf(rounded) ? std::copysign(std::numeric_limits<T>::max(), rounded) : exact;
  return static_cast<double>(std::fabs(static_cast<long double>(finite) - target) / std::ldexp(1.0L, exponent));
}

template <class T>
std::vector<T> interesting() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> x;
  for (T s :
       {T(0), Limits::infinity(), Limits::quiet_NaN(), Limits::denorm_min(), Limits::min(), Limits::max(),
        Limits::epsilon(), T(0.5), T(1), T(2), T(88.7), T(88.73), T(103), T(104), T(709.7), T(709.8), T(745), T(746)}) {
    x.push_back(s);
    x.push_back(-s);
  }
  std::mt19937_64 draw(1);
  for (int i = 0; i < 100000; ++i) {  // over fourteen powers of two around 1
    const double u = std::ldexp(static_cast<double>(draw() >> 11), -53);
    x.push_back(static_cast<T>(std::ldexp(2 * u - 1, static_cast<int>(draw() % 14) - 3)));
  }
  for (int i = 0; i < 30000; ++i) {  // any bits at all
    const uint64_t bits = draw();
    T value;
    std::memcpy(&value, &bits, sizeof value);
    x.push_back(value);
  }
  for (int i = 0; i < 30000; ++i) {  // about 1
    x.push_back(static_cast<T>(
        1 + std::ldexp(static_cast<double>(draw() >> 11) - 0x1p52, -52 - static_cast<int>(draw() % 20))));
  }
  return x;
}

template <class T>
void check_elementary(const auto* functions) {
  const std::vector<T> x = interesting<T>();
  std::vector<T> y(x.size());
  for (; std::get<2>(*functions); ++functions) {
    const auto& [row, function, exact] = *functions;
    row(static_cast<int64_t>(x.size()), x.data(), y.data());
    double worst = 0;
    T at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double u = ulps(y[i], exact(x[i]));
      if (u > worst) worst = u, at = x[i];
    }
    EXPECT_LE(worst, 3) << function << " at " << at << " in " << name(kernel_family());
  }
}

TEST(Simd, ElementaryFunctionsOfFloat) { check_elementary<float>(kernel_of(HWY_DISPATCH_TABLE(elementary_float))()); }
TEST(Simd, ElementaryFunctionsOfDouble) {
  check_elementary<double>(kernel_of(HWY_DISPATCH_TABLE(elementary_double))());
}

// atan2 to three units in the last place; fmod and remainder bit for bit.
template <class T, class F>
void check_of_two(const F& run) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> some;
  for (T s : {T(0), T(1), T(2), T(3), T(0.1), T(0.5), T(1e-3), T(7.5), T(1e10), Limits::denorm_min(), Limits::min(),
              Limits::max(), Limits::epsilon(), Limits::infinity(), Limits::quiet_NaN()})
    some.insert(some.end(), {s, -s});
  std::vector<T> a, b;
  for (T x : some)
    for (T y : some) a.push_back(x), b.push_back(y);
  const std::vector<T> more = interesting<T>();
  for (std::size_t i = 0; i < more.size(); ++i) a.push_back(more[i]), b.push_back(more[(i * 7 + 3) % more.size()]);
  for (int k = 1; k < 20000; ++k) a.push_back(static_cast<T>(k) * T(0.1)), b.push_back(T(0.1));  // near whole quotients
  std::vector<T> y(a.size());
  const auto has = [&](int function) { run(function, static_cast<int64_t>(a.size()), a.data(), b.data(), y.data()); };
  const auto same = [](T u, T v) { return u == v ? std::signbit(u) == std::signbit(v) : u != u && v != v; };
  has(0);
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    worst = std::max(worst, ulps(y[i], std::atan2(static_cast<long double>(a[i]), static_cast<long double>(b[i]))));
  EXPECT_LE(worst, 3);
  has(1);
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_TRUE(same(y[i], std::fmod(a[i], b[i]))) << "fmod " << a[i] << ", " << b[i] << ": " << y[i];
  has(2);
  for (std::size_t i = 0; i < a.size(); ++i) {
    T exact = std::fmod(a[i], b[i]);
    if (exact != 0 && (exact < 0) != (b[i] < 0)) exact += b[i];
    ASSERT_TRUE(same(y[i], exact)) << "remainder " << a[i] << ", " << b[i] << ": " << y[i];
  }
}

TEST(Simd, FunctionsOfTwoNumbers) {
  check_of_two<float>([](auto... args) { kernel_of(HWY_DISPATCH_TABLE(of_two_floats))(args...); });
  check_of_two<double>([](auto... args) { kernel_of(HWY_DISPATCH_TABLE(of_two_doubles))(args...); });
}

// Pairs of interesting numbers, powers that a float nearly or exactly holds, and those that end between two floats.
void add_powers(std::vector<float>& a, std::vector<float>& b) {
  const auto add = [&](double x, double y) { a.push_back(static_cast<float>(x)), b.push_back(static_cast<float>(y)); };
  const std::vector<float> some = interesting<float>();
  constexpr std::size_t kSpecial = 36;
  const std::vector<double> exponents{0.5, 1. / 3, 2, 3, 4, 5, -1, -2, 1.5, 16777215, 16777216, 16777217, 1e10, 149};
  for (std::size_t i = 0; i < kSpecial; ++i) {
    for (std::size_t j = 0; j < kSpecial; ++j) add(some[i], some[j]);
    for (const double y : exponents) add(some[i], y), add(some[i], -y), add(1 + some[i], y), add(y, some[i]);
  }
  for (std::size_t i = 0; i < some.size(); ++i)
    add(some[i], some[(i * 7 + 3) % some.size()]), add(-1 - static_cast<double>(i), 2);
  std::mt19937_64 draw(2);
  const auto unit = [&] { return std::ldexp(static_cast<double>(draw() >> 11), -53); };
  for (int i = 0; i < 400'000; ++i) {  // powers from the least float to the largest, and a little further
    const double x = std::ldexp(1 + unit(), static_cast<int>(draw() % 250) - 125);
    const double y = (240 * unit() - 150) / std::log2(x);
    add(draw() % 8 == 0 ? -x : x, draw() % 2 == 0 ? y : std::round(y));
    add(1 + std::ldexp(unit() - 0.5, -static_cast<int>(draw() % 20)),
        std::ldexp(unit(), static_cast<int>(draw() % 24)));
  }
}

TEST(Simd, PowersOfFloatsAreThoseOfScalars) {
  std::vector<float> a, b;
  add_powers(a, b);
  std::vector<float> expected(a.size()), y(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) expected[i] = fixed::pow(a[i], b[i]);
  const auto bits = [](float x) { return x == x ? std::bit_cast<uint32_t>(x) : 0x7fc00000u; };
  for (const KernelFamily family : available_kernel_families()) {
    kernel_of(HWY_DISPATCH_TABLE(float_powers), family)(static_cast<int64_t>(a.size()), a.data(), b.data(), y.data());
    for (std::size_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(bits(y[i]), bits(expected[i])) << a[i] << ", " << b[i] << ": " << y[i] << " in " << name(family);
  }
}

// Floats of all sizes and signs, and all those near 1.
TEST(Simd, LogarithmsOfFloatsAreThoseOfScalars) {
  std::vector<float> x{0.f, -0.f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::denorm_min()};
  for (uint64_t i = 0; i < uint64_t{1} << 32; i += 4099) x.push_back(std::bit_cast<float>(static_cast<uint32_t>(i)));
  for (uint32_t i = 0; i < 4096; ++i) x.push_back(std::bit_cast<float>(0x3f800000u - 2048 + i));
  std::vector<float> expected(x.size()), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) expected[i] = fixed::log(x[i]);
  const auto bits = [](float v) { return v == v ? std::bit_cast<uint32_t>(v) : 0x7fc00000u; };
  for (const KernelFamily family : available_kernel_families()) {
    kernel_of(HWY_DISPATCH_TABLE(float_logarithms), family)(static_cast<int64_t>(x.size()), x.data(), y.data());
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(bits(y[i]), bits(expected[i])) << x[i] << ": " << y[i] << " in " << name(family);
  }
}

TEST(Simd, FormulasReadAsOnScalars) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x{-3, -0.5f, 0, 0.5f, 3, nan, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, -19};
  std::vector<float> y(x.size());
  const auto* formulas = kernel_of(HWY_DISPATCH_TABLE(elementary_float))();
  while (std::get<2>(*formulas)) ++formulas;
  std::get<0>(formulas[0])(static_cast<int64_t>(x.size()), x.data(), y.data());
  for (size_t i = 0; i < x.size(); ++i) EXPECT_TRUE(y[i] == 1 - x[i] * x[i] || x[i] != x[i]);
  std::get<0>(formulas[1])(static_cast<int64_t>(x.size()), x.data(), y.data());
  EXPECT_EQ(y[0], -3);
  EXPECT_EQ(y[1], -1);
  EXPECT_EQ(y[3], 2);
  EXPECT_EQ(y[4], 3);
  EXPECT_TRUE(std::isnan(y[5]));
  EXPECT_EQ(y.back(), -19);
}

TEST(Simd, PartialVectorsAccessNothingElse) {
  EXPECT_TRUE(kernel_of(HWY_DISPATCH_TABLE(parts_float))());
  EXPECT_TRUE(kernel_of(HWY_DISPATCH_TABLE(parts_double))());
}

TEST(Blas, FourteenRowKernelWithAnyVectors) {
  EXPECT_TRUE(kernel_of(HWY_DISPATCH_TABLE(fourteen_rows_float))());
  EXPECT_TRUE(kernel_of(HWY_DISPATCH_TABLE(fourteen_rows_double))());
}

// ---- The family, and the machine ----

TEST(Kernels, TheFamilyIsOneThatTheProcessorRuns) {
  const std::vector<KernelFamily> available = available_kernel_families();
  EXPECT_EQ(available.front(), available.size() > 1 ? KernelFamily::portable : kernel_family());
  EXPECT_NE(std::find(available.begin(), available.end(), kernel_family()), available.end());
  if (const char* wanted = std::getenv("TAPEGRAD_KERNELS")) {
    EXPECT_EQ(name(kernel_family()), wanted);
  } else {
    EXPECT_EQ(kernel_family(), available.back());
  }
}

TEST(Kernels, TheFamilyIsOneThatTheBuildHas) {
  // Elsewhere there is one family, and so none to ask for in vain.
  if (!HWY_ARCH_X86) GTEST_SKIP() << "other processors have one family";
  using enum KernelFamily;
  using tests::error_of;
  const std::vector<KernelFamily> all{portable, avx2, avx512}, old{portable, avx2}, native{avx2}, none;
  EXPECT_EQ(detail::choose_family("", all, all), avx512);
  EXPECT_EQ(detail::choose_family("", all, old), avx2);
  EXPECT_EQ(detail::choose_family("portable", all, old), portable);
  EXPECT_EQ(detail::choose_family("", native, all), avx2);
  EXPECT_EQ(detail::choose_family("avx2", native, all), avx2);
  const std::string expected = "[kernels] expected TAPEGRAD_KERNELS to be one of ",
                    hint = "-D TAPEGRAD_TARGETS=all builds ";
  EXPECT_EQ(error_of([&] { detail::choose_family("avx512", all, old); }), expected + "portable, avx2, got \"avx512\"");
  EXPECT_EQ(
      error_of([&] { detail::choose_family("avx512", native, all); }),
      expected + "avx2, got \"avx512\", which this build lacks (" + hint + "the kernels of every instruction set)");
  EXPECT_EQ(error_of([&] { detail::choose_family("", {avx512}, old); }),
            "[kernels] expected a processor with avx512, got one with portable, avx2 (" + hint +
                "the kernels of every instruction set)");
  EXPECT_NE(error_of([&] { detail::choose_family("", all, none); }).find("expected a processor with x86-64-v2"),
            std::string::npos);
}

// The table of a kernel in which every family would be chosen by Highway.
TEST(Kernels, DoNotChangeHighwaysChoice) {
  const auto ours = kernel_of(HWY_DISPATCH_TABLE(parts_float));
  const int64_t supported = hwy::SupportedTargets();
  if (available_kernel_families().size() > 1) {
    EXPECT_NE(supported & (supported - 1), 0) << "only one target is left";
  }
  hwy::SetSupportedTargetsForTest(HWY_STATIC_TARGET);
  hwy::GetChosenTarget().Update(HWY_STATIC_TARGET);
  EXPECT_EQ(kernel_of(HWY_DISPATCH_TABLE(parts_float)), ours);
  hwy::SetSupportedTargetsForTest(0);
}

TEST(Machine, FiguresAreMeasured) {
  EXPECT_FALSE(processor_name().empty());
  EXPECT_GT(measure_fma_gflops(), 0);
  EXPECT_LT(measure_fma_gflops(), 1e5);
  EXPECT_GT(measure_matmul_gflops(64, 64, 64), 0);
  EXPECT_GT(measure_read_gb_s(), 0);
}

}  // namespace
}  // namespace tapegrad
#endif
