// Self-attention with masks, caches and grouped queries; additive attention against PyTorch.
// ctest: families products
#include <tapegrad/tests/support/long_inputs.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

TEST(SelfAttention, AMaskIsAddedToTheCausalMask) {
  manual_seed(6);
  const nn::MultiHeadSelfAttention attention({.d_in = 3, .d_out = 4, .num_heads = 2});
  const Tensor x = randn({2, 4, 3});
  const Tensor mask = nn::padding_mask(tensor({{7, 7, 7, 7}, {0, 7, 7, 0}}));
  Tensor weights;
  attention(x, {.mask = mask, .weights = &weights});
  EXPECT_EQ(amax(weights * (!mask).to(kFloat32)).item(), 0);
  EXPECT_EQ(amax(triu(weights, 1)).item(), 0);
  expect_near(sum(weights[0], -1), std::vector<double>(8, 1));
  EXPECT_EQ(amax(weights[1].select(1, 0)).item(), 0);  // the first word is fully masked: no NaN
}

TEST(SelfAttention, CachedEqualsUncachedWithAMask) {
  manual_seed(8);
  nn::MultiHeadSelfAttention attention({.d_in = 3, .d_out = 4, .num_heads = 2, .context_length = 5});
  nn::to(attention, kFloat64);
  const Tensor x = randn({2, 5, 3}).to(kFloat64);
  const Tensor padding = nn::padding_mask(tensor({{7, 0, 7, 7, 7}, {7, 7, 7, 0, 7}}));
  const Tensor added = where(padding, zeros({1}, kFloat64), -2.5);
  for (const Tensor& mask : {Tensor(), padding, added}) {
    nn::KVCache cache;
    expect_same_from_a_cache(attention, x, mask, {2, 2, 1}, cache);
    EXPECT_ERROR(attention(narrow(x, 1, 0, 1), {.cache = &cache}));
  }
}

TEST(SelfAttention, Errors) {
  EXPECT_ERROR(nn::MultiHeadSelfAttention({.d_out = 5, .num_heads = 2}));
  EXPECT_ERROR(nn::MultiHeadSelfAttention({.num_heads = 0}));
  EXPECT_ERROR(nn::MultiHeadSelfAttention({.d_in = -1}));
  EXPECT_ERROR(nn::MultiHeadSelfAttention({.dropout = 2}));
  EXPECT_ERROR(nn::MultiHeadSelfAttention({.context_length = -5}));
  EXPECT_ERROR(nn::MultiHeadSelfAttention({.d_in = 4, .d_out = 4, .num_heads = 2})(ones({1, 6, 3})));
}

// --- grouped queries ---

// [B, heads, S, D] from fewer heads, each repeated once per query head that shares it.
Tensor repeated(const Tensor& x, int64_t times) { return repeat_interleave(x, times, 1); }

TEST(GroupedQueries, EqualAttentionWithRepeatedHeads) {
  manual_seed(3);
  for (const auto& [queries, dtype] : {std::pair{4, kFloat64}, {1, kFloat32}}) {
    const auto some = [&dtype = dtype](const Shape& shape) { return randn(shape).to(dtype); };
    const Tensor q = some({2, 6, queries, 3}), k = some({2, 2, 5, 3}), v = some({2, 2, 5, 4}),
                 dy = sin(some({2, 6, queries, 4}));
    const Tensor per_head = some({2, 6, queries, 5}), allowed = randn({2, 1, queries, 5}) > -0.5;
    for (const Tensor& mask :
         {Tensor(), per_head, per_head[0], per_head[0][0], per_head[0][0][0], allowed, allowed[0]}) {
      for (const bool causal : {false, true}) {
        const auto results = [&](auto f) { return value_and_gradients(f, {q, k, v}, [&](const auto&) { return dy; }); };
        const auto ours = results([&](auto& x) {
          return scaled_dot_product_attention(x[0], x[1], x[2], {.mask = mask, .causal = causal, .enable_gqa = true});
        });
        const auto expected = results([&](auto& x) {
          return scaled_dot_product_attention(x[0], repeated(x[1], 3), repeated(x[2], 3),
                                              {.mask = mask, .causal = causal});
        });
        for (std::size_t i = 0; i < 4; ++i) expect_near(ours[i], expected[i]);
      }
      const auto [y, weights] = attention_with_weights(q, k, v, {.mask = mask, .enable_gqa = true});
      const auto [z, others] = attention_with_weights(q, repeated(k, 3), repeated(v, 3), {.mask = mask});
      expect_near(y, z);
      expect_near(weights, others);
    }
    expect_near(scaled_dot_product_attention(q, q, q, {.enable_gqa = true}), scaled_dot_product_attention(q, q, q));
  }
}

