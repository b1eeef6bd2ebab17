// Attention for long inputs of all kinds; Linformer and Performer against full attention, with masks and caches.
#include <tapegrad/tests/support/long_inputs.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

// f(module) for each kind of module.
void for_each_kind(int64_t d_in, int64_t d_out, int64_t heads, int64_t length, const auto& f) {
  f(nn::LinformerSelfAttention(
      {.d_in = d_in, .d_out = d_out, .num_heads = heads, .context_length = length, .projected = 32}));
  f(nn::PerformerSelfAttention({.d_in = d_in, .d_out = d_out, .num_heads = heads}));
  nn::ReformerSelfAttention reformer({.d_in = d_in, .d_out = d_out, .num_heads = heads});
  nn::eval(reformer);
  f(reformer);
}

TEST(LongAttention, HasNoPairsInMemory) {
  manual_seed(17);
  const int64_t length = 16384, before = pool::stats().reserved;  // all pairs of one head would be a gigabyte
  const Tensor x = leaf({1, length, 16}, kFloat32);
  for_each_kind(16, 16, 1, length, [&](const auto& module) { Tape().backward(sum(module(x))); });
  EXPECT_LE(pool::stats().reserved - before, 64 << 20);
}

TEST(LongAttention, HiddenNanHasNoInfluence) {
  manual_seed(31);
  for (const int64_t length : {7, 150}) {
    const Shape shape{2, length, 4};
    const int64_t first = length - 2;
    const Tensor q = randn(shape), mask = (arange(length) < first).unsqueeze(0),
                 features = nn::orthogonal_features(6, 4);
    for (const bool causal : {false, true}) {
      expect_hidden_from(
          first,
          [&](auto a, auto b, auto c) {
            return nn::performer_attention(a, b, c, features, {.mask = causal ? Tensor() : mask, .causal = causal});
          },
          shape, q, causal ? 2 : 4);
      const Tensor buckets = arange(length).expand({1, 2, length}) / 50;
      expect_hidden_from(
          first,
          [&](auto, auto b, auto c) {
            return nn::reformer_attention(b, c, buckets.to(kInt64),
                                          {.chunk_length = 16, .causal = causal, .mask = causal ? Tensor() : mask});
          },
          shape, {}, causal ? 1 : 4);
    }
    const Tensor e = randn({3, length});
    expect_hidden_from(
        first, [&](auto a, auto b, auto c) { return nn::linformer_attention(a, b, c, e, e, {.mask = mask}); }, shape, q,
        4);
  }
}

TEST(LongAttention, TakesEmptyAndShortInputs) {
  for (const Shape& shape : {Shape{2, 0, 4}, Shape{0, 3, 4}, Shape{1, 1, 4}}) {
    const Tensor x = leaf(shape, kFloat32);
    for_each_kind(4, 4, 2, 256, [&](const auto& module) {
      Tape tape;
      const Tensor y = module(x);
      EXPECT_EQ(y.shape(), shape);
      EXPECT_EQ(tape.backward(sum(y))[x].shape(), shape);
    });
  }
}

TEST(Linformer, MaskedKeysHaveNoInfluence) {
  manual_seed(2);
  const nn::LinformerSelfAttention attention(
      {.d_in = 3, .d_out = 4, .num_heads = 2, .context_length = 8, .projected = 3, .share_heads = false});
  const Tensor x = randn({3, 6, 3}), mask = padding(6);
  const Tensor other = where(mask.reshape({3, 6, 1}), x, 7.0);
  const auto rows = [](const Tensor& y) { return y[1].slice(0, 0, 3); };
  EXPECT_EQ(equal(rows(attention(x, mask)), rows(attention(other, mask))), true);
  Tensor weights;
  const Tensor y = attention(x, {.mask = mask, .weights = &weights});
  EXPECT_EQ(weights.shape(), (Shape{3, 2, 6, 6}));
  EXPECT_EQ(amax(abs(weights[2])).item(), 0);
  EXPECT_TRUE(equal(y[2], attention.output.bias->expand({6, 4}))) << "nothing to attend to: zeros";
  const Tensor v = attention.value(x).reshape({3, 6, 2, 2}).transpose(1, 2);
  expect_near(attention.output(matmul(weights, v).transpose(1, 2).reshape({3, 6, 4})), y);
}

TEST(Linformer, SharesProjectionsAsConfigured) {
  const auto names = [](bool share_kv, bool share_heads) {
    nn::LinformerConfig config{.d_in = 3, .d_out = 4, .num_heads = 2, .context_length = 8, .projected = 3};
    config.share_kv = share_kv;
    config.share_heads = share_heads;
    nn::LinformerSelfAttention attention(config);
    std::string text;
    for (const auto& [name, parameter] : nn::named_parameters(attention)) {
      if (name.size() == 1) text += name + str(parameter->shape()) + " ";
    }
    return text;
  };
  EXPECT_EQ(names(true, true), "E[3, 8] ");
  EXPECT_EQ(names(false, true), "E[3, 8] F[3, 8] ");
  EXPECT_EQ(names(false, false), "E[2, 3, 8] F[2, 3, 8] ");
}

