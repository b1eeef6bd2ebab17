// Attention against its definition, and the effect of its masks.
// ctest: families products
#include <tapegrad/autograd/kernels/family.h>
#include <tapegrad/autograd/ops/attention/detail/attention_call.h>
#include <tapegrad/autograd/ops/detail/matrices.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad {
namespace {

struct Case {
  Shape query, key, value;
};

Tensor normal(const Shape& shape, DType dtype, uint64_t seed) {
  Generator generator(seed);
  const Tensor x = Tensor::empty(shape, dtype);
  with_floating_type(dtype, [&](auto t) { generator.normal(x.mutable_data<decltype(t)>(), x.numel()); });
  return x;
}

// Of causal queries, which are the last of s positions, or the first if they are more.
Tensor later_keys(int64_t t, int64_t s) { return triu(ones({t, s}, kBool), 1 + std::max<int64_t>(0, s - t)); }

Tensor by_definition(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  const double nothing = -std::numeric_limits<double>::infinity();
  Tensor scores = matmul(q, k.t()) * options.scale.value_or(1 / std::sqrt(static_cast<double>(q.size(-1))));
  if (options.mask.defined()) {
    scores = options.mask.dtype() == kBool ? masked_fill(scores, !options.mask, nothing) : scores + options.mask;
  }
  if (options.causal) scores = masked_fill(scores, later_keys(q.size(-2), k.size(-2)), nothing);
  return matmul(softmax(scores, -1), v);
}

class AttentionOfShape : public testing::TestWithParam<Case> {};

TEST_P(AttentionOfShape, EqualsItsDefinitionWithGradients) {
  const Case& c = GetParam();
  const int64_t t = c.query[-2], s = c.key[-2];
  Generator generator(3);
  const Tensor allowed = normal({t, s}, kFloat64, 9) > -0.8;
  for (int form = 0; form < 4; ++form) {
    AttentionOptions options;
    if (form == 1) options.mask = allowed;
    if (form == 2) options.mask = normal({1, s}, kFloat64, 4);
    if (form == 3) options.causal = true;
    const Tensor q = normal(c.query, kFloat64, 0).as_leaf(), k = normal(c.key, kFloat64, 1).as_leaf();
    const Tensor v = normal(c.value, kFloat64, 2).as_leaf();
    Gradients ours, theirs;
    Tensor y, expected;
    {
      Tape tape;
      y = scaled_dot_product_attention(q, k, v, options);
      ours = tape.backward(sum(y * cos(y)));
    }
    {
      Tape tape;
      expected = by_definition(q, k, v, options);
      theirs = tape.backward(sum(expected * cos(expected)));
    }
    EXPECT_LT(tests::largest_difference(y, expected), 1e-13) << form;
    for (const Tensor& x : {q, k, v}) EXPECT_LT(tests::largest_difference(ours[x], theirs[x]), 1e-12) << form;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, AttentionOfShape,
                         testing::Values(Case{{5, 4}, {7, 4}, {7, 3}}, Case{{2, 3, 6, 8}, {2, 3, 6, 8}, {2, 3, 6, 8}},
                                         Case{{2, 1, 33, 5}, {1, 3, 17, 5}, {17, 6}},
                                         Case{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
                                         Case{{4, 20, 32}, {4, 20, 32}, {4, 20, 32}},
                                         Case{{2, 150, 8}, {2, 300, 8}, {2, 300, 5}},  // several blocks of queries
                                         Case{{300, 6}, {130, 6}, {130, 6}},
                                         // several blocks of keys
                                         Case{{2, 3, 100, 4}, {2, 1, 600, 4}, {2, 1, 600, 5}},
                                         Case{{600, 6}, {270, 6}, {270, 3}}));

TEST(Attention, BackwardOfAHeadViewCopiesNothing) {
  const Tensor x = normal({2, 5, 12}, kFloat32, 0);
  const Tensor heads = x.reshape({2, 5, 3, 4}).transpose(1, 2);
  const Tensor y = scaled_dot_product_attention(heads, heads, heads);
  EXPECT_EQ(str(y.shape()), "[2, 3, 5, 4]");
  EXPECT_TRUE(y.transpose(1, 2).is_contiguous());
}

TEST(Attention, LaterKeysHaveNoInfluence) {
  const Tensor q = normal({3, 9, 4}, kFloat32, 0), k = normal({3, 9, 4}, kFloat32, 1),
               v = normal({3, 9, 4}, kFloat32, 2);
  const Tensor other_k = cat({k.slice(1, 0, 5), normal({3, 4, 4}, kFloat32, 7)}, 1);
  const Tensor other_v = cat({v.slice(1, 0, 5), normal({3, 4, 4}, kFloat32, 8)}, 1);
  const AttentionOptions causal{.causal = true};
  const Tensor y = scaled_dot_product_attention(q, k, v, causal).slice(1, 0, 5);
  const Tensor other = scaled_dot_product_attention(q, other_k, other_v, causal).slice(1, 0, 5);
  EXPECT_EQ(y.to_vector<float>(), other.to_vector<float>());
}

TEST(Attention, AFullyMaskedQueryGivesZerosAndNoGradient) {
  const Tensor q = normal({2, 3, 4}, kFloat32, 0).as_leaf(), k = normal({2, 3, 4}, kFloat32, 1).as_leaf();
  const Tensor v = normal({2, 3, 4}, kFloat32, 2).as_leaf();
  const double nothing = -std::numeric_limits<double>::infinity();
  const Tensor hidden = tensor({{true, true, true}, {false, false, false}, {true, false, true}});
  for (const Tensor& mask : {hidden, where(hidden, zeros({3, 3}), nothing)}) {
    Tape tape;
    tape.trap_nan();
    const Tensor y = scaled_dot_product_attention(q, k, v, {.mask = mask});
    EXPECT_EQ(y.select(1, 1).to_vector<float>(), std::vector<float>(8, 0.0f));
    const Gradients grads = tape.backward(sum(y * y));
    EXPECT_EQ(grads[q].select(1, 1).to_vector<float>(), std::vector<float>(8, 0.0f));
    for (const Tensor& x : {q, k, v}) EXPECT_TRUE(all_finite(grads[x]));
  }
}

TEST(Attention, WeightsAreThoseBeforeDropoutWhichDrawsOneNumberPerWeight) {
  const Tensor q = normal({2, 4, 4}, kFloat32, 0), k = normal({2, 4, 4}, kFloat32, 1);
  const Tensor identity = eye(4);
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
  const Tensor q = normal({2, t, 4}, kFloat64, 0).as_leaf(), k = normal({2, s, 4}, kFloat64, 1).as_leaf();
  const Tensor v = normal({2, s, 3}, kFloat64, 2).as_leaf();
  for (const double p : {0.3, 1.0}) {
    for (const bool causal : {false, true}) {
      Generator generator(5), same(5);
      std::vector<uint8_t> keep(static_cast<std::size_t>(2 * t * s), 0);
      if (p < 1) same.keep_mask(keep.data(), 2 * t * s, 1 - p);
      const std::vector<double> factors(keep.begin(), keep.end());
      const Tensor factor = tensor(factors, {2, t, s}) / (p < 1 ? 1 - p : 1);
      Gradients ours, theirs;
      Tensor y, expected;
      {
        Tape tape;
        y = scaled_dot_product_attention(q, k, v, {.causal = causal, .dropout = p, .generator = &generator});
        ours = tape.backward(sum(y * cos(y)));
      }
      {
        Tape tape;
        Tensor scores = matmul(q, k.t()) / 2;
        if (causal) scores = masked_fill(scores, later_keys(t, s), -std::numeric_limits<double>::infinity());
        expected = matmul(softmax(scores, -1) * factor, v);
        theirs = tape.backward(sum(expected * cos(expected)));
      }
      EXPECT_LT(tests::largest_difference(y, expected), 1e-13);
      for (const Tensor& x : {q, k, v}) EXPECT_LT(tests::largest_difference(ours[x], theirs[x]), 1e-12);
      EXPECT_EQ(generator.random32(), same.random32());
    }
  }
}

// No multiples of 8: rows begin amid the bytes of the mask.
TEST(Attention, DropoutOverSeveralBlocksEqualsItsDefinition) {
  expect_dropout_by_definition(201, 203);
  expect_dropout_by_definition(135, 403);
}

TEST(Attention, AFullyMaskedQueryOfManyKeysGivesZerosAndNoGradient) {
  const int64_t t = 70, s = 600;
  const Tensor q = normal({t, 4}, kFloat32, 0).as_leaf(), k = normal({s, 4}, kFloat32, 1).as_leaf();
  const Tensor v = normal({s, 4}, kFloat32, 2).as_leaf();
  // Query 1 sees nothing, query 2 nothing in the first blocks of keys.
  const Tensor row = arange(t).unsqueeze(1), column = arange(s).unsqueeze(0);
  const Tensor seen = (row != 1) && ((row != 2) || (column >= 590));
  for (const Tensor& mask : {seen, where(seen, zeros({t, s}), -std::numeric_limits<double>::infinity())}) {
    const Tensor expected = by_definition(q, k, v, {.mask = mask});
    Tape tape;
    tape.trap_nan();
    const Tensor y = scaled_dot_product_attention(q, k, v, {.mask = mask});
    EXPECT_EQ(y.select(0, 1).to_vector<float>(), std::vector<float>(4, 0.0f));
    EXPECT_LT(tests::largest_difference(y.slice(0, 2), expected.slice(0, 2)), 1e-6);
    const Gradients grads = tape.backward(sum(y * y));
    EXPECT_EQ(grads[q].select(0, 1).to_vector<float>(), std::vector<float>(4, 0.0f));
    for (const Tensor& x : {q, k, v}) EXPECT_TRUE(all_finite(grads[x]));
  }
}

TEST(Attention, KeepsNoWeights) {
  const int64_t length = 4096;  // whose weights would take 64 MB
  const int64_t before = pool::stats().reserved;
  const Tensor q = normal({length, 8}, kFloat32, 0).as_leaf();
  Tape tape;
  tape.backward(sum(scaled_dot_product_attention(q, q, q, {.causal = true})));
  EXPECT_LT(pool::stats().reserved - before, int64_t{16} << 20);
}

// Views that a kernel makes for itself are not recorded.
TEST(Attention, RecordsItselfAloneWithAnyNumberOfThreads) {
  const Shape shape{8, 16, 128, 64};
  const Tensor q = normal(shape, kFloat32, 1).as_leaf(), k = normal(shape, kFloat32, 2).as_leaf();
  const Tensor weight = normal({8, 64}, kFloat32, 3).as_leaf(), bias = normal({8}, kFloat32, 4).as_leaf();
  const tests::KeepThreads restore;
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
    const Tensor x = normal(shape, c.dtype, seed);
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
    const Tensor allowed = (normal({a.rows(), a.columns()}, c.dtype, 4) > -0.8) && (arange(a.rows()).unsqueeze(1) != 5);
    const double nothing = -std::numeric_limits<double>::infinity();
    a.mask = c.mask == kBool ? allowed : where(allowed, normal(allowed.shape(), c.dtype, 5), nothing);
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
  const std::vector<ManyKeys> cases = {
      {.query = {2, 3, 700, 64}, .key = {2, 3, 700, 64}, .value = {2, 3, 700, 64}, .causal = true, .scale = 0.125},
      {.query = {2, 100, 16}, .key = {2, 600, 16}, .value = {2, 600, 20}},
      {.query = {600, 8}, .key = {270, 8}, .value = {270, 33}, .causal = true},
      {.query = {2, 77, 300}, .key = {2, 320, 300}, .value = {2, 320, 5}, .causal = true},  // several sums along D
      {.query = {2, 4, 300, 8}, .key = {2, 1, 300, 8}, .value = {2, 1, 300, 8}, .causal = true},
      {.query = {1, 3, 130, 12}, .key = {2, 1, 515, 12}, .value = {2, 1, 515, 6}, .mask = kBool, .dropout = 0.3},
      {.query = {2, 300, 12}, .key = {2, 300, 12}, .value = {2, 300, 6}, .mask = kFloat32, .causal = true},
      {.query = {2, 300, 12}, .key = {2, 300, 12}, .value = {2, 300, 6}, .causal = true, .scale = 20},  // tiny weights
      {.query = {2, 300, 12},
       .key = {2, 300, 12},
       .value = {2, 300, 6},
       .causal = true,
       .dropout = 0.1,
       .columns = true},
      {.query = {80, 4}, .key = {5000, 4}, .value = {5000, 4}},
      {.query = {2, 300, 12},
       .key = {2, 300, 12},
       .value = {2, 300, 6},
       .dtype = kFloat64,
       .causal = true,
       .scale = 60},
      {.query = {70, 12}, .key = {900, 12}, .value = {900, 6}, .dtype = kFloat64, .mask = kFloat64, .dropout = 0.3},
  };
  const tests::KeepThreads restore;
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
      EXPECT_TRUE(tests::same_bits(y, expected)) << threads << " threads";
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
template <class Layout>
std::vector<Tensor> attend(const FewKeys& c, const Layout& given) {
  const Tensor q = normal(c.query, kFloat32, 1).as_leaf(), k = normal(c.key, kFloat32, 2).as_leaf();
  const Tensor v = normal(c.value, kFloat32, 3).as_leaf();
  Generator generator(5);
  AttentionOptions options{.dropout = c.dropout};
  options.training = true;
  options.causal = c.causal;
  options.scale = c.scale;
  options.generator = &generator;
  if (!c.mask.empty()) {
    options.mask = normal(c.mask, kFloat32, 4);
    if (c.bool_mask) options.mask = options.mask > 0.2;  // with queries that see no key
  }
  Tape tape;
  const Tensor y = scaled_dot_product_attention(given(q), given(k), given(v), options);
  const Gradients grads = tape.backward(sum(y * normal(y.shape(), kFloat32, 6)));
  return {y.detach().contiguous(), grads[q], grads[k], grads[v]};
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
  const tests::KeepThreads restore;
  for (const FewKeys& c : cases) {
    SCOPED_TRACE(str(c.query) + str(c.key) + str(c.mask));
    set_num_threads(1);
    const std::vector<Tensor> expected = attend(c, by_columns);
    for (int threads : {1, 2, 3, 7}) {
      set_num_threads(threads);
      const std::vector<Tensor> got = attend(c, [](const Tensor& x) { return x; });
      for (std::size_t i = 0; i < got.size(); ++i) {
        EXPECT_TRUE(equal(got[i], expected[i])) << "result " << i << ", " << threads << " threads";
      }
    }
  }
}

// What the test above compares: rows that are contiguous take the lanes, others do not.
TEST(AttentionInLanes, IsForManyHeadsWithFewKeys) {
  const auto suits = [](const Shape& query, const Shape& key, bool rows = true) {
    Attention a;
    a.query = normal(query, kFloat32, 1);
    a.key = a.value = normal(key, kFloat32, 2);
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

}  // namespace
}  // namespace tapegrad
