// What attention must not see: later positions of a cache, and NaN behind masks.
// ctest: families products
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

Tensor hidden_normal(const Shape& shape, DType dtype, uint64_t seed) {
  Generator generator(seed);
  return randn(shape, kFloat64, &generator).to(dtype);
}

// With more keys than queries, as from a cache, causal counts from the end: the last queries of all have the same bits.
TEST(Attention, CausalQueriesAreTheLastPositions) {
  for (const int64_t s : {9, 300}) {
    const auto of = [&](uint64_t seed) { return hidden_normal({16, s, 4}, kFloat32, seed); };
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
  const auto shape_of = [&](int64_t rows, int64_t width) {
    Shape shape = lead;
    shape.push_back(rows);
    shape.push_back(width);
    return shape;
  };
  const auto operand = [&](int64_t rows, int64_t width, uint64_t seed) {
    return hidden_normal(shape_of(rows, width), dtype, seed);
  };
  const Tensor q = operand(t, 8, 1), k = operand(s, 8, 2), v = operand(s, 6, 3);
  const Tensor last = arange(s).unsqueeze(1) == s - 1, broken = where(arange(8) == 3, kNan, full({8}, kInf));
  const auto run = [&](const Tensor& keys, const Tensor& values, bool again, bool weights) {
    const Tensor a = q.as_leaf(), b = keys.as_leaf(), c = values.as_leaf();
    Tape tape;
    const Tensor y =
        weights ? attention_with_weights(a, b, c, options).first : scaled_dot_product_attention(a, b, c, options);
    const Gradients g = tape.backward(sum(y.slice(-2, 0, t - 1) * 2), {.create_graph = again});
    return std::vector<Tensor>{y.detach().slice(-2, 0, t - 1), g[a].detach().slice(-2, 0, t - 1), g[b].detach(),
                               g[c].detach()};
  };
  const Tensor zero_k = masked_fill(k, last, 0), zero_v = masked_fill(v, last, 0);
  const Tensor bad_k = where(last, broken.to(dtype), k), bad_v = where(last, kNan, v);
  for (const bool again : {false, true}) {
    for (const bool weights : {false, true}) {
      const std::vector<Tensor> expected = run(zero_k, zero_v, again, weights);
      for (const auto& [keys, values] : {std::pair{bad_k, zero_v}, {zero_k, bad_v}, {bad_k, bad_v}}) {
        const std::vector<Tensor> found = run(keys, values, again, weights);
        for (std::size_t i = 0; i < results; ++i)
          EXPECT_LE(largest_difference(found[i], expected[i]), 1e-5) << i << again << weights;
      }
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
  const Tensor q = hidden_normal({1, 6, 4}, kFloat32, 1).as_leaf(), k = hidden_normal({1, 6, 4}, kFloat32, 2);
  const Tensor bad = where(arange(6).unsqueeze(1) == 3, kNan, k).as_leaf(),
               v = hidden_normal({1, 6, 4}, kFloat32, 3).as_leaf();
  Tape tape;
  const Tensor y = scaled_dot_product_attention(q, bad, v, {.causal = true});
  const Gradients g = tape.backward(sum(y));
  const Tensor late = (arange(6) >= 3).unsqueeze(1);
  for (const Tensor& x : {y.detach(), g[q]}) EXPECT_TRUE(all(isnan(x[0]) == late.expand({6, 4})));
  EXPECT_TRUE(all(isnan(g[bad])));
}

}  // namespace
}  // namespace tapegrad::tests