TEST(Linformer, Errors) {
  EXPECT_ERROR(nn::LinformerSelfAttention({.causal = true}));
  EXPECT_ERROR(nn::LinformerSelfAttention({.projected = 0}));
  EXPECT_ERROR(nn::LinformerSelfAttention({.context_length = -1}));
  EXPECT_ERROR(nn::LinformerSelfAttention({.d_out = 5, .num_heads = 2}));
  EXPECT_ERROR(nn::LinformerSelfAttention({.dropout = 2}));
  const nn::LinformerSelfAttention attention(
      {.d_in = 3, .d_out = 4, .num_heads = 2, .context_length = 5, .projected = 2});
  const Tensor x = ones({1, 4, 3});
  nn::KVCache cache;
  EXPECT_ERROR(attention(x, {.cache = &cache}));
  EXPECT_ERROR(attention(ones({1, 6, 3})));
  EXPECT_ERROR(attention(ones({4, 3})));
  EXPECT_ERROR(attention(x, nn::causal_mask(4)));
  EXPECT_ERROR(attention(x, zeros({1, 4})));
  const nn::PositionBias bias{.bias = nn::alibi_bias(2, 4, 4)};
  EXPECT_ERROR(attention(x, {.positions = &bias}));
}

TEST(Performer, FeaturesAreOrthogonalInBlocks) {
  Generator generator(3);
  const Tensor w = nn::orthogonal_features(20, 8, kFloat64, &generator);
  const Tensor lengths = norm(w, 2, -1, true), directions = w / lengths;
  for (int64_t first = 0; first < 20; first += 8) {
    const int64_t rows = std::min<int64_t>(8, 20 - first);
    const Tensor block = narrow(directions, 0, first, rows);
    EXPECT_LE(largest_difference(matmul(block, block.t()), eye(rows, kFloat64)), 1e-12);
  }
  // Lengths as of normal vectors: the mean of the squares is D, the variance 2 D.
  const Tensor many = sum(square(nn::orthogonal_features(4000, 8, kFloat64, &generator)), -1);
  EXPECT_NEAR(mean(many).item(), 8, 0.3);
  EXPECT_NEAR(var(many).item(), 16, 1.5);
}

// The error of the estimate, as the root mean square over several draws of features.
double performer_error(int64_t features, bool causal) {
  Generator generator(4);
  const Tensor q = randn({24, 8}, kFloat64, &generator) / 4, k = randn({24, 8}, kFloat64, &generator) / 4;
  const Tensor v = randn({24, 4}, kFloat64, &generator);
  const Tensor full = scaled_dot_product_attention(q, k, v, {.causal = causal});
  double total = 0;
  constexpr int kDraws = 100;
  for (int i = 0; i < kDraws; ++i) {
    const Tensor w = nn::orthogonal_features(features, 8, kFloat64, &generator);
    total += mean(square(nn::performer_attention(q, k, v, w, {.causal = causal}) - full)).item();
  }
  return std::sqrt(total / kDraws);
}

TEST(Performer, ItsErrorFallsAsTheRootOfTheFeatures) {
  for (const bool causal : {false, true}) {
    // The slope of the least-squares line through (log features, log error).
    double x = 0, y = 0, xx = 0, xy = 0;
    const std::vector<int64_t> counts{128, 256, 512, 1024, 2048};
    for (const int64_t count : counts) {
      const double a = std::log(static_cast<double>(count)), b = std::log(performer_error(count, causal));
      x += a, y += b, xx += a * a, xy += a * b;
    }
    const auto n = static_cast<double>(counts.size());
    const double slope = (n * xy - x * y) / (n * xx - x * x);
    EXPECT_NEAR(slope, -0.5, 0.06) << (causal ? "causal" : "not causal");
  }
}

TEST(Performer, LaterTokensChangeNoBit) {
  manual_seed(18);
  const nn::PerformerSelfAttention attention({.d_in = 6, .d_out = 16, .num_heads = 2});
  for (const int64_t length : {100, 1000}) {  // the longer one is divided into parts that run in parallel
    const Tensor x = randn({1, length, 6});
    for (const int64_t first : {length / 2, length - 7}) {
      for (const double size : {0.1, 3.0, 100.0}) {
        const Tensor other = cat({narrow(x, 1, 0, first), randn({1, length - first, 6}) * size}, 1);
        EXPECT_TRUE(equal(narrow(attention(x), 1, 0, first), narrow(attention(other), 1, 0, first)));
      }
    }
  }
}

