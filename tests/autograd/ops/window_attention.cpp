// Window attention against full attention with a mask, with gradients; its costs, draws and errors.
#include <gtest/gtest.h>
#include <tapegrad/autograd/gradcheck.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/autograd/pool.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/autograd/window_attention.h>
#include <tapegrad/tests/support/near.h>
#include <tapegrad/tests/support/threads.h>

#include <algorithm>
#include <cstring>

namespace tapegrad::tests {
namespace {

using Options = WindowAttentionOptions;

Tensor normal(const Shape& shape, uint64_t seed, DType dtype = kFloat64) {
  Generator generator(seed);
  return randn(shape, dtype, &generator);
}

// The keys that queries see, [T, S], from the definition.
Tensor visible(int64_t queries, int64_t keys, const Options& options) {
  const Tensor mask = Tensor::empty({queries, keys}, kBool);
  const auto is_global = [&](int64_t p) {
    return std::find(options.global_tokens.begin(), options.global_tokens.end(), p) != options.global_tokens.end();
  };
  for (int64_t t = 0; t < queries; ++t) {
    for (int64_t s = 0; s < keys; ++s) {
      const int64_t p = keys - queries + t;
      bool seen = is_global(s) || is_global(p);
      for (int64_t j = -options.window; j <= options.window; ++j) seen = seen || s == p + j * options.dilation;
      mask.mutable_data<bool>()[t * keys + s] = seen && (!options.causal || s <= p);
    }
  }
  return mask;
}

Tensor by_mask(const Tensor& q, const Tensor& k, const Tensor& v, const Options& options) {
  Tensor mask = visible(q.size(-2), k.size(-2), options);
  if (options.mask.defined()) mask = mask && options.mask;
  return scaled_dot_product_attention(q, k, v, {.mask = mask, .scale = options.scale});
}

struct Result {
  Tensor y, dq, dk, dv;
};
template <class F>
Result run(const F& f, const Tensor& q, const Tensor& k, const Tensor& v) {
  const Tensor leaves[] = {q.detach().as_leaf(), k.detach().as_leaf(), v.detach().as_leaf()};
  Tape tape;
  const Tensor y = f(leaves[0], leaves[1], leaves[2]);
  const Tensor dy = normal(y.shape(), 77, y.dtype());
  const Gradients grads = tape.backward(sum(y * dy));
  return {y.detach(), grads[leaves[0]], grads[leaves[1]], grads[leaves[2]]};
}

void expect_same(const Result& a, const Result& b, double room, const std::string& what) {
  EXPECT_LE(tests::largest_difference(a.y, b.y), room) << what;
  EXPECT_LE(tests::largest_difference(a.dq, b.dq), room) << what;
  EXPECT_LE(tests::largest_difference(a.dk, b.dk), room) << what;
  EXPECT_LE(tests::largest_difference(a.dv, b.dv), room) << what;
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
  for (const WindowCase& c : cases()) {
    for (const Shape& lead : {Shape{}, Shape{2, 3}}) {
      const auto shaped = [&](int64_t rows, int64_t columns) {
        Shape shape = lead;
        shape.push_back(rows);
        shape.push_back(columns);
        return shape;
      };
      const Tensor q = normal(shaped(c.queries, 8), 1), k = normal(shaped(c.keys, 8), 2);
      const Tensor v = normal(shaped(c.keys, 5), 3);
      const auto window = [&](const Tensor& a, const Tensor& b, const Tensor& e) {
        return sliding_window_attention(a, b, e, c.options);
      };
      const auto full = [&](const Tensor& a, const Tensor& b, const Tensor& e) { return by_mask(a, b, e, c.options); };
      expect_same(run(window, q, k, v), run(full, q, k, v), 1e-10, c.name);
      const auto f32 = [](const Tensor& x) { return x.to(kFloat32); };
      expect_same(run(window, f32(q), f32(k), f32(v)), run(full, f32(q), f32(k), f32(v)), 1e-4, c.name + ", float32");
    }
  }
}

TEST(WindowAttention, TakesMasksAndBroadcasts) {
  for (const WindowCase& c : cases()) {
    const Tensor q = normal({2, 3, c.queries, 4}, 1), k = normal({2, 1, c.keys, 4}, 2), v = normal({c.keys, 4}, 3);
    for (const Shape& shape : {Shape{2, 1, 1, c.keys}, Shape{2, 3, c.queries, c.keys}, Shape{c.queries, c.keys}}) {
      Options options = c.options;
      options.mask = normal(shape, 5) > -0.7;
      const auto window = [&](const Tensor& a, const Tensor& b, const Tensor& e) {
        return sliding_window_attention(a, b, e, options);
      };
      const auto full = [&](const Tensor& a, const Tensor& b, const Tensor& e) { return by_mask(a, b, e, options); };
      expect_same(run(window, q, k, v), run(full, q, k, v), 1e-10, c.name);
    }
  }
}

TEST(WindowAttention, GivesZerosWhereNothingIsSeen) {
  const Tensor x = normal({1, 40, 4}, 1);
  const Options options{.window = 2, .global_tokens = {3}, .mask = zeros({1, 40}, kBool)};
  const auto window = [&](const Tensor& a, const Tensor& b, const Tensor& e) {
    return sliding_window_attention(a, b, e, options);
  };
  const Result result = run(window, x, x, x);
  for (const Tensor& t : {result.y, result.dq, result.dk, result.dv}) EXPECT_EQ(amax(abs(t)).item(), 0);
}

TEST(WindowAttention, HiddenNanHasNoInfluence) {
  for (const WindowCase& c : cases()) {
    const Tensor q = normal({2, c.queries, 8}, 1), k = normal({2, c.keys, 8}, 2), v = normal({2, c.keys, 5}, 3);
    const Tensor bad = arange(c.keys) == c.keys / 2;
    Options options = c.options;
    options.mask = !bad;
    const auto window = [&](const Tensor& a, const Tensor& b, const Tensor& e) {
      return sliding_window_attention(a, b, e, options);
    };
    const Tensor rows = bad.unsqueeze(1);
    const Result expected = run(window, q, masked_fill(k, rows, 0), masked_fill(v, rows, 0));
    const Result found = run(window, q, masked_fill(k, rows, tests::kNan), masked_fill(v, rows, tests::kInf));
    expect_same(found, expected, 1e-12, c.name);
  }
  // Those that are not in the window are not seen, either.
  const Tensor x = normal({40, 4}, 1), broken = masked_fill(x, (arange(40) == 20).unsqueeze(1), tests::kNan);
  const Tensor y = sliding_window_attention(x, broken, broken, {.window = 3});
  const Tensor seen = (abs(arange(40) - 20) <= 3).unsqueeze(1).expand({40, 4});
  EXPECT_TRUE(all(isnan(y) == seen));
}

TEST(WindowAttention, OfAllKeysHasTheBitsOfFullAttention) {
  const Tensor q = normal({2, 70, 8}, 1, kFloat32), k = normal({2, 70, 8}, 2, kFloat32);
  const Tensor v = normal({2, 70, 8}, 3, kFloat32);
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

TEST(WindowAttention, LaterTokensChangeNothingIfCausal) {
  const Options options{.window = 5, .dilation = 2, .causal = true, .global_tokens = {0, 30}};
  const Tensor x = normal({60, 4}, 1, kFloat32);
  Tensor changed = cat({x.slice(0, 0, 40), normal({20, 4}, 9, kFloat32)}, 0);
  const Tensor a = sliding_window_attention(x, x, x, options),
               b = sliding_window_attention(changed, changed, changed, options);
  EXPECT_TRUE(equal(a.slice(0, 0, 40), b.slice(0, 0, 40)));
  EXPECT_FALSE(equal(a, b));
}

TEST(WindowAttention, OneQueryAtATimeGivesTheSame) {
  const Options options{.window = 5, .dilation = 2, .causal = true, .global_tokens = {0, 1}};
  const Tensor x = normal({2, 40, 4}, 1), y = sliding_window_attention(x, x, x, options);
  for (int64_t t = 0; t < 40; ++t) {
    Options so_far = options;
    if (t == 0) so_far.global_tokens = {0};
    const Tensor keys = x.slice(1, 0, t + 1), one = sliding_window_attention(x.slice(1, t, t + 1), keys, keys, so_far);
    EXPECT_LE(tests::largest_difference(one, y.slice(1, t, t + 1)), 1e-12) << t;
  }
}

// The weights after dropout are the results for values that are the identity.
TEST(WindowAttention, DropsAsDocumented) {
  const int64_t t = 6, window = 1;
  const Tensor x = normal({t, 3}, 1), identity = eye(t, kFloat64);
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
  for (int64_t q = 0; q < t; ++q) {
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
  }
  EXPECT_EQ(ours.random64(), theirs.random64());
  dropping.training = false;
  EXPECT_TRUE(equal(sliding_window_attention(x, x, identity, dropping), w));
}

TEST(WindowAttention, IsTheSameBitsForAnyThreads) {
  const KeepThreads keep;
  const Tensor q = normal({2, 3000, 16}, 1, kFloat32), k = normal({2, 3000, 16}, 2, kFloat32);
  for (const bool causal : {false, true}) {
    for (const int64_t dilation : {1, 2}) {
      std::vector<Result> results;
      for (const int threads : {1, 2, 3, 7}) {
        set_num_threads(threads);
        Generator generator(1);
        const Options options{.window = 20,
                              .dilation = dilation,
                              .causal = causal,
                              .global_tokens = {0, 9, 2000},
                              .dropout = 0.1,
                              .generator = &generator};
        results.push_back(run([&](const Tensor& a, const Tensor& b,
                                  const Tensor& e) { return sliding_window_attention(a, b, e, options); },
                              q, k, q * k));
      }
      for (const Result& r : results) {
        EXPECT_TRUE(equal(r.y, results[0].y) && equal(r.dq, results[0].dq) && equal(r.dk, results[0].dk) &&
                    equal(r.dv, results[0].dv));
      }
    }
  }
}

TEST(WindowAttention, HasNoScoresOfAllPairs) {
  const int64_t length = 30'000;  // 3.6 GB for the scores of a head
  const Tensor x = zeros({1, 2, length, 16});
  const int64_t before = pool::stats().reserved;
  const auto window = [](const Tensor& a, const Tensor& b, const Tensor& e) {
    return sliding_window_attention(a, b, e, {.window = 16, .global_tokens = {0}, .dropout = 0.1});
  };
  run(window, x, x, x);
  EXPECT_LT(pool::stats().reserved - before, int64_t{100} << 20);
}

TEST(WindowAttention, SaysWhatIsWrong) {
  const Tensor x = zeros({2, 3}), doubles = zeros({2, 3}, kFloat64);
  const auto error = [&](const Options& options) {
    return error_of([&] { sliding_window_attention(x, x, x, options); });
  };
  EXPECT_EQ(error({.window = -1}), "[sliding_window_attention] expected window >= 0, got -1");
  EXPECT_EQ(error({.dilation = 0}), "[sliding_window_attention] expected dilation > 0, got 0");
  EXPECT_EQ(error({.global_tokens = {1, 0}}),
            "[sliding_window_attention] expected global tokens in ascending order from 0 to 1, got 0");
  EXPECT_EQ(error({.global_tokens = {2}}),
            "[sliding_window_attention] expected global tokens in ascending order from 0 to 1, got 2");
  EXPECT_EQ(error({.mask = x}),
            "[sliding_window_attention] expected a mask of bools (true: may be attended to), got float32");
  EXPECT_EQ(error({.mask = zeros({3, 3}, kBool)}),
            "[sliding_window_attention] expected a mask that broadcasts to the scores [2, 2], got [3, 3]");
  EXPECT_EQ(error({.dropout = 2}), "[sliding_window_attention] expected dropout in [0, 1], got 2");
  const auto of = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    return error_of([&] { sliding_window_attention(q, k, v); });
  };
  EXPECT_EQ(of(zeros({3, 3}), x, x),
            "[sliding_window_attention] expected at most as many queries as keys, got query [3, 3], key [2, 3], value "
            "[2, 3] (3 queries against 2 keys)");
  EXPECT_EQ(
      of(zeros({2, 4}), x, x),
      "[sliding_window_attention] expected query and key with the same last size, got query [2, 4], key [2, 3], value "
      "[2, 3] (4 against 3)");
  EXPECT_EQ(of(x, x, zeros({3, 3})),
            "[sliding_window_attention] expected as many values as keys, got query [2, 3], key [2, 3], value [3, 3] (2 "
            "keys against 3 values)");
  EXPECT_EQ(of(zeros({3}), x, x),
            "[sliding_window_attention] expected two axes or more for each ([..., T, D]), got query [3], key [2, 3], "
            "value [2, 3]");
  EXPECT_EQ(of(x, x, doubles),
            "[sliding_window_attention] expected operands of one type, float32 or float64, got float32 of shape [2, 3] "
            "and float32 of shape [2, 3] and float64 of shape [2, 3] (convert with to(kFloat32))");
}

}  // namespace
}  // namespace tapegrad::tests
