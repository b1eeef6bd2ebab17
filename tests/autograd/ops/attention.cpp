// Attention against its definition, the effect of its masks, and what it must not see: later positions of a cache, and
// NaN behind masks.
// ctest: families products
#include <tapegrad/autograd/kernels/family.h>
#include <tapegrad/autograd/ops/attention/detail/attention_call.h>
#include <tapegrad/autograd/ops/detail/matrices.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

struct AttentionShapes {
  Shape query, key, value;
};

// Of causal queries, which are the last of s positions, or the first if they are more.
Tensor later_keys(int64_t t, int64_t s) { return triu(ones({t, s}, kBool), 1 + std::max<int64_t>(0, s - t)); }

Tensor by_definition(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  Tensor scores = matmul(q, k.t()) * options.scale.value_or(1 / std::sqrt(static_cast<double>(q.size(-1))));
  if (options.mask.defined())
    scores = options.mask.dtype() == kBool ? masked_fill(scores, !options.mask, -kInf) : scores + options.mask;
  if (options.causal) scores = masked_fill(scores, later_keys(q.size(-2), k.size(-2)), -kInf);
  return matmul(softmax(scores, -1), v);
}

// The values and the gradients for query, key and value.
void expect_same_attention(const auto& ours, const auto& theirs, const std::vector<Tensor>& qkv) {
  const auto with_gradients = [&](const auto& f) {
    return value_and_gradients([&](auto& x) { return f(x[0], x[1], x[2]); }, qkv,
                               [](const Tensor& y) { return cos(y) - y * sin(y); });
  };
  const std::vector<Tensor> found = with_gradients(ours), expected = with_gradients(theirs);
  EXPECT_LT(largest_difference(found[0], expected[0]), 1e-13);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_LT(largest_difference(found[i], expected[i]), 1e-12) << i;
}