TEST(GroupedQueries, DoNotCopyKeys) {
  const Tensor q = randn({1, 8, 16, 4}), k = randn({1, 2, 16, 4});
  Tape tape;
  const Tensor leaf = k.as_leaf();
  scaled_dot_product_attention(q, leaf, leaf, {.enable_gqa = true});
  for (int64_t i = 0; i < tape.size(); ++i) {
    const std::string_view op = tape.op_name(i);
    EXPECT_TRUE(op == "leaf" || op == "reshape" || op == "expand" || op == "scaled_dot_product_attention") << op;
  }
}

// Per head of keys, a gradient has 1 MB: 16 of them, not the 128 of the query.
TEST(GroupedQueries, BackwardNeedsMemoryForTheirHeadsOnly) {
  const Tensor q = randn({1, 128, 4, 64}).as_leaf();
  const Tensor k = randn({1, 16, 4096, 64}).as_leaf(), v = randn({1, 16, 4096, 64}).as_leaf();
  const int64_t before = pool::stats().reserved;
  Tape().backward(sum(scaled_dot_product_attention(q, k, v, {.enable_gqa = true})));
  EXPECT_LT(pool::stats().reserved - before, 100 << 20);
}

// One head of keys for all: its gradient is a sum of several, so that there is work for several threads.
TEST(GroupedQueries, OneHeadOfKeysForManyQueries) {
  manual_seed(7);
  const Tensor q = randn({1, 24, 70, 16}).as_leaf(), k = randn({1, 1, 300, 16}).as_leaf();
  const Tensor v = randn({1, 1, 300, 16}).as_leaf();
  const auto grads_of = [&](const Tensor& keys, const Tensor& values) {
    return Tape().backward(sum(square(scaled_dot_product_attention(q, keys, values, {.causal = true}))));
  };
  expect_same_with_any_threads([&] {
    const Gradients grads = grads_of(k, v);
    return std::vector<Tensor>{grads[k], grads[v]};
  });
  Tape tape;
  const Gradients theirs =
      tape.backward(sum(square(scaled_dot_product_attention(q, repeated(k, 24), repeated(v, 24), {.causal = true}))));
  const Gradients ours = grads_of(k, v);
  for (const Tensor& x : {q, k, v}) expect_near(ours[x], theirs[x]);
}

TEST(GroupedQueries, Errors) {
  const auto with = [](const Shape& q, const Shape& k, const Tensor& mask = {}) {
    return error_of(
        [&] { scaled_dot_product_attention(ones(q), ones(k), ones(k), {.mask = mask, .enable_gqa = true}); });
  };
  EXPECT_TEXT(with({1, 4, 3, 2}, {1, 3, 3, 2}));
  EXPECT_TEXT(with({3, 2}, {3, 2}));
  EXPECT_TEXT(with({1, 4, 3, 2}, {1, 2, 3, 2}, zeros({2, 3, 3})));
  EXPECT_TEXT(with({1, 4, 1, 2}, {1, 2, 3, 2}, zeros({2, 3})));
  EXPECT_ERROR(nn::MultiHeadSelfAttention({.d_in = 4, .d_out = 4, .num_heads = 4, .num_kv_heads = 3}));
  EXPECT_ERROR(nn::MultiHeadAttention(4, 2, 0, nn::Positions::none, {}, -1));
  EXPECT_ERROR(nn::to_hugging_face(nn::GPTModel({.emb_dim = 16, .n_heads = 4, .n_kv_heads = 1})));
}

