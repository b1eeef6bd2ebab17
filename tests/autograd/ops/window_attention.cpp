// Window attention against full attention with a mask, with gradients; its costs and draws.
#include <tapegrad/autograd/ops/detail/matrices.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

using Options = WindowAttentionOptions;

// The keys that queries see, [T, S], from the definition.
Tensor visible(int64_t queries, int64_t keys, const Options& options) {
  const Tensor mask = Tensor::empty({queries, keys}, kBool);
  const auto is_global = [&](int64_t p) {
    return std::find(options.global_tokens.begin(), options.global_tokens.end(), p) != options.global_tokens.end();
  };
  for (int64_t t = 0; t < queries; ++t)
    for (int64_t s = 0; s < keys; ++s) {
      const int64_t p = keys - queries + t;
      bool seen = is_global(s) || is_global(p);
      for (int64_t j = -options.window; j <= options.window; ++j) seen = seen || s == p + j * options.dilation;
      mask.mutable_data<bool>()[t * keys + s] = seen && (!options.causal || s <= p);
    }
  return mask;
}

Tensor by_mask(const Tensor& q, const Tensor& k, const Tensor& v, const Options& options) {
  Tensor mask = visible(q.size(-2), k.size(-2), options);
  if (options.mask.defined()) mask = mask && options.mask;
  return scaled_dot_product_attention(q, k, v, {.mask = mask, .scale = options.scale});
}

// y, dq, dk and dv.
std::vector<Tensor> run(const auto& f, const Tensor& q, const Tensor& k, const Tensor& v) {
  return value_and_gradients([&](auto& x) { return f(x[0], x[1], x[2]); }, {q, k, v},
                             [](const Tensor& y) { return normal_of(y.shape(), 77, y.dtype()); });
}

void expect_same(const std::vector<Tensor>& a, const std::vector<Tensor>& b, double room, const std::string& what) {
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_LE(largest_difference(a[i], b[i]), room) << what << ", " << i;
}

// With `options`, and by full attention behind a mask.
void expect_full_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Options& options, double room,
                           const std::string& what) {
  const auto window = [&](auto&... x) { return sliding_window_attention(x..., options); };
  const auto full = [&](auto&... x) { return by_mask(x..., options); };
  expect_same(run(window, q, k, v), run(full, q, k, v), room, what);
}

struct WindowCase {
  std::string name;
  int64_t queries, keys;
  Options options;
};

std::vector<WindowCase> cases() {
  std::vector<WindowCase> all;
  for (const bool causal : {false, true}) {
    const std::string suffix = causal ? ", causal" : "";
    const auto add = [&](const std::string& name, int64_t t, int64_t s, Options options) {
      options.causal = causal;
      all.push_back({name + suffix, t, s, options});
    };
    add("narrow", 50, 50, {.window = 3});
    add("the token alone", 20, 20, {.window = 0});
    add("several blocks", 200, 200, {.window = 40});
    add("wide blocks", 300, 300, {.window = 130});
    add("several pieces", 1100, 1100, {.window = 5});
    add("all but one key", 33, 33, {.window = 31});
    add("all keys", 33, 33, {.window = 32});
    add("dilated", 101, 101, {.window = 4, .dilation = 3});
    add("dilated beyond the input", 20, 20, {.window = 4, .dilation = 30});
    add("global tokens", 150, 150, {.window = 4, .global_tokens = {0, 1, 70, 149}});
    add("dilated with global tokens", 90, 90, {.window = 2, .dilation = 4, .global_tokens = {0, 13, 40}});
    add("many global tokens", 80, 80,
        {.window = 1, .global_tokens = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 20}});
    add("only global tokens", 3, 3, {.window = 0, .global_tokens = {0, 1, 2}});
    add("one query", 1, 40, {.window = 6});
    add("last queries", 7, 60, {.window = 9, .dilation = 2, .global_tokens = {0, 2, 55}});
    add("last queries, all keys", 7, 60, {.window = 100});
    add("scale", 40, 40, {.window = 3, .scale = 0.3});
  }
  return all;
}

TEST(WindowAttention, EqualsFullAttentionBehindAMask) {
  for (const WindowCase& c : cases())
    for (const Shape& lead : {Shape{}, Shape{2, 3}}) {
      const Tensor q = normal_of(with_axes(lead, {c.queries, 8}), 1), k = normal_of(with_axes(lead, {c.keys, 8}), 2);
      const Tensor v = normal_of(with_axes(lead, {c.keys, 5}), 3);
      expect_full_attention(q, k, v, c.options, 1e-10, c.name);
      expect_full_attention(q.to(kFloat32), k.to(kFloat32), v.to(kFloat32), c.options, 1e-4, c.name + ", float32");
    }
}

TEST(WindowAttention, TakesMasksAndBroadcasts) {
  for (const WindowCase& c : cases()) {
    const Tensor q = normal_of({2, 3, c.queries, 4}, 1), k = normal_of({2, 1, c.keys, 4}, 2),
                 v = normal_of({c.keys, 4}, 3);
    for (const Shape& shape : {Shape{2, 1, 1, c.keys}, Shape{2, 3, c.queries, c.keys}, Shape{c.queries, c.keys}}) {
      Options options = c.options;
      options.mask = normal_of(shape, 5) > -0.7;
      expect_full_attention(q, k, v, options, 1e-10, c.name);
    }
  }
}

