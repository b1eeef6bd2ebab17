// Every function with sizes, positions or numbers as arguments, on extreme ones: it returns, or throws an Error. Under
// the sanitizers (PRESET=asan) also: without undefined behaviour.
#include <gtest/gtest.h>
#include <tapegrad/autograd/convolution.h>
#include <tapegrad/autograd/internal/int8.h>
#include <tapegrad/autograd/linalg.h>
#include <tapegrad/autograd/long_attention.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/patches.h>
#include <tapegrad/autograd/pooling.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/autograd/recurrent.h>
#include <tapegrad/autograd/scan.h>
#include <tapegrad/autograd/segment.h>
#include <tapegrad/autograd/sets.h>
#include <tapegrad/autograd/window_attention.h>
#include <tapegrad/tests/support/near.h>

#include <limits>
#include <string>
#include <vector>

namespace tapegrad::tests {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max(), kMin = std::numeric_limits<int64_t>::min();
constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

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
    for (const T a : values) {
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
    }
    EXPECT_GT(here, 0) << "call " << i << " always throws, at last " << last;
    returned += here;
  }
  EXPECT_GT(returned, 500);
  EXPECT_GT(errors, 500);
}

Tensor ids(std::vector<int64_t> v) { return tensor(v, {static_cast<int64_t>(v.size())}); }

TEST(ExtremeArguments, OfShapes) {
  using N = int64_t;
  const Tensor x = ones({2, 3}), line = arange(6), none = zeros({0, 5});
  // clang-format off
  try_pairs<N>({
                   [](N a, N b) { arange(static_cast<double>(a), static_cast<double>(b), 1e18); },
                   [](N a, N) { arange(a); },
                   [](N a, N) { linspace(0, 1, a); },
                   [](N a, N) { eye(a); },
                   [](N a, N b) { Tensor::empty({a, b}); },
                   [](N a, N b) { full({0, a}, static_cast<double>(b), kInt64); },
                   [](N a, N b) { tensor({{a, b}, {b, a}}); },
                   [](N a, N b) { ones({1}).expand({a, b}); },
                   [&](N a, N b) { line.reshape({a, b}); },
                   [&](N a, N b) { none.reshape({a, b}); },
                   [&](N a, N b) { unflatten(line, 0, {a, b}); },
                   [&](N a, N b) { line.slice(0, a, b); },
                   [&](N a, N b) { line.slice(0, a, kAll, b); },
                   [&](N a, N b) { line.slice(0, kAll, a, b); },
                   [&](N a, N b) { slice_update(line, {{a, b, 2}}, 7.); },
                   [&](N a, N b) { x.select(a, b); },
                   [&](N a, N b) { narrow(line, 0, a, b); },
                   [&](N a, N b) { x.permute({a, b}); },
                   [&](N a, N b) { x.transpose(a, b); },
                   [&](N a, N b) { x.flatten(a, b); },
                   [&](N a, N) { x.unsqueeze(0).squeeze(a); },
                   [&](N a, N) { x.unsqueeze(a); },
                   [&](N a, N b) { movedim(x, {a}, {b}); },
                   [&](N a, N b) { diagonal(x, a, b, 0); },
                   [&](N a, N) { diag_embed(line, a); },
                   [&](N a, N) { diag(x, a); },
                   [&](N a, N) { tril(x, a); },
                   [&](N a, N) { triu(x, a); },
                   [&](N a, N b) { unfold(line, 0, a, b); },
                   [&](N a, N b) { repeat(x, {a, b}); },
                   [&](N a, N b) { repeat(none, {a, b}); },
                   [&](N a, N b) { tile(none, {a, b}); },
                   [&](N a, N b) { repeat_interleave(x, a, b); },
                   [&](N a, N b) { repeat_interleave(none, a, b); },
                   [&](N a, N b) { repeat_interleave(arange(2), ids({a, b})); },
                   [&](N a, N b) { roll(x, a, b); },
                   [&](N a, N b) { roll(x, {a, b}, {0, 1}); },
                   [&](N a, N b) { pad(line, {a, b}); },
                   [&](N a, N b) { pad(x, {a, b, b, a}, PadMode::reflect); },
                   [&](N a, N b) { pad(x, {a, b}, PadMode::replicate); },
                   [&](N a, N b) { pad(x, {a, b}, PadMode::circular); },
                   [&](N a, N b) { split(line, a, b); },
                   [&](N a, N b) { split(line, std::vector<N>{a, b}); },
                   [&](N a, N b) { chunk(x, a, b); },
                   [&](N a, N b) { chunk(none, a, b); },
                   [&](N a, N) { cat({x, x}, a); },
                   [&](N a, N) { stack({x, x}, a); },
                   [&](N a, N b) { sum(x, {a, b}); },
                   [&](N a, N) { cumsum(x, a); },
                   [&](N a, N) { softmax(x, a); },
                   [&](N a, N b) { topk(line, a, b); },
                   [&](N a, N) { sort(x, a); },
                   [&](N a, N) { unbind(x, a); },
                   [&](N a, N) { cross(x, x, a); },
                   [&](N a, N) { quantile(x, 0.5, a); },
                   [&](N a, N b) { tensordot(x, x, {a}, {b}); },
                   [&](N a, N) { tensordot(x, x.t(), a); },
                   [&](N a, N) { matrix_power(ones({2, 2}), a); },
                   [&](N a, N) { one_hot(ids({0}), a); },
               },
               kIntegers);
}