// A module with all heads whose keys and values repeat those of `grouped`.
void repeat_rows(const nn::Linear& from, nn::Linear& to, int64_t head_dim, int64_t times) {
  const auto rows = [&](const Tensor& x) {
    return repeat_interleave(x.reshape({x.size(0) / head_dim, -1}), times, 0).reshape({x.size(0) * times, -1});
  };
  to.weight.set(rows(from.weight));
  if (from.bias.defined()) to.bias.set(rows(from.bias).flatten());
}

TEST(GroupedQueries, ModulesEqualThoseWithRepeatedHeadsForAllPositions) {
  using nn::Positions;
  for (const Positions positions : {Positions::none, Positions::shaw}) {
    for (const bool values : {false, true}) {
      manual_seed(12);
      nn::SelfAttentionConfig config{.d_in = 5, .d_out = 8, .num_heads = 4, .qkv_bias = true, .num_kv_heads = 2};
      config.positions = positions;
      config.position_options = nn::ShawOptions{.distance = 3, .values = values};
      const nn::MultiHeadSelfAttention grouped(config);
      EXPECT_EQ(grouped.key->weight->shape(), (Shape{4, 5}));
      config.num_kv_heads = 0;
      nn::MultiHeadSelfAttention full(config);
      full.query.weight.set(grouped.query.weight);
      full.query.bias.set(grouped.query.bias);
      full.output.weight.set(grouped.output.weight);
      full.output.bias.set(grouped.output.bias);
      nn::load_state_dict(full.positions, nn::state_dict(grouped.positions));
      repeat_rows(*grouped.key, *full.key, 2, 2);
      repeat_rows(grouped.value, full.value, 2, 2);
      const Tensor x = randn({2, 6, 5});
      expect_near(grouped(x), full(x));
      Tensor weights, others;
      grouped(x, {.weights = &weights});
      full(x, {.weights = &others});
      expect_near(weights, others);
    }
  }
  const nn::MultiHeadAttention cross(8, 4, 0, Positions::none, {}, 1);
  EXPECT_EQ(cross.key->weight->shape(), (Shape{2, 8}));
  EXPECT_EQ(cross(randn({2, 3, 8}), ones({2, 5, 8}), randn({2, 5, 8})).shape(), (Shape{2, 3, 8}));
  EXPECT_EQ(cross.project_kv(ones({2, 5, 8}), ones({2, 5, 8})).keys.shape(), (Shape{2, 1, 5, 2}));
}

TEST(GroupedQueries, ACacheKeepsTheirHeadsOnly) {
  manual_seed(13);
  nn::MultiHeadSelfAttention attention({.d_in = 3, .d_out = 8, .num_heads = 4, .num_kv_heads = 2});
  nn::to(attention, kFloat64);
  const Tensor x = randn({2, 5, 3}).to(kFloat64);
  nn::KVCache cache;
  expect_same_from_a_cache(attention, x, {}, {2, 2, 1}, cache);
  const Tensor step = randn({2, 2, 1, 2}).to(kFloat64);
  EXPECT_EQ(cache.append(0, {step, step}).keys.shape(), (Shape{2, 2, 6, 2}));
}

void expect_pytorch(const Json& entry, DType dtype, Room room) {
  const std::string name = entry["name"].get<std::string>() + (dtype == kFloat32 ? ", float32" : ", float64");
  nn::AdditiveAttention attention(3, 5, 6);
  nn::to(attention, dtype);
  set_weights(attention);
  const auto leaf = [dtype](const Tensor& x) { return x.to(dtype).as_leaf(); };
  const Tensor queries = leaf(filled({2, 3, 3}, 3) * 3), keys = leaf(filled({2, 4, 5}, 4) * 3);
  const Tensor values = entry["grads"].contains("values") ? leaf(filled({2, 4, 2}, 5)) : Tensor();
  Tensor mask, weights;
  if (name.starts_with("bool mask")) mask = nn::padding_mask(tensor({{1, 1, 1, 0}, {1, 0, 1, 1}})).squeeze(1);
  if (name.starts_with("added mask")) mask = (filled({3, 4}, 6) * 4).to(dtype);
  Tape tape;
  const Tensor y = attention.attend(queries, attention.project(keys, values), mask, &weights);
  expect_close(weights, entry["weights"], room, name + ", weights");
  expect_close(y, entry["result"], room, name + ", result");
  const Gradients grads = tape.backward(sum(y.reshape({-1}) * linspace(0.5, 1.5, y.numel(), y.dtype())));
  expect_close_gradients(attention, grads, entry["grads"], room);
  expect_close(grads[queries], entry["grads"]["queries"], room, name + ", queries");
  expect_close(grads[keys], entry["grads"]["keys"], room, name + ", keys");
  if (values.defined()) expect_close(grads[values], entry["grads"]["values"], room, name + ", values");
}