TEST(Attention, EqualsItsDefinitionWithGradients) {
  for (const AttentionShapes& c :
       std::vector<AttentionShapes>{{{5, 4}, {7, 4}, {7, 3}},
                                    {{2, 3, 6, 8}, {2, 3, 6, 8}, {2, 3, 6, 8}},
                                    {{2, 1, 33, 5}, {1, 3, 17, 5}, {17, 6}},
                                    {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
                                    {{4, 20, 32}, {4, 20, 32}, {4, 20, 32}},
                                    {{2, 150, 8}, {2, 300, 8}, {2, 300, 5}},  // several blocks of queries
                                    {{300, 6}, {130, 6}, {130, 6}},
                                    {{2, 3, 100, 4}, {2, 1, 600, 4}, {2, 1, 600, 5}},  // several blocks of keys
                                    {{600, 6}, {270, 6}, {270, 3}}}) {
    const Tensor allowed = normal_of({c.query[-2], c.key[-2]}, 9) > -0.8;
    for (const AttentionOptions& options : std::vector<AttentionOptions>{
             {}, {.mask = allowed}, {.mask = normal_of({1, c.key[-2]}, 4)}, {.causal = true}}) {
      SCOPED_TRACE(str(c.query) + str(c.key) + (options.mask.defined() ? name(options.mask.dtype()).data() : ""));
      expect_same_attention([&](auto&... x) { return scaled_dot_product_attention(x..., options); },
                            [&](auto&... x) { return by_definition(x..., options); },
                            {normal_of(c.query, 0), normal_of(c.key, 1), normal_of(c.value, 2)});
    }
  }
}

TEST(Attention, BackwardOfAHeadViewCopiesNothing) {
  const Tensor x = normal_of({2, 5, 12}, 0, kFloat32), heads = x.reshape({2, 5, 3, 4}).transpose(1, 2);
  const Tensor y = scaled_dot_product_attention(heads, heads, heads);
  EXPECT_EQ(str(y.shape()), "[2, 3, 5, 4]");
  EXPECT_TRUE(y.transpose(1, 2).is_contiguous());
}

TEST(Attention, WeightsAreThoseBeforeDropoutWhichDrawsOneNumberPerWeight) {
  const Tensor q = normal_of({2, 4, 4}, 0, kFloat32), k = normal_of({2, 4, 4}, 1, kFloat32), identity = eye(4);
  Generator generator(5), same(5);
  const auto [y, weights] =
      attention_with_weights(q, k, identity.expand({2, 4, 4}), {.dropout = 0.5, .generator = &generator});
  std::vector<uint8_t> keep(32);
  same.keep_mask(keep.data(), 32, 0.5);
  const std::vector<float> w = weights.to_vector<float>(), out = y.to_vector<float>();
  for (std::size_t i = 0; i < w.size(); ++i) EXPECT_FLOAT_EQ(out[i], keep[i] ? 2 * w[i] : 0.0f) << i;
  EXPECT_EQ(generator.random32(), same.random32());
}

void expect_dropout_by_definition(int64_t t, int64_t s) {
  for (const double p : {0.3, 1.0})
    for (const bool causal : {false, true}) {
      Generator generator(5), same(5);
      std::vector<uint8_t> keep(static_cast<std::size_t>(2 * t * s), 0);
      if (p < 1) same.keep_mask(keep.data(), 2 * t * s, 1 - p);
      const std::vector<double> factors(keep.begin(), keep.end());
      const Tensor factor = tensor(factors, {2, t, s}) / (p < 1 ? 1 - p : 1);
      expect_same_attention(
          [&](auto&... x) {
            return scaled_dot_product_attention(x..., {.causal = causal, .dropout = p, .generator = &generator});
          },
          [&](auto& q, auto& k, auto& v) {
            const Tensor scores = matmul(q, k.t()) / 2;
            return matmul(softmax(causal ? masked_fill(scores, later_keys(t, s), -kInf) : scores, -1) * factor, v);
          },
          {normal_of({2, t, 4}, 0), normal_of({2, s, 4}, 1), normal_of({2, s, 3}, 2)});
      EXPECT_EQ(generator.random32(), same.random32());
    }
}

// No multiples of 8: rows begin amid the bytes of the mask.
TEST(Attention, DropoutOverSeveralBlocksEqualsItsDefinition) {
  expect_dropout_by_definition(201, 203);
  expect_dropout_by_definition(135, 403);
}

// Of query 1, which sees nothing.
void expect_zeros_of_query_1(const Shape& lead, const Tensor& seen) {
  const int64_t t = seen.size(0), s = seen.size(1);
  const auto operand = [&](int64_t rows, uint64_t seed) {
    return normal_of(with_axes(lead, {rows, 4}), seed, kFloat32).as_leaf();
  };
  const Tensor q = operand(t, 0), k = operand(s, 1), v = operand(s, 2);
  for (const Tensor& mask : {seen, where(seen, zeros({t, s}), -kInf)}) {
    const Tensor expected = by_definition(q, k, v, {.mask = mask});
    Tape tape;
    tape.trap_nan();
    const Tensor y = scaled_dot_product_attention(q, k, v, {.mask = mask});
    EXPECT_EQ(amax(abs(y.detach().select(-2, 1))).item(), 0);
    EXPECT_LT(largest_difference(y.slice(-2, 2), expected.slice(-2, 2)), 1e-6);
    const Gradients grads = tape.backward(sum(y * y));
    EXPECT_EQ(amax(abs(grads[q].select(-2, 1))).item(), 0);
    for (const Tensor& x : {q, k, v}) EXPECT_TRUE(all_finite(grads[x]));
  }
}

TEST(Attention, AFullyMaskedQueryGivesZerosAndNoGradient) {
  expect_zeros_of_query_1({2}, tensor({{true, true, true}, {false, false, false}, {true, false, true}}));
  const Tensor row = arange(70).unsqueeze(1), column = arange(600).unsqueeze(0);
  expect_zeros_of_query_1({}, (row != 1) && ((row != 2) || (column >= 590)));  // query 2: nothing in the first blocks
}

TEST(Attention, KeepsNoWeights) {
  const int64_t length = 4096;  // whose weights would take 64 MB
  const int64_t before = pool::stats().reserved;
  const Tensor q = normal_of({length, 8}, 0, kFloat32).as_leaf();
  Tape().backward(sum(scaled_dot_product_attention(q, q, q, {.causal = true})));
  EXPECT_LT(pool::stats().reserved - before, int64_t{16} << 20);
}

// Views that a kernel makes for itself are not recorded.
TEST(Attention, RecordsItselfAloneWithAnyNumberOfThreads) {
  const Shape shape{8, 16, 128, 64};
  const Tensor q = normal_of(shape, 1, kFloat32).as_leaf(), k = normal_of(shape, 2, kFloat32).as_leaf();
  const Tensor weight = normal_of({8, 64}, 3, kFloat32).as_leaf(), bias = normal_of({8}, 4, kFloat32).as_leaf();
  const KeepThreads restore;
  for (int threads : {1, 2, 4}) {
    set_num_threads(threads);
    Tape tape;
    const Tensor y = scaled_dot_product_attention(q, k, k);
    EXPECT_EQ(tape.size(), 3);  // two leaves and the operation
    linear(y, weight, bias);
    EXPECT_EQ(tape.size(), 6);
  }
}

// --- many queries and keys ---

struct ManyKeys {
  Shape query, key, value;  // [..., T, D] [..., S, D] [..., S, E]
  DType dtype = kFloat32;
  DType mask = kInt64;  // or of this type, with a query that sees nothing
  bool causal = false;
  double scale = 0.3, dropout = 0;
  bool columns = false;  // contiguous columns instead of rows
};

Attention call_of(const ManyKeys& c) {
  const auto operand = [&](const Shape& shape, uint64_t seed) {
    const Tensor x = normal_of(shape, seed, c.dtype);
    return c.columns ? x.t().contiguous().t() : x;
  };
  Attention a;
  a.query = operand(c.query, 1);
  a.key = operand(c.key, 2);
  a.value = operand(c.value, 3);
  a.batch = broadcast("test", leading_axes(a.query), leading_axes(a.key));
  a.dtype = c.dtype;
  a.scale = c.scale;
  a.causal = c.causal;
  const Shape cells = with_axes(a.batch, {a.rows(), a.columns()});
  if (c.mask != kInt64) {
    const Tensor allowed =
        (normal_of({a.rows(), a.columns()}, 4, c.dtype) > -0.8) && (arange(a.rows()).unsqueeze(1) != 5);
    a.mask = c.mask == kBool ? allowed : where(allowed, normal_of(allowed.shape(), 5, c.dtype), -kInf);
    a.mask = a.mask.expand(cells);
  }
  if (c.dropout > 0) {
    Generator generator(6);
    a.keep = PackedDropoutMask(cells.numel(), 1 - c.dropout, generator);
    a.keep_probability = 1 - c.dropout;
  }
  return a;
}

TEST(AttentionByBlocks, HasTheBitsOfHeadByHead) {
  const Shape x{2, 300, 12}, v{2, 300, 6};
  const std::vector<ManyKeys> cases = {
      {.query = {2, 3, 700, 64}, .key = {2, 3, 700, 64}, .value = {2, 3, 700, 64}, .causal = true, .scale = 0.125},
      {.query = {2, 100, 16}, .key = {2, 600, 16}, .value = {2, 600, 20}},
      {.query = {600, 8}, .key = {270, 8}, .value = {270, 33}, .causal = true},
      {.query = {2, 77, 300}, .key = {2, 320, 300}, .value = {2, 320, 5}, .causal = true},  // several sums along D
      {.query = {2, 4, 300, 8}, .key = {2, 1, 300, 8}, .value = {2, 1, 300, 8}, .causal = true},
      {.query = {1, 3, 130, 12}, .key = {2, 1, 515, 12}, .value = {2, 1, 515, 6}, .mask = kBool, .dropout = 0.3},
      {.query = x, .key = x, .value = v, .mask = kFloat32, .causal = true},
      {.query = x, .key = x, .value = v, .causal = true, .scale = 20},  // tiny weights
      {.query = x, .key = x, .value = v, .causal = true, .dropout = 0.1, .columns = true},
      {.query = {80, 4}, .key = {5000, 4}, .value = {5000, 4}},
      {.query = x, .key = x, .value = v, .dtype = kFloat64, .causal = true, .scale = 60},
      {.query = {70, 12}, .key = {900, 12}, .value = {900, 6}, .dtype = kFloat64, .mask = kFloat64, .dropout = 0.3},
  };
  const KeepThreads restore;
  for (const ManyKeys& c : cases) {
    SCOPED_TRACE(str(c.query) + str(c.key) + str(c.value));
    const Attention a = call_of(c);
    ASSERT_TRUE(suits_blocks(a));
    const Shape shape = with_axes(a.batch, {a.rows(), a.value.size(-1)});
    const Tensor expected = Tensor::empty(shape, c.dtype), y = Tensor::empty(shape, c.dtype);
    set_num_threads(1);
    attention_by_heads(a, expected, Tensor());
    for (int threads : {1, 2, 3, 7}) {
      set_num_threads(threads);
      attention_by_blocks(a, y, Tensor::empty({2, a.heads(), a.rows()}, c.dtype));
      EXPECT_TRUE(same_bits(y, expected)) << threads << " threads";
    }
  }
}

// --- few queries and keys: one head in each lane ---

// The same values as x, but its rows are not contiguous: attention then takes head by head.
Tensor by_columns(const Tensor& x) { return x.t().contiguous().t(); }

struct FewKeys {
  Shape query, key, value;  // [B, H, T, D] [B, H, S, D] [B, H, S, E]
  Shape mask;               // or none
  bool bool_mask, causal;
  double dropout, scale = 0.3;
};

// y, dq, dk, dv of query, key and value as `given` lays them out.
std::vector<Tensor> attend(const FewKeys& c, const auto& given) {
  Generator generator(5);
  AttentionOptions options{.causal = c.causal, .dropout = c.dropout, .scale = c.scale, .generator = &generator};
  if (!c.mask.empty()) {
    options.mask = normal_of(c.mask, 4, kFloat32);
    if (c.bool_mask) options.mask = options.mask > 0.2;  // with queries that see no key
  }
  return value_and_gradients(
      [&](auto& x) { return scaled_dot_product_attention(given(x[0]), given(x[1]), given(x[2]), options); },
      {normal_of(c.query, 1, kFloat32), normal_of(c.key, 2, kFloat32), normal_of(c.value, 3, kFloat32)},
      [](const Tensor& y) { return normal_of(y.shape(), 6, kFloat32); });
}

TEST(AttentionInLanes, HasTheBitsOfHeadByHead) {
  const std::vector<FewKeys> cases = {
      {{3, 7, 4, 2}, {3, 7, 2, 2}, {3, 7, 2, 2}, {}, false, false, 0},
      {{3, 7, 5, 32}, {3, 7, 5, 32}, {3, 7, 5, 32}, {3, 1, 1, 5}, true, false, 0.1},
      {{3, 7, 5, 32}, {3, 7, 5, 32}, {3, 7, 5, 32}, {3, 1, 5, 5}, true, true, 0.1},
      {{3, 7, 20, 32}, {3, 7, 20, 32}, {3, 7, 20, 32}, {3, 7, 20, 20}, true, false, 0.1},
      {{3, 7, 9, 13}, {3, 7, 17, 13}, {3, 7, 17, 10}, {7, 9, 17}, false, false, 0.5},
      {{3, 7, 17, 13}, {3, 7, 9, 13}, {3, 7, 9, 16}, {1, 9}, false, true, 0},
      {{3, 7, 8, 16}, {3, 7, 16, 16}, {3, 7, 16, 16}, {}, false, true, 0.3},
      {{3, 7, 8, 16}, {3, 7, 37, 16}, {3, 7, 37, 16}, {}, false, false, 0, 20},  // weights that are denormal
      {{3, 7, 8, 16}, {3, 7, 19, 16}, {3, 7, 19, 16}, {3, 1, 8, 19}, false, true, 0.3},
      {{5, 4, 6, 8}, {1, 1, 6, 8}, {5, 1, 6, 8}, {}, false, false, 0},  // heads that share keys
  };
  const KeepThreads restore;
  for (const FewKeys& c : cases) {
    SCOPED_TRACE(str(c.query) + str(c.key) + str(c.mask));
    set_num_threads(1);
    const std::vector<Tensor> expected = attend(c, by_columns);
    for (int threads : {1, 2, 3, 7}) {
      set_num_threads(threads);
      const std::vector<Tensor> got = attend(c, [](const Tensor& x) { return x; });
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_TRUE(equal(got[i], expected[i])) << "result " << i << ", " << threads << " threads";
    }
  }
}

// What the test above compares: rows that are contiguous take the lanes, others do not.
TEST(AttentionInLanes, IsForManyHeadsWithFewKeys) {
  const auto suits = [](const Shape& query, const Shape& key, bool rows = true) {
    Attention a;
    a.query = normal_of(query, 1, kFloat32);
    a.key = a.value = normal_of(key, 2, kFloat32);
    if (!rows) a.query = by_columns(a.query);
    a.batch = leading_axes(a.query);
    return suits_lanes(a);
  };
  EXPECT_EQ(suits({3, 7, 5, 32}, {3, 7, 5, 32}), products() != Products::blis);
  EXPECT_EQ(suits({3, 7, 20, 32}, {3, 7, 20, 32}), products() != Products::blis);
  EXPECT_FALSE(suits({3, 7, 5, 32}, {3, 7, 5, 32}, false));
  EXPECT_FALSE(suits({3, 5, 5, 32}, {3, 5, 5, 32}));    // fewer heads than lanes
  EXPECT_FALSE(suits({3, 7, 3, 32}, {3, 7, 5, 32}));    // few enough rows for dot products
  EXPECT_FALSE(suits({3, 7, 64, 32}, {3, 7, 64, 32}));  // more than the cache
  EXPECT_FALSE(suits({5, 4, 6, 8}, {5, 1, 6, 8}));      // shared keys
}

// With more keys than queries, as from a cache, causal counts from the end: the last queries of all have the same bits.
TEST(Attention, CausalQueriesAreTheLastPositions) {
  for (const int64_t s : {9, 300}) {
    const auto of = [&](uint64_t seed) { return normal_of({16, s, 4}, seed).to(kFloat32); };
    const Tensor q = of(0), k = of(1), v = of(2), y = scaled_dot_product_attention(q, k, v, {.causal = true});
    for (const int64_t t : {int64_t{1}, int64_t{5}, s - 200}) {
      if (t < 1) continue;
      const Tensor last = q.slice(1, s - t), part = y.slice(1, s - t);
      EXPECT_TRUE(same_bits(scaled_dot_product_attention(last, k, v, {.causal = true}), part)) << t;
      EXPECT_TRUE(same_bits(attention_with_weights(last, k, v, {.causal = true}).first, part)) << t;
      const Tensor grouped =
          scaled_dot_product_attention(last, k.slice(0, 0, 4), v.slice(0, 0, 4), {.causal = true, .enable_gqa = true});
      const auto copied = [](const Tensor& x) { return repeat_interleave(x.slice(0, 0, 4), 4, 0); };
      expect_near(grouped, scaled_dot_product_attention(last, copied(k), copied(v), {.causal = true}));
    }
  }
}

// NaN and infinities that a mask hides have no influence on results or gradients; those that are seen do.
// Of some of y, dq, dk and dv: the last query may see the last key, and then all keys have its NaN.
void expect_hidden(const Shape& lead, int64_t t, int64_t s, const AttentionOptions& options, DType dtype = kFloat32) {
  const std::size_t results = options.mask.defined() ? 4 : 2;
  SCOPED_TRACE(str(lead) + " " + std::to_string(t) + " x " + std::to_string(s));
  const auto operand = [&](int64_t rows, int64_t width, uint64_t seed) {
    return normal_of(with_axes(lead, {rows, width}), seed).to(dtype);
  };
  const Tensor q = operand(t, 8, 1), k = operand(s, 8, 2), v = operand(s, 6, 3);
  const Tensor last = arange(s).unsqueeze(1) == s - 1, broken = where(arange(8) == 3, kNan, full({8}, kInf));
  const auto run = [&](const Tensor& keys, const Tensor& values, bool again, bool weights) {
    std::vector<Tensor> found = value_and_gradients(
        [&](auto& x) {
          const Tensor y = weights ? attention_with_weights(x[0], x[1], x[2], options).first
                                   : scaled_dot_product_attention(x[0], x[1], x[2], options);
          return y.slice(-2, 0, t - 1);
        },
        {q, keys, values}, [](const Tensor& y) { return full_like(y, 2); }, again);
    found[1] = found[1].slice(-2, 0, t - 1);
    return found;
  };
  const Tensor zero_k = masked_fill(k, last, 0), zero_v = masked_fill(v, last, 0);
  const Tensor bad_k = where(last, broken.to(dtype), k), bad_v = where(last, kNan, v);
  for (const bool again : {false, true})
    for (const bool weights : {false, true}) {
      const std::vector<Tensor> expected = run(zero_k, zero_v, again, weights);
      for (const auto& [keys, values] : {std::pair{bad_k, zero_v}, {zero_k, bad_v}, {bad_k, bad_v}}) {
        const std::vector<Tensor> found = run(keys, values, again, weights);
        for (std::size_t i = 0; i < results; ++i)
          EXPECT_LE(largest_difference(found[i], expected[i]), 1e-5) << i << again << weights;
      }
    }
  EXPECT_TRUE(all(isnan(scaled_dot_product_attention(q, bad_k, v).select(-2, 0))));
}

TEST(Attention, HiddenNanHasNoInfluence) {
  const double nothing = -kInf;
  for (const auto& [lead, t, s] : {std::tuple{Shape{2, 3}, 5, 7}, {Shape{20, 2}, 6, 9}, {Shape{2}, 70, 300}}) {
    const Tensor allowed = arange(s) < s - 1;
    for (const DType dtype : {kFloat32, kFloat64}) {
      expect_hidden(lead, t, s, {.mask = allowed}, dtype);
      expect_hidden(lead, t, s, {.mask = where(allowed, zeros({s}), nothing)}, dtype);
    }
    expect_hidden(lead, t, s, {.mask = allowed, .causal = true});
    expect_hidden(lead, s, s, {.causal = true});
    expect_hidden(lead, t, s, {.causal = true});
  }
  const Autocast autocast(kBFloat16);
  expect_hidden({2, 3}, 5, 7, {.mask = arange(7) < 6});
}

TEST(Attention, SeenNanSpreads) {
  const Tensor q = normal_of({1, 6, 4}, 1).to(kFloat32).as_leaf(), k = normal_of({1, 6, 4}, 2).to(kFloat32);
  const Tensor bad = where(arange(6).unsqueeze(1) == 3, kNan, k).as_leaf(),
               v = normal_of({1, 6, 4}, 3).to(kFloat32).as_leaf();
  Tape tape;
  const Tensor y = scaled_dot_product_attention(q, bad, v, {.causal = true});
  const Gradients g = tape.backward(sum(y));
  const Tensor late = (arange(6) >= 3).unsqueeze(1);
  for (const Tensor& x : {y.detach(), g[q]}) EXPECT_TRUE(all(isnan(x[0]) == late.expand({6, 4})));
  EXPECT_TRUE(all(isnan(g[bad])));
}

}  // namespace
}  // namespace tapegrad::tests