TEST(ExtremeArguments, OfIndicesAndLayers) {
  using N = int64_t;
  // clang-format on
  const Tensor line = arange(6), x = ones({3, 2}), signal = ones({1, 2, 5}), image = ones({1, 2, 4, 4});
  const Tensor kernel = ones({2, 2, 3}), rows = randn({8, 4}), logits = zeros({2, 3});
  const Int8Matrix int8 = quantize_int8(x);
  try_pairs<N>(
      {
          [&](N a, N b) {
            index_select(line, 0, ids({a, b}));
          },
          [&](N a, N b) {
            gather(line, 0, ids({a, b}));
          },
          [&](N a, N b) {
            take_along_axis(line, ids({a, b}));
          },
          [&](N a, N b) {
            index(x, {ids({a}), ids({b})});
          },
          [&](N a, N b) { scatter(line, 0, ids({a}), ids({b})); },
          [&](N a, N b) {
            scatter_add(line, 0, ids({3, a}), ids({b, b}));
          },
          [&](N a, N b) {
            index_add(line, 0, ids({a, a}), ids({b, b}));
          },
          [&](N a, N b) { index_copy(line, 0, ids({a}), ids({b})); },
          [&](N a, N b) {
            index_put(line, {ids({a, a})}, ids({b, b}), true);
          },
          [&](N a, N b) { index_fill(line, 0, ids({a}), static_cast<double>(b)); },
          [&](N a, N b) {
            segment_max(x, ids({0, a, 1}), b);
          },
          [&](N a, N b) {
            segment_softmax(ones({2}), ids({a, 0}), b);
          },
          [&](N a, N) { linear_scan(x, x, a); },
          [&](N a, N b) {
            bincount(ids({a, 0}), b);
          },
          [&](N a, N b) {
            searchsorted(ids({0, a}), ids({b}));
          },
          [&](N a, N) { argsort(x, a); },
          [&](N a, N) { histogram(x, a); },
          [&](N a, N b) { embedding(x, ids({a}), b); },
          [&](N a, N b) { embedding(int8, a, ids({b})); },
          [&](N a, N) { dequantize_int8(int8, a); },
          [&](N a, N b) { randint(a, b, {3}); },
          [&](N a, N) { randperm(a); },
          [&](N a, N b) { multinomial(ones({5}), a, b > 0); },
          [&](N a, N b) { conv1d(signal, kernel, {}, {.stride = a, .padding = b}); },
          [&](N a, N b) { conv1d(signal, kernel, {}, {.dilation = a, .groups = b}); },
          [&](N a, N b) { conv1d(signal, kernel, {}, {.padding = Padding::same, .dilation = a, .groups = b}); },
          [&](N a, N b) {
            conv2d(image, ones({2, 2, 2, 2}), {}, {.padding = {a, b}, .padding_mode = PadMode::circular});
          },
          [&](N a, N b) { conv_transpose1d(signal, kernel, {}, {.stride = a, .padding = b}); },
          [&](N a, N b) { conv_transpose1d(signal, kernel, {}, {.output_padding = a, .dilation = b}); },
          [&](N a, N b) { max_pool1d(signal, a, {.padding = b}); },
          [&](N a, N b) { max_pool1d(signal, 2, {.stride = a, .dilation = b, .ceil_mode = true}); },
          [&](N a, N b) {
            max_pool2d(image, {a, b});
          },
          [&](N a, N b) { avg_pool1d(signal, a, {.padding = b}); },
          [&](N a, N b) { avg_pool1d(signal, 2, {.stride = a, .ceil_mode = true, .divisor_override = b}); },
          [&](N a, N) { adaptive_avg_pool1d(signal, a); },
          [&](N a, N b) {
            adaptive_max_pool2d(image, {a, b});
          },
          [&](N a, N) { interpolate(signal, {.size = a}); },
          [&](N a, N b) { unfold2d(image, 2, {.dilation = a, .padding = b}); },
          [&](N a, N b) {
            unfold2d(image, {a, b}, {.stride = b});
          },
          [&](N a, N b) {
            fold2d(ones({1, 4, 1}), {a, b}, 2, {.stride = 3});
          },
          [&](N a, N b) {
            pixel_shuffle(ones({9, 1, 1}), b < 0 ? a : b);
          },
          [&](N a, N b) {
            channel_shuffle(pixel_unshuffle(ones({1, 6, 6, 6}), a), b);
          },
          [&](N a, N b) { sliding_window_attention(rows, rows, rows, {.window = a, .dilation = b}); },
          [&](N a, N b) {
            sliding_window_attention(rows, rows, rows, {.window = 1, .global_tokens = {a, b}});
          },
          [&](N a, N b) {
            lsh_attention(rows, rows, rows, ids({a, b, 0, 1, a, b, 0, 1}).unsqueeze(0), {.chunk_length = 2});
          },
          [&](N a, N) {
            lsh_attention(rows, rows, rows, zeros({1, 8}, kInt64), {.chunk_length = a});
          },
          [&](N a, N b) {
            lstm_layer(randn({2, 2, 3}), {randn({16, 3}), randn({16, 4})}, {}, {}, {.lengths = ids({a, b})});
          },
          [&](N a, N) {
            group_norm(ones({2, 4, 3}), a);
          },
          [&](N a, N b) {
            ctc_loss(zeros({3, 2, 4}), ids({1, 2, 3, a}).reshape({2, 2}), ids({b, 3}), ids({2, 2}));
          },
          [&](N a, N b) {
            ctc_loss(zeros({3, 2, 4}), ids({1, 2, 3}), ids({3, 3}), ids({a, b}));
          },
          [&](N a, N) {
            ctc_loss(zeros({3, 2, 4}), ids({1, 2}), ids({3, 3}), ids({1, 1}), {.blank = a});
          },
          [&](N a, N b) {
            cross_entropy(logits, ids({a, 1}), {.ignore_index = b});
          },
          [&](N a, N b) {
            linear_cross_entropy(logits, logits, ids({a, 1}), {.ignore_index = b});
          },
          [&](N a, N b) {
            nll_loss(logits, ids({a, 1}), {.ignore_index = b});
          },
          [&](N a, N b) {
            multi_margin_loss(logits, ids({a, b}));
          },
      },
      kIntegers);
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
      {"[arange] expected values that int64 can hold, got 9.2e+18 to 9.4e+18 in steps of 1e+17",
       [] { arange(9.2e18, 9.4e18, 1e17); }},
      {"[chunk] expected at most 16777216 pieces, got 2147483648",
       [] {
         chunk(zeros({5, 0}), int64_t{1} << 31, 1);
       }},
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
  EXPECT_EQ(arange(-0x1p63, 0x1p63, 0x1p62).to_vector<int64_t>(),
            (std::vector<int64_t>{kMin, kMin / 2, 0, -(kMin / 2)}));
  EXPECT_EQ(pad(ids({1, 2}), {kMax, -kMax}).to_vector<int64_t>(), (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(pad(ids({1, 2}), {-kMax, kMax}).to_vector<int64_t>(), (std::vector<int64_t>{0, 0}));
}

}  // namespace
}  // namespace tapegrad::tests