TEST(AdditiveAttention, EqualsPyTorch) {
  for (const Json& entry : stored("additive.json")) {
    expect_pytorch(entry, kFloat32, {1e-5, 2e-6});
    expect_pytorch(entry, kFloat64, {1e-8, 1e-9});
  }
}

TEST(AdditiveAttention, AFullyMaskedRowIsZero) {
  manual_seed(1);
  const nn::AdditiveAttention attention(2, 3, 4);
  const Tensor query = randn({1, 2, 2}).as_leaf(), keys = randn({1, 3, 3});
  Tensor weights;
  Tape tape;
  const Tensor y = attention(query, keys, tensor({0, 0, 0}) > 0.0, &weights);
  EXPECT_EQ(amax(abs(y)).item(), 0);
  EXPECT_EQ(amax(abs(weights)).item(), 0);
  EXPECT_EQ(amax(abs(tape.backward(sum(y))[query])).item(), 0);
}

TEST(AdditiveAttention, HiddenNanHasNoInfluence) {
  manual_seed(3);
  const nn::AdditiveAttention attention(2, 3, 4);
  const Tensor query = randn({1, 2, 2}), bools = tensor({1, 1, 0}) > 0.0, added = where(bools, zeros({3}), -kInf);
  for (const Tensor& mask : {bools, added}) {
    const auto attend = [&](const Tensor& q, const Tensor& k, const Tensor& v) {
      return attention.attend(q, attention.project(k, v), mask);
    };
    expect_hidden_from(2, attend, {1, 3, 3}, query, 4, 2);
  }
  const Tensor broken = where((arange(3) == 2).unsqueeze(1), kNan, randn({1, 3, 3}));
  EXPECT_TRUE(all(isnan(attention(query, broken, tensor({1, 0, 1}) > 0.0))));
}

TEST(AdditiveAttention, OneKeyAndNoQueries) {
  manual_seed(2);
  const nn::AdditiveAttention attention(2, 3, 4);
  const Tensor keys = randn({2, 1, 3});
  expect_near(attention(randn({2, 3, 2}), keys), keys.expand({2, 3, 3}));
  EXPECT_EQ(attention(zeros({2, 0, 2}), keys).shape(), (Shape{2, 0, 3}));
}

TEST(AdditiveAttention, Errors) {
  const nn::AdditiveAttention attention(2, 3, 4);
  const auto error = [](auto f) { return error_of(f); };
  const Tensor query = zeros({1, 2, 2}), keys = zeros({1, 5, 3});
  EXPECT_EQ(error([] { nn::AdditiveAttention(0, 3, 4); }), "[additive_attention] expected query_size > 0, got 0");
  EXPECT_EQ(error([] { nn::AdditiveAttention(2, -1, 4); }), "[additive_attention] expected key_size > 0, got -1");
  EXPECT_EQ(error([] { nn::AdditiveAttention(2, 3, 0); }), "[additive_attention] expected hidden_size > 0, got 0");
  EXPECT_EQ(error([&] { attention(keys, keys); }), "[additive_attention] expected query [B, T, 2], got [1, 5, 3]");
  EXPECT_EQ(error([&] { attention(query, query); }), "[additive_attention] expected keys [B, S, 3], got [1, 2, 2]");
  EXPECT_TEXT(error([&] { attention(query, zeros({2, 5, 3})); }));
  EXPECT_TEXT(error([&] { attention.project(keys, zeros({1, 4, 2})); }));
  EXPECT_TEXT(error([&] { attention(query, keys, zeros({4})); }));
}

}  // namespace
}  // namespace tapegrad::tests