TEST(Performer, CausalAttentionTakesNothingFromLaterTokens) {
  manual_seed(5);
  nn::PerformerSelfAttention attention({.d_in = 3, .d_out = 8, .num_heads = 2});
  nn::to(attention, kFloat64);
  const Tensor x = randn({2, 100, 3}, kFloat64);
  Tensor weights;
  const Tensor y = attention(x, {.weights = &weights});
  EXPECT_EQ(amax(abs(triu(weights, 1))).item(), 0);
  EXPECT_LE(largest_difference(sum(weights, -1), ones({2, 2, 100}, kFloat64)), 1e-12);
  const Tensor v = attention.value(x).reshape({2, 100, 2, 4}).transpose(1, 2);
  EXPECT_LE(largest_difference(attention.output(matmul(weights, v).transpose(1, 2).reshape({2, 100, 8})), y), 1e-12);
}

TEST(Performer, CachedEqualsUncached) {
  manual_seed(6);
  nn::PerformerSelfAttention attention({.d_in = 3, .d_out = 4, .num_heads = 2, .context_length = 7});
  nn::to(attention, kFloat64);
  const Tensor x = randn({3, 7, 3}, kFloat64);
  for (const Tensor& mask : {Tensor(), padding(7)}) {
    nn::KVCache cache;
    expect_same_from_a_cache(attention, x, mask, {3, 3, 1}, cache);
    EXPECT_ERROR(attention(narrow(x, 1, 0, 1), {.cache = &cache}));
  }
}

TEST(Performer, LargeInputsDoNotOverflow) {
  manual_seed(7);
  const Tensor q = leaf({2, 70, 16}, kFloat32), k = leaf({2, 70, 16}, kFloat32), v = leaf({2, 70, 4}, kFloat32);
  const Tensor w = nn::orthogonal_features(64, 16);
  for (const bool causal : {false, true}) {
    Tape tape;
    const Tensor y = nn::performer_attention(q * 12, k * 12, v, w, {.causal = causal});
    EXPECT_TRUE(all_finite(y));
    const Gradients grads = tape.backward(sum(square(y)));
    for (const Tensor& x : {q, k, v}) EXPECT_TRUE(all_finite(grads[x]));
  }
}

TEST(Performer, FullyMaskedRowsAreZeroAndSoAreTheirGradients) {
  manual_seed(8);
  for (const bool causal : {false, true}) {
    const Tensor q = leaf({3, 2, 6, 4}), k = leaf({3, 2, 6, 4}), v = leaf({3, 2, 6, 2});
    Tape tape;
    const Tensor y = nn::performer_attention(q, k, v, nn::orthogonal_features(5, 4, kFloat64),
                                             {.mask = padding(6), .causal = causal});
    EXPECT_EQ(amax(abs(y[2])).item(), 0);
    const Gradients grads = tape.backward(sum(sin(y)));
    for (const Tensor& x : {q, k, v}) {
      EXPECT_EQ(amax(abs(grads[x][2])).item(), 0);
      EXPECT_TRUE(all_finite(grads[x]));
    }
    EXPECT_EQ(amax(abs(grads[v][1].slice(1, 3))).item(), 0);
  }
}

TEST(Performer, RedrawsItsFeatures) {
  manual_seed(9);
  nn::PerformerSelfAttention attention({.d_in = 3, .d_out = 8, .num_heads = 2});
  const nn::Buffer& features = nn::named_buffers(attention).at(0).buffer;
  EXPECT_EQ(features->shape(), (Shape{6, 4}));  // 4 log 4, rounded up
  const Tensor before = features->clone();
  attention.redraw();
  EXPECT_FALSE(equal(before, features));
  Generator a(1), b(1);
  attention.redraw(&a);
  EXPECT_TRUE(equal(features, nn::orthogonal_features(6, 4, kFloat32, &b)));
}

TEST(Performer, Errors) {
  EXPECT_ERROR(nn::PerformerSelfAttention({.d_in = 0}));
  EXPECT_ERROR(nn::PerformerSelfAttention({.d_in = 3, .d_out = 5, .num_heads = 2}));
  EXPECT_ERROR(nn::PerformerSelfAttention({.context_length = -1}));
  EXPECT_ERROR(nn::PerformerSelfAttention({.num_features = -2}));
  EXPECT_EQ(error_of([] { nn::orthogonal_features(0, 4); }), "[orthogonal_features] expected count > 0, got 0");
  EXPECT_ERROR(nn::orthogonal_features(2, 4, kInt64));
  const Tensor q = ones({2, 4, 3}), level = zeros({4}).as_leaf();
  EXPECT_ERROR(nn::performer_attention(q, q, q, ones({5, 3}), {.scale = -1}));
  const Tape tape;
  EXPECT_ERROR(causal_product(q, q, q, false, {.later = level}));
}

}  // namespace
}  // namespace tapegrad::tests