TEST(WindowAttention, GivesZerosWhereNothingIsSeen) {
  const Tensor x = normal_of({1, 40, 4}, 1);
  const Options options{.window = 2, .global_tokens = {3}, .mask = zeros({1, 40}, kBool)};
  const auto window = [&](auto&... of) { return sliding_window_attention(of..., options); };
  for (const Tensor& t : run(window, x, x, x)) EXPECT_EQ(amax(abs(t)).item(), 0);
}

TEST(WindowAttention, HiddenNanHasNoInfluence) {
  for (const WindowCase& c : cases()) {
    const Tensor q = normal_of({2, c.queries, 8}, 1), k = normal_of({2, c.keys, 8}, 2),
                 v = normal_of({2, c.keys, 5}, 3);
    const Tensor bad = arange(c.keys) == c.keys / 2;
    Options options = c.options;
    options.mask = !bad;
    const auto window = [&](auto&... x) { return sliding_window_attention(x..., options); };
    const Tensor rows = bad.unsqueeze(1);
    expect_same(run(window, q, masked_fill(k, rows, kNan), masked_fill(v, rows, kInf)),
                run(window, q, masked_fill(k, rows, 0), masked_fill(v, rows, 0)), 1e-12, c.name);
  }
  // Those that are not in the window are not seen, either.
  const Tensor x = normal_of({40, 4}, 1), broken = masked_fill(x, (arange(40) == 20).unsqueeze(1), kNan);
  const Tensor y = sliding_window_attention(x, broken, broken, {.window = 3});
  const Tensor seen = (abs(arange(40) - 20) <= 3).unsqueeze(1).expand({40, 4});
  EXPECT_TRUE(all(isnan(y) == seen));
}

TEST(WindowAttention, OfAllKeysHasTheBitsOfFullAttention) {
  const Tensor q = normal_of({2, 70, 8}, 1, kFloat32), k = normal_of({2, 70, 8}, 2, kFloat32);
  const Tensor v = normal_of({2, 70, 8}, 3, kFloat32);
  for (const bool causal : {false, true}) {
    Generator first(5), second(5);
    const Tensor window = sliding_window_attention(
        q, k, v, {.window = 69, .causal = causal, .global_tokens = {0, 4}, .dropout = 0.2, .generator = &first});
    const Tensor full = scaled_dot_product_attention(q, k, v, {.causal = causal, .dropout = 0.2, .generator = &second});
    EXPECT_TRUE(equal(window, full));
    const Tensor last = q.slice(1, 40);  // of 70 positions
    EXPECT_TRUE(equal(sliding_window_attention(last, k, v, {.window = 69, .causal = causal}),
                      scaled_dot_product_attention(last, k, v, {.causal = causal})));
  }
}

// The weights after dropout are the results for values that are the identity.
TEST(WindowAttention, DropsAsDocumented) {
  const int64_t t = 6, window = 1;
  const Tensor x = normal_of({t, 3}, 1), identity = eye(t, kFloat64);
  const Options options{.window = window, .global_tokens = {4}};
  const Tensor w = sliding_window_attention(x, x, identity, options);
  Generator ours(3), theirs(3);
  Options dropping = options;
  dropping.dropout = 0.4;
  dropping.generator = &ours;
  const Tensor dropped = sliding_window_attention(x, x, identity, dropping);
  const int64_t slots = 2 * window + 1, draws = slots + 1;
  const Tensor kept = dropout(ones({t * draws + t}, kFloat64), 0.4, true, &theirs);
  const auto factor = [&](int64_t i) { return kept.to_vector<double>()[static_cast<std::size_t>(i)]; };
  for (int64_t q = 0; q < t; ++q)
    for (int64_t s = 0; s < t; ++s) {
      double expected = 0;
      if (q == 4) {
        expected = factor(t * draws + s);
      } else if (s >= q - 1 && s <= q + 1) {
        expected = factor(q * draws + s - q + 1);
      } else if (s == 4) {
        expected = factor(q * draws + slots);
      }
      EXPECT_NEAR(dropped[q][s].item(), w[q][s].item() * expected, 1e-12) << q << ", " << s;
    }
  EXPECT_EQ(ours.random64(), theirs.random64());
  dropping.training = false;
  EXPECT_TRUE(equal(sliding_window_attention(x, x, identity, dropping), w));
}

TEST(WindowAttention, HasNoScoresOfAllPairs) {
  const int64_t length = 30'000;  // 3.6 GB for the scores of a head
  const Tensor x = zeros({1, 2, length, 16});
  const int64_t before = pool::stats().reserved;
  const auto window = [](auto&... of) {
    return sliding_window_attention(of..., {.window = 16, .global_tokens = {0}, .dropout = 0.1});
  };
  run(window, x, x, x);
  EXPECT_LT(pool::stats().reserved - before, int64_t{100} << 20);
}

}  // namespace
}  // namespace tapegrad::tests
