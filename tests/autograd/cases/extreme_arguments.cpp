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

// extreme_arguments.txt has a call per line (tests/support/call_text.h), in which A and B are integers.
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
  static const Pattern kA("\\bA\\b"), kB("\\bB\\b");
  std::ifstream file(std::string(kTestsDir) + "/autograd/cases/extreme_arguments.txt");
  for (std::string line; std::getline(file, line);)
    calls.emplace_back(
        [line](N a, N b) { called(kB.replaced(kA.replaced(line, std::to_string(a)), std::to_string(b))); });
  EXPECT_GT(calls.size(), 100U);
  try_pairs(calls, kIntegers);
}

TEST(ExtremeArguments, OfNumbers) {
  using V = double;
  const Tensor i = ids({kMin, kMax, -1, 0, 5}), b = i > 0, x = tensor({-1.5, 0., 2., 1e300, -1e-310}, kFloat32);
  const Tensor wide = x.to(kFloat64), rows = ones({2, 4}), logits = zeros({1, 3});
  // clang-format off
  std::vector<TypedCall<V>> calls = {
      [](V v, V w) { arange(v, w, 0x1p58); },
      [](V v, V w) { arange(0, v, w); },
      [](V v, V w) { arange(v, v + 3, w, kFloat32); },
      [](V v, V w) { linspace(v, w, 5); },
      [](V v, V w) { histogram(ones({3}), 4, std::pair{v, w}); },
      [](V v, V) { full({2}, v, kInt64); },
      [](V v, V) { full({2}, v, kBool); },
      [](V v, V w) { tensor({v, w}, kFloat64).to(kInt64); },
      [](V v, V w) { tensor({v, w}, kFloat64).to(kFloat32).to(kInt64); },
      [](V v, V w) { tensor({v, w}, kFloat64).to(kBFloat16).to(kFloat32); },
      [](V v, V w) { tensor({v, w}, kInt64); },
      [](V v, V w) { uniform({3}, v, w); },
      [](V v, V w) { normal({3}, v, w); },
      [](V v, V) { exponential({3}, v); },
      [](V v, V w) { truncated_normal({3}, 0, 1, v, w); },
      [](V v, V) { bernoulli(full({2}, v)); },
      [](V v, V w) { multinomial(tensor({v, w}, kFloat64), 1); },
      [&](V v, V) { dropout(x, v); },
      [&](V v, V w) { layer_norm(rows * v, {}, {}, w); },
      [&](V v, V w) { rms_norm(rows * v, ones({4}), w); },
      [&](V v, V w) { group_norm(rows.reshape({1, 2, 4}) * v, 1, {}, {}, w); },
      [&](V v, V w) { batch_norm_training(rows * v, {}, {}, w); },
      [&](V v, V w) { var(wide, {}, false, v + w); },
      [&](V v, V w) { norm(wide * v, w); },
      [&](V v, V w) { normalize(rows * v, w); },
      [&](V v, V w) { pairwise_distance(rows, rows * v, w); },
      [&](V v, V w) { cosine_similarity(rows, rows * v, 1, w); },
      [&](V v, V w) { scaled_dot_product_attention(rows, rows, rows, {.dropout = v, .scale = w}); },
      [&](V v, V) { interpolate(ones({1, 1, 5}), {.scale_factor = v}); },
      [&](V v, V w) { softplus(x, v, w); },
      [&](V v, V) { elu(x, v); },
      [&](V v, V) { leaky_relu(x, v); },
      [&](V v, V w) { hardtanh(x, v, w); },
      [&](V v, V w) { nan_to_num(x, v, w, v); },
      [&](V v, V w) { isclose(i, i, v, w); },
      [&](V v, V w) { isclose(x, wide, v, w); },
      [&](V v, V) { cross_entropy(logits + v, ids({0}), {.label_smoothing = v}); },
      [&](V v, V w) { linear_cross_entropy(logits + v, logits * w, ids({0}), {.label_smoothing = v}); },
      [&](V v, V w) { huber_loss(rows * v, rows, {.delta = w}); },
      [&](V v, V w) { smooth_l1_loss(rows * v, rows, {.beta = w}); },
      [&](V v, V w) { gaussian_nll_loss(rows * v, rows, rows * w); },
      [&](V v, V w) { binary_cross_entropy(rows * v, rows * w); },
      [&](V v, V w) { pinv(rows * v, w); },
      [&](V v, V w) { cdist(rows * v, rows, w); },
      [&](V v, V) { quantile(wide, v); },
      [&](V v, V w) { addmm(rows, ones({2, 2}), rows, {.beta = v, .alpha = w}); },
  };
  // clang-format on
  for (const Tensor& operand : {i, b, x, wide}) {
    calls.emplace_back([operand](V v, V) { operand + v; });
    calls.emplace_back([operand](V v, V) { v - operand; });
    calls.emplace_back([operand](V v, V) { operand* v; });
    calls.emplace_back([operand](V v, V) { operand / v; });
    calls.emplace_back([operand](V v, V) { v / operand; });
    calls.emplace_back([operand](V v, V) { operand < v; });
    calls.emplace_back([operand](V v, V) { operand == v; });
    calls.emplace_back([operand](V v, V) { maximum(operand, v); });
    calls.emplace_back([operand](V v, V) { masked_fill(operand, operand == operand, v); });
    calls.emplace_back([operand](V v, V) { where(operand == operand, v, operand); });
    calls.emplace_back([operand](V v, V) { scatter(operand, 0, ids({0}), v); });
    calls.emplace_back([operand](V v, V) { index_fill(operand, 0, ids({0}), v); });
    calls.emplace_back([operand](V v, V) { index_add(operand, 0, ids({0}), narrow(operand, 0, 0, 1), v); });
    calls.emplace_back([operand](V v, V) { slice_update(operand, {0}, v); });
    calls.emplace_back([operand](V v, V) { pad(operand, {1, 1}, PadMode::constant, v); });
    if (operand.dtype() == kBool) continue;
    calls.emplace_back([operand](V v, V) { pow(operand, v); });
    calls.emplace_back([operand](V v, V) { fmod(operand, v); });
    calls.emplace_back([operand](V v, V) { remainder(operand, v); });
    calls.emplace_back([operand](V v, V) { floor_divide(operand, v); });
    calls.emplace_back([operand](V v, V) { div(operand, v, Rounding::trunc); });
    calls.emplace_back([operand](V v, V) { addcmul(operand, operand, operand, v); });
    calls.emplace_back([operand](V v, V w) { clamp(operand, v, w); });
    if (is_floating(operand.dtype())) calls.emplace_back([operand](V v, V) { lerp(operand, operand, v); });
  }
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
