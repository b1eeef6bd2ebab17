// Every function with sizes, positions or numbers as arguments, on extreme ones: it returns, or throws an Error. Under
// the sanitizers (PRESET=asan) also: without undefined behaviour.
#include <tapegrad/autograd/internal/int8.h>
#include <tapegrad/tests/support/call_text.h>
#include <tapegrad/tests/support/patterns.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

// Small ones, and those that overflow when they are added, multiplied or negated. None is a size that a machine could
// just hold.
const std::vector<int64_t> kIntegers = {
    kMin, kMin + 1, -(int64_t{1} << 53) - 1, -2, -1, 0, 1, 3, (int64_t{1} << 53) + 1, int64_t{1} << 62, kMax - 1, kMax};
const std::vector<double> kNumbers = {kNan, kInf, -kInf, 1e300, -1e300, 1e-310,  0,
                                      -0.0, 1,    -1,    0.5,   0x1p63, -0x1p63, 0x1p53};

template <class T>
using TypedCall = std::function<void(T, T)>;

template <class T>
void try_pairs(const std::vector<TypedCall<T>>& calls, const std::vector<T>& values) {
  int returned = 0, errors = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    int here = 0;
    std::string last;
    for (const T a : values)
      for (const T b : values) {
        try {
          calls[i](a, b);
          ++here;
        } catch (const Error& error) {
          ++errors;
          last = error.what();
          EXPECT_EQ(error.what()[0], '[') << "call " << i << ": " << error.what();
        } catch (const std::exception& other) {
          ADD_FAILURE() << "call " << i << " with " << a << " and " << b << " throws " << other.what();
        }
      }
    EXPECT_GT(here, 0) << "call " << i << " always throws, at last " << last;
    returned += here;
  }
  EXPECT_GT(returned, 500);
  EXPECT_GT(errors, 500);
}

Tensor ids(std::vector<int64_t> v) { return tensor(v, {static_cast<int64_t>(v.size())}); }

// Adds the calls in the lines of a file (tests/support/call_text.h), in which A and B are the arguments. X is a vector
// of each type, Y one that is not bool, F one of floats.
template <class T>
void add_calls(std::vector<TypedCall<T>>& calls, const std::string& file) {
  static const Pattern kA("\\bA\\b"), kB("\\bB\\b"), kVector("\\b[XYF]\\b");
  const std::vector<std::string> vectors = {"[-1.5, 0, 2, inf, -0.0]", "[-1.5, 0, 2, inf, -0.0] as float64",
                                            "[-9223372036854775808, 9223372036854775807, -1, 0, 5]",
                                            "[false, true, false, false, true]"};
  std::ifstream lines(std::string(kTestsDir) + "/autograd/cases/" + file);
  for (std::string line; std::getline(lines, line);) {
    const Match of = kVector.first(line);
    const std::size_t count = of.empty() ? 1 : of[0] == "F" ? 2 : of[0] == "Y" ? 3 : 4;
    for (std::size_t i = 0; i < count; ++i)
      calls.emplace_back([call = kVector.replaced(line, vectors[i])](T a, T b) {
        const auto text = [](T x) { return std::isfinite(x) ? Json(x).dump() : fmt::format("{}", x); };
        called(kB.replaced(kA.replaced(call, text(a)), text(b)));
      });
  }
}

TEST(ExtremeArguments, OfIntegers) {
  using N = int64_t;
  const Tensor x = ones({3, 2});
  const Int8Matrix int8 = quantize_int8(x);
  std::vector<TypedCall<N>> calls{
      [](N a, N b) {
        Tensor::empty({a, b});
      },
      [](N a, N b) {
        tensor({{a, b}, {b, a}});
      },
      [&](N a, N b) { embedding(int8, a, ids({b})); },
      [&](N a, N) { dequantize_int8(int8, a); },
      [](N a, N b) { randint(a, b, {3}); },
      [](N a, N) { randperm(a); },
      [](N a, N b) { multinomial(ones({5}), a, b > 0); },
      [](N a, N b) {
        pixel_shuffle(ones({9, 1, 1}), b < 0 ? a : b);
      },
      [](N a, N b) {
        channel_shuffle(pixel_unshuffle(ones({1, 6, 6, 6}), a), b);
      },
      [](N a, N b) {
        lstm_layer(randn({2, 2, 3}), {randn({16, 3}), randn({16, 4})}, {}, {}, {.lengths = ids({a, b})});
      },
  };
  add_calls(calls, "extreme_arguments.txt");
  EXPECT_GT(calls.size(), 100U);
  try_pairs(calls, kIntegers);
}

TEST(ExtremeArguments, OfNumbers) {
  using V = double;
  std::vector<TypedCall<V>> calls = {
      [](V v, V w) {
        tensor({v, w}, kInt64);
      },
      [](V v, V w) { uniform({3}, v, w); },
      [](V v, V w) { normal({3}, v, w); },
      [](V v, V) { exponential({3}, v); },
      [](V v, V w) { truncated_normal({3}, 0, 1, v, w); },
      [](V v, V) { bernoulli(full({2}, v)); },
      [](V v, V w) {
        multinomial(tensor({v, w}, kFloat64), 1);
      },
  };
  add_calls(calls, "extreme_numbers.txt");
  EXPECT_GT(calls.size(), 120U);
  try_pairs(calls, kNumbers);
}

TEST(ExtremeArguments, ErrorTexts) {
  expect_texts({
      {"[chunk] expected at most 16777216 pieces, got 1099511627776",
       [] { chunk(ones({1}).expand({int64_t{1} << 40}), kMax); }},
      {"[split] expected at most 16777216 pieces, got 1099511627776",
       [] { split(ones({1}).expand({int64_t{1} << 40}), 1); }},
      {"[conv_transpose1d] expected an axis of at most 2^60 elements, got 4503599627370496 with a stride of 2147483647",
       [] {
         conv_transpose1d(ones({1}).expand({1, 1, int64_t{1} << 52}), ones({1, 1, 1}), {}, {.stride = INT32_MAX});
       }},
      {"[repeat_interleave] expected at most 2^53 elements along axis 1, got 9223372036854775807 copies of 5",
       [] {
         repeat_interleave(zeros({0, 5}), kMax, 1);
       }},
  });
}

}  // namespace
}  // namespace tapegrad::tests
