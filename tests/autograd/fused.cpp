// The emulation of fused multiply-adds, which portable kernels use on processors without the instruction, against the
// instruction: on random bits, and where rounding twice would be wrong.
// build: -O1
#include <gtest/gtest.h>
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#if HWY_ARCH_X86
#include <tapegrad/autograd/kernels/simd/simd.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// For n a multiple of kLanes<T>.
template <class T>
void emulated_row(int64_t n, const T* a, const T* b, const T* c, T* y) {
  for (int64_t i = 0; i < n; i += kLanes<T>)
    store<T>(emulated_fused(load(a + i).raw, load(b + i).raw, load(c + i).raw), y + i);
}
template <class T>
void fused_row(int64_t n, const T* a, const T* b, const T* c, T* y) {
  for (int64_t i = 0; i < n; i += kLanes<T>) store(fma(load(a + i), load(b + i), load(c + i)), y + i);
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace tapegrad::tests {
namespace {

static_assert(HWY_TARGET == HWY_SSE4);

__attribute__((target("fma"))) float by_instruction(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
__attribute__((target("fma"))) double by_instruction(double a, double b, double c) { return __builtin_fma(a, b, c); }

// Draws arguments of one kind.
template <class T>
class Arguments3 {
 public:
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  static constexpr int kDigits = std::numeric_limits<T>::digits;
  static constexpr int kMost = std::numeric_limits<T>::max_exponent, kLeast = std::numeric_limits<T>::min_exponent;

  void any_bits(T& a, T& b, T& c) {
    a = std::bit_cast<T>(static_cast<Bits>(bits_()));
    b = std::bit_cast<T>(static_cast<Bits>(bits_()));
    c = std::bit_cast<T>(static_cast<Bits>(bits_()));
  }
  // c almost cancels the product.
  void cancelling(T& a, T& b, T& c) { a = number(-20, 20), b = number(-20, 20), c = near(-a * b); }
  // The product is half a unit of c's last place, or a little more or less.
  void halfway(T& a, T& b, T& c) {
    const int of_c = exponent(-40, 40), of_a = exponent(-40, 40);
    c = std::ldexp(number(0, 0), of_c);
    a = near(std::ldexp(T(1), of_a)), b = near(std::ldexp(sign(), of_c - kDigits - of_a));
  }
  // The result is a denormal number, or almost.
  void denormal(T& a, T& b, T& c) {
    const int of_a = exponent(kLeast / 2, kMost / 2), of_product = exponent(kLeast - 2 * kDigits, kLeast + 2);
    a = number(of_a, of_a), b = number(of_product - of_a, of_product - of_a), c = number(of_product, kLeast + 2);
  }
  // The result is about the largest number.
  void overflowing(T& a, T& b, T& c) {
    const int of_a = exponent(0, kMost - 1), of_b = kMost - 1 - of_a;
    a = number(of_a, of_a), b = number(of_b - 1, of_b), c = number(kMost - kDigits - 3, kMost - 1);
  }

 private:
  int exponent(int least, int most) {
    return least + static_cast<int>(bits_() % static_cast<uint64_t>(most - least + 1));
  }
  T sign() { return bits_() % 2 == 0 ? T(1) : T(-1); }
  T near(T x) { return std::bit_cast<T>(static_cast<Bits>(std::bit_cast<Bits>(x) + bits_() % 5 - 2)); }
  // Of random digits, many of them zeros at times: 1 <= |x| < 2, times two to a power in [least, most].
  T number(int least, int most) {
    const uint64_t digits = bits_() >> (64 - kDigits), kept = ~uint64_t{0} << bits_() % kDigits;
    const T x = static_cast<T>((digits | uint64_t{1} << (kDigits - 1)) & kept);
    return sign() * std::ldexp(x, exponent(least, most) - kDigits + 1);
  }
  std::mt19937_64 bits_{7};
};

template <class T>
void expect_the_instructions_bits(void (Arguments3<T>::*draw)(T&, T&, T&), double least_other) {
  constexpr int64_t kCount = 1 << 20;
  Arguments3<T> arguments;
  std::vector<T> a(kCount), b(kCount), c(kCount), emulated(kCount), fused(kCount);
  for (int64_t i = 0; i < kCount; ++i) (arguments.*draw)(a[i], b[i], c[i]);
  HWY_NAMESPACE::emulated_row(kCount, a.data(), b.data(), c.data(), emulated.data());
  HWY_NAMESPACE::fused_row(kCount, a.data(), b.data(), c.data(), fused.data());
  const auto same = [](T x, T y) {
    using Bits = typename Arguments3<T>::Bits;
    return std::bit_cast<Bits>(x) == std::bit_cast<Bits>(y) || (std::isnan(x) && std::isnan(y));
  };
  int64_t rounded_twice = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    const T expected = by_instruction(a[i], b[i], c[i]);
    ASSERT_TRUE(same(emulated[i], expected) && same(fused[i], expected))
        << std::hexfloat << a[i] << " * " << b[i] << " + " << c[i] << " is " << expected << ", emulated " << emulated[i]
        << ", fused " << fused[i];
    const T twice = static_cast<T>(static_cast<double>(a[i]) * static_cast<double>(b[i]) + static_cast<double>(c[i]));
    rounded_twice += !same(twice, expected);
  }
  EXPECT_GE(static_cast<double>(rounded_twice) / kCount, least_other);  // the arguments are hard ones
}

template <class T>
class Fused : public testing::Test {
 protected:
  // Skipped on processors without the instruction: there the emulation is what every family test runs.
  void SetUp() override {
    if (!detail::has_fma) GTEST_SKIP() << "there is no instruction to compare with";
  }
};
using Both = testing::Types<float, double>;
TYPED_TEST_SUITE(Fused, Both);

TYPED_TEST(Fused, EmulationHasTheInstructionsBits) {
  using Draws = Arguments3<TypeParam>;
  constexpr bool kFloat = sizeof(TypeParam) == 4;  // whose sums in double are seldom wrong
  expect_the_instructions_bits<TypeParam>(&Draws::any_bits, 0);
  expect_the_instructions_bits<TypeParam>(&Draws::cancelling, kFloat ? 0 : 0.2);
  expect_the_instructions_bits<TypeParam>(&Draws::halfway, kFloat ? 0.001 : 0.01);
  expect_the_instructions_bits<TypeParam>(&Draws::denormal, kFloat ? 0 : 0.01);
  expect_the_instructions_bits<TypeParam>(&Draws::overflowing, kFloat ? 0 : 0.01);
}

}  // namespace
}  // namespace tapegrad::tests
#else
// arm64: portable kernels run on x86-64 alone, so there is no emulation to test.
TEST(Fused, EmulationHasTheInstructionsBits) { GTEST_SKIP() << "every processor has the instruction"; }
#endif
