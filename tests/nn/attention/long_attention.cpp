// Attention for long inputs: where it equals full attention, how far it is from it otherwise, masks, caches, errors.
#include <gtest/gtest.h>
#include <tapegrad/autograd/pool.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/linformer.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/nn/performer.h>
#include <tapegrad/nn/reformer.h>
#include <tapegrad/nn/self_attention.h>
#include <tapegrad/tests/support/near.h>
#include <tapegrad/tests/support/threads.h>

#include <cmath>

namespace tapegrad {
namespace {

using tests::error_of;
using tests::expect_near;

Tensor leaf(const Shape& shape, DType dtype = kFloat64) { return randn(shape, dtype).as_leaf(); }

double largest_difference(const Tensor& a, const Tensor& b) { return amax(abs(a - b).detach()).item(); }

// The second sequence ends early, the third one is all padding.
Tensor padding(int64_t length) {
  Tensor ids = ones({3, length}, kInt64);
  for (int64_t t = 0; t < length; ++t) {
    ids.mutable_data<int64_t>()[length + t] = t < length / 2;
    ids.mutable_data<int64_t>()[2 * length + t] = 0;
  }
  return nn::padding_mask(ids);
}

// --- Linformer ---

TEST(Linformer, WithTheIdentityAsProjectionEqualsFullAttention) {
  manual_seed(1);
  const Tensor q = leaf({2, 3, 5, 4}), k = leaf({2, 3, 7, 4}), v = leaf({2, 3, 7, 6}),
               dy = randn({2, 3, 5, 6}, kFloat64);
  const Tensor shared = eye(7, kFloat64), per_head = shared.expand({3, 7, 7}), longer = eye(9, kFloat64).slice(0, 0, 7);
  for (const Tensor& identity : {shared, per_head, longer}) {
    Tape tape;
    const Tensor y = nn::linformer_attention(q, k, v, identity, identity);
    const Gradients ours = tape.backward(y, {.grad_output = dy});
    Tape second;
    const Tensor full = scaled_dot_product_attention(q, k, v);
    const Gradients theirs = second.backward(full, {.grad_output = dy});
    EXPECT_LE(largest_difference(y, full), 1e-14);
    for (const Tensor& x : {q, k, v}) EXPECT_LE(largest_difference(ours[x], theirs[x]), 1e-14);
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
    nn::LinformerSelfAttention attention({.d_in = 3,
                                          .d_out = 4,
                                          .num_heads = 2,
                                          .context_length = 8,
                                          .projected = 3,
                                          .share_kv = share_kv,
                                          .share_heads = share_heads});
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
  using Config = nn::LinformerConfig;
  const auto with = [](auto change) {
    Config config{.d_in = 3, .d_out = 4, .num_heads = 2, .context_length = 5, .projected = 2};
    change(config);
    return error_of([&] { nn::LinformerSelfAttention attention(config); });
  };
  EXPECT_EQ(with([](Config& c) { c.causal = true; }),
            "[attention_choice] linformer attention cannot be causal: each projected key mixes all positions");
  EXPECT_EQ(with([](Config& c) { c.projected = 0; }), "[linformer_self_attention] projected must be positive, got 0");
  EXPECT_EQ(with([](Config& c) { c.context_length = -1; }),
            "[linformer_self_attention] context_length must be positive, got -1");
  EXPECT_EQ(with([](Config& c) { c.d_out = 5; }),
            "[linformer_self_attention] d_out 5 is not divisible by num_heads 2 (each head takes an equal share)");
  EXPECT_EQ(with([](Config& c) { c.dropout = 2; }),
            "[linformer_self_attention] dropout must be between 0 and 1, got 2");
  const nn::LinformerSelfAttention attention(
      {.d_in = 3, .d_out = 4, .num_heads = 2, .context_length = 5, .projected = 2});
  const Tensor x = ones({1, 4, 3});
  nn::KVCache cache;
  EXPECT_EQ(error_of([&] { attention(x, {.cache = &cache}); }),
            "[linformer_self_attention] linformer attention takes no cache: each projected key mixes all positions, "
            "including later ones");
  EXPECT_EQ(error_of([&] {
              attention(ones({1, 6, 3}));
            }),
            "[linformer_self_attention] a sequence of length 6 is longer than context_length 5");
  EXPECT_EQ(error_of([&] { attention(ones({4, 3})); }), "[linformer_self_attention] expected x [B, T, 3], got [4, 3]");
  EXPECT_EQ(error_of([&] { attention(x, nn::causal_mask(4)); }),
            "[linformer_attention] expected a bool mask of keys, [..., 1, S] as padding_mask gives, got bool [4, 4]");
  EXPECT_EQ(
      error_of([&] {
        attention(x, zeros({1, 4}));
      }),
      "[linformer_attention] expected a bool mask of keys, [..., 1, S] as padding_mask gives, got float32 [1, 4]");
  const nn::PositionBias bias{.bias = nn::alibi_bias(2, 4, 4)};
  EXPECT_EQ(
      error_of([&] { attention(x, {.positions = &bias}); }),
      "[linformer_self_attention] expected positions that add nothing to the scores (rope, or added to the input) "
      "with linformer attention, got some that do (shaw, t5, alibi)");
  const Tensor q = ones({1, 2, 4, 2});
  EXPECT_EQ(error_of([&] {
              nn::linformer_attention(q, q, q, ones({3, 3}), ones({3, 4}));
            }),
            "[linformer_attention] expected e [K, S] or [heads, K, S] in float32 with S of at least 4, got float32 "
            "[3, 3] for [1, 2, 4, 2]");
  EXPECT_EQ(error_of([&] {
              nn::linformer_attention(q, q, q, ones({3, 4}), ones({3, 3, 4}));
            }),
            "[linformer_attention] expected f [K, S] or [heads, K, S] in float32 with S of at least 4, got float32 "
            "[3, 3, 4] for [1, 2, 4, 2]");
}

// --- Performer ---

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
    const Tensor whole = attention(x, mask);
    nn::KVCache cache;
    for (const auto& [start, length] : {std::pair{0, 3}, {3, 3}, {6, 1}}) {
      const Tensor seen = mask.defined() ? narrow(mask, -1, 0, start + length) : mask;
      const Tensor y = attention(narrow(x, 1, start, length), {.mask = seen, .cache = &cache});
      cache.advance(length);
      EXPECT_LE(largest_difference(y, narrow(whole, 1, start, length)), 1e-12);
    }
    EXPECT_EQ(error_of([&] { attention(narrow(x, 1, 0, 1), {.cache = &cache}); }),
              "[performer_self_attention] a sequence of length 8 is longer than context_length 7");
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
  const auto with = [](const nn::PerformerConfig& config) {
    return error_of([&] { nn::PerformerSelfAttention attention(config); });
  };
  EXPECT_EQ(with({.d_in = 0}), "[performer_self_attention] d_in must be positive, got 0");
  EXPECT_EQ(with({.d_in = 3, .d_out = 5, .num_heads = 2}),
            "[performer_self_attention] d_out 5 is not divisible by num_heads 2 (each head takes an equal share)");
  EXPECT_EQ(with({.context_length = -1}),
            "[performer_self_attention] context_length must be positive, or 0 for any length, got -1");
  EXPECT_EQ(with({.num_features = -2}),
            "[performer_self_attention] num_features must be positive, or 0 for D log D, got -2");
  EXPECT_EQ(error_of([] { nn::orthogonal_features(0, 4); }), "[orthogonal_features] count must be positive, got 0");
  EXPECT_EQ(error_of([] { nn::orthogonal_features(2, 4, kInt64); }),
            "[orthogonal_features] expected float32 or float64, got int64");
  const Tensor q = ones({2, 4, 3}), short_one = ones({2, 2, 3}), w = ones({5, 3});
  EXPECT_EQ(error_of([&] { nn::performer_attention(q, q, short_one, w); }),
            "[performer_attention] expected query [..., T, D], key [..., S, D] and value [..., S, E], got [2, 4, 3], "
            "[2, 4, 3] and [2, 2, 3]");
  EXPECT_EQ(error_of([&] {
              nn::performer_attention(q, q, q, ones({5, 4}));
            }),
            "[performer_attention] expected features [M, 3], got [5, 4]");
  EXPECT_EQ(error_of([&] { nn::performer_attention(q, short_one, short_one, w, {.causal = true}); }),
            "[performer_attention] causal attention expected at least as many keys as queries, got 4 queries and 2 "
            "keys");
  EXPECT_EQ(error_of([&] { nn::performer_attention(q, q, q, w, {.scale = -1}); }),
            "[performer_attention] expected a scale of at least 0, got -1");
  EXPECT_EQ(error_of([&] { causal_product(q, q, short_one); }),
            "[causal_product] expected a and b [..., T, M] and c [..., T, E], got [2, 4, 3], [2, 4, 3] and [2, 2, 3]");
  EXPECT_EQ(error_of([&] {
              causal_product(q, q, q, false, {.earlier = ones({2, 4}), .later = ones({3, 4})});
            }),
            "[causal_product] expected levels of type float32 that broadcast to [2, 4], got float32 [3, 4]");
  {
    const Tensor level = zeros({4}).as_leaf();
    const Tape tape;
    EXPECT_EQ(error_of([&] { causal_product(q, q, q, false, {.later = level}); }),
              "[causal_product] expected levels without a gradient: they are constants (pass .detach())");
  }
  EXPECT_EQ(error_of([&] { causal_product(q, q.to(kFloat64), q); }),
            "[causal_product] expected operands of one type, float32 or float64, got float32 of shape [2, 4, 3] and "
            "float64 of shape [2, 4, 3] and float32 of shape [2, 4, 3] (convert with to(kFloat32))");
}

// --- Reformer ---

// Full attention with normalised queries as keys; a token attends to itself only if it attends to no other.
Tensor full_shared_attention(const Tensor& qk, const Tensor& v, const Tensor& mask, bool causal) {
  const int64_t length = qk.size(-2);
  Tensor allowed = ones({length, length}, kBool) && !eye(length, kBool);
  if (causal) allowed = tril(allowed);
  if (mask.defined()) allowed = allowed && mask;
  const Tensor alone = !any(allowed, -1, true);
  const Tensor self = mask.defined() ? eye(length, kBool) && mask : eye(length, kBool);
  return scaled_dot_product_attention(qk, normalize(qk, 2, -1), v, {.mask = allowed || (self && alone)});
}

TEST(Reformer, WithOneBucketEqualsFullAttentionWithSharedQueriesAndKeys) {
  manual_seed(10);
  const Tensor qk = leaf({3, 2, 12, 4}), v = leaf({3, 2, 12, 5}), dy = randn({3, 2, 12, 5}, kFloat64);
  for (const bool causal : {false, true}) {
    for (const Tensor& mask : {Tensor(), padding(12)}) {
      for (const int64_t rounds : {1, 3}) {
        const Tensor buckets = nn::lsh_buckets(qk, 1, rounds);
        Tape tape;
        const Tensor y = nn::reformer_attention(qk, v, buckets, {.chunk_length = 12, .causal = causal, .mask = mask});
        const Gradients ours = tape.backward(y, {.grad_output = dy});
        Tape second;
        const Tensor full = full_shared_attention(qk, v, mask, causal);
        const Gradients theirs = second.backward(full, {.grad_output = dy});
        EXPECT_LE(largest_difference(y, full), 1e-13);
        for (const Tensor& x : {qk, v}) EXPECT_LE(largest_difference(ours[x], theirs[x]), 1e-13);
      }
    }
  }
}

TEST(Reformer, HashesCloseVectorsIntoOneBucket) {
  Generator generator(11);
  const Tensor x = randn({1, 200, 16}, kFloat32, &generator);
  const Tensor noise = randn({1, 200, 16}, kFloat32, &generator);
  for (const int64_t count : {2, 32, 256}) {
    const auto agreement = [&](const Tensor& other) {
      const Tensor buckets = nn::lsh_buckets(cat({x, other}), count, 4, &generator);
      EXPECT_EQ(buckets.shape(), (Shape{4, 2, 200}));
      EXPECT_GE(amin(buckets).item(), 0);
      EXPECT_LT(amax(buckets).item(), static_cast<double>(count));
      return mean((buckets.select(1, 0) == buckets.select(1, 1)).to(kFloat32)).item();
    };
    EXPECT_EQ(agreement(x * 3), 1) << "a bucket depends on the direction alone";
    EXPECT_GT(agreement(x + noise * 0.05), 0.6);
    EXPECT_LT(agreement(-x), 0.01);
  }
  EXPECT_EQ(amax(nn::lsh_buckets(x, 1)).item(), 0);
}

TEST(Reformer, MoreRoundsComeCloserToFullAttention) {
  manual_seed(12);
  const Tensor qk = randn({1, 1, 128, 8}) * 4, v = randn({1, 1, 128, 4});
  const Tensor full = full_shared_attention(qk, v, {}, false);
  double before = INFINITY;
  for (const int64_t rounds : {1, 4, 16}) {
    const Tensor y = nn::reformer_attention(qk, v, nn::lsh_buckets(qk, 16, rounds), {.chunk_length = 16});
    const double error = mean(square(y - full)).item();
    EXPECT_LT(error, before / 1.5);
    before = error;
  }
}

TEST(Reformer, CausalAttentionTakesNothingFromLaterTokens) {
  manual_seed(13);
  const Tensor qk = randn({1, 2, 40, 4}), v = leaf({1, 2, 40, 3}, kFloat32);
  Tape tape;
  const Tensor y = nn::reformer_attention(qk, v, nn::lsh_buckets(qk, 8, 2), {.chunk_length = 8, .causal = true});
  EXPECT_TRUE(equal(y.select(2, 0), v.select(2, 0))) << "the first token attends to itself alone";
  const Gradients grads = tape.backward(sum(narrow(y, 2, 0, 25)));
  EXPECT_EQ(amax(abs(narrow(grads[v], 2, 25, 15))).item(), 0);
  EXPECT_GT(amax(abs(narrow(grads[v], 2, 0, 25))).item(), 0);
}

TEST(Reformer, RepeatsItselfInEvaluation) {
  manual_seed(14);
  nn::ReformerSelfAttention attention({.d_in = 3, .d_out = 8, .num_heads = 2, .chunk_length = 4});
  const Tensor x = randn({2, 50, 3});
  EXPECT_FALSE(equal(attention(x), attention(x)));
  nn::eval(attention);
  const auto before = default_generator().state();
  EXPECT_TRUE(equal(attention(x), attention(x)));
  EXPECT_EQ(default_generator().state(), before);
  Tensor weights;
  const Tensor y = attention(x, {.weights = &weights});
  expect_near(sum(weights, -1), ones({2, 2, 50}));
  const Tensor v = attention.value(x).reshape({2, 50, 2, 4}).transpose(1, 2);
  expect_near(attention.output(matmul(weights, v).transpose(1, 2).reshape({2, 50, 8})), y);
}

TEST(Reformer, LaterTokensChangeNothing) {
  const auto with = [](const nn::ReformerConfig& config) {
    manual_seed(19);
    nn::ReformerSelfAttention attention(config);
    nn::eval(attention);
    return attention;
  };
  nn::ReformerSelfAttention attention =
      with({.d_in = 6, .d_out = 16, .num_heads = 2, .context_length = 300, .chunk_length = 16});
  const Tensor x = randn({2, 300, 6}), whole = attention(x);
  expect_near(attention(narrow(x, 1, 0, 123)), narrow(whole, 1, 0, 123));
  for (const int64_t chunk : {1, 7, 16, 40, 300}) {
    for (const int64_t buckets : {1, 4}) {
      attention = with({.d_in = 6, .d_out = 16, .num_heads = 2, .chunk_length = chunk, .num_buckets = buckets});
      const Tensor y = attention(x);
      for (const int64_t first : {1, 31, 123, 299}) {
        for (const double size : {0.1, 3.0, 100.0}) {
          const Tensor other = cat({narrow(x, 1, 0, first), randn({2, 300 - first, 6}) * size}, 1);
          EXPECT_TRUE(equal(narrow(attention(other), 1, 0, first), narrow(y, 1, 0, first))) << chunk << " " << first;
        }
      }
    }
  }
}

// Buckets that are longer than what is computed at a time, against the same without buckets' chunks.
TEST(Reformer, CausalChunksWithinOneBucketAreThoseOfTheWholeInput) {
  manual_seed(21);
  const Tensor qk = leaf({2, 75, 4}), v = leaf({2, 75, 3}), buckets = nn::lsh_buckets(qk, 1, 2);
  for (const int64_t chunk : {1, 5, 20, 32, 75}) {
    const auto result = [&](bool within) {
      Tape tape;
      const Tensor y =
          nn::reformer_attention(qk, v, buckets, {.chunk_length = chunk, .causal = true, .within_buckets = within});
      const Gradients grads = tape.backward(sum(sin(y)));
      return cat({y, grads[qk], grads[v]}, -1).detach();
    };
    EXPECT_LE(largest_difference(result(true), result(false)), 1e-13) << chunk;
  }
}

TEST(Reformer, NanReachesTheResult) {
  Tensor qk = ones({4, 2}).clone();
  qk.mutable_data<float>()[2] = NAN;  // of token 1, which attends to token 0 alone
  const Tensor y = lsh_attention(qk, ones({4, 2}), ones({4, 3}), zeros({1, 4}, kInt64), {.causal = true});
  EXPECT_EQ(isnan(y.select(1, 0)).to_vector<bool>(), (std::vector<bool>{false, true, false, false}));
}

TEST(Reformer, CachedEqualsUncached) {
  manual_seed(15);
  nn::ReformerSelfAttention attention({.d_in = 3, .d_out = 4, .num_heads = 2, .context_length = 7, .chunk_length = 2});
  nn::to(attention, kFloat64);
  nn::eval(attention);
  const Tensor x = randn({2, 7, 3}, kFloat64), whole = attention(x);
  nn::KVCache cache;
  for (const auto& [start, length] : {std::pair{0, 3}, {3, 3}, {6, 1}}) {
    const Tensor y = attention(narrow(x, 1, start, length), {.cache = &cache});
    cache.advance(length);
    EXPECT_LE(largest_difference(y, narrow(whole, 1, start, length)), 1e-13);
  }
  EXPECT_EQ(error_of([&] { attention(narrow(x, 1, 0, 1), {.cache = &cache}); }),
            "[reformer_self_attention] a sequence of length 8 is longer than context_length 7");
  const nn::ReformerSelfAttention by_length({.d_in = 3, .d_out = 4, .num_heads = 2});
  nn::KVCache fresh;
  EXPECT_EQ(error_of([&] { by_length(x, {.cache = &fresh}); }),
            "[reformer_self_attention] reformer attention takes no cache: it must be causal and have a fixed number of "
            "buckets (set num_buckets or context_length)");
}

TEST(Reformer, Errors) {
  const auto with = [](const nn::ReformerConfig& config) {
    return error_of([&] { nn::ReformerSelfAttention attention(config); });
  };
  EXPECT_EQ(with({.num_heads = 5}),
            "[reformer_self_attention] d_out 768 is not divisible by num_heads 5 (each head takes an equal share)");
  EXPECT_EQ(with({.chunk_length = 0}), "[reformer_self_attention] chunk_length must be positive, got 0");
  EXPECT_EQ(with({.rounds = 0}), "[reformer_self_attention] rounds must be positive, got 0");
  EXPECT_EQ(with({.num_buckets = 6}),
            "[reformer_self_attention] num_buckets must be a power of two, or 0 for one that fits the length, got 6");
  EXPECT_EQ(with({.context_length = -1}),
            "[reformer_self_attention] context_length must be positive, or 0 for any length, got -1");
  const Tensor x = ones({2, 4, 3}), buckets = zeros({1, 2, 4}, kInt64);
  EXPECT_EQ(error_of([&] { nn::lsh_buckets(x, 6); }), "[lsh_buckets] expected a power of two as count, got 6");
  EXPECT_EQ(error_of([&] { nn::lsh_buckets(x, 4, 0); }), "[lsh_buckets] rounds must be positive, got 0");
  EXPECT_EQ(error_of([&] { nn::lsh_buckets(ones({3}), 4); }), "[lsh_buckets] expected x [..., T, D], got [3]");
  EXPECT_EQ(error_of([&] { nn::reformer_attention(x, x, buckets, {.mask = nn::causal_mask(4)}); }),
            "[reformer_attention] expected a bool mask of keys, [..., 1, S] as padding_mask gives, got bool [4, 4]");
  EXPECT_EQ(error_of([&] {
              lsh_attention(x, x, ones({2, 5, 3}), buckets);
            }),
            "[lsh_attention] expected query and key [..., T, D] and value [..., T, E], got [2, 4, 3], [2, 4, 3] and "
            "[2, 5, 3]");
  EXPECT_EQ(error_of([&] {
              lsh_attention(x, x, x, zeros({2, 4}, kInt64));
            }),
            "[lsh_attention] expected int64 buckets [R, ...] with ... = [2, 4] of query [2, 4, 3], got int64 [2, 4]");
  EXPECT_EQ(error_of([&] { lsh_attention(x, x, x, buckets, {.chunk_length = 0}); }),
            "[lsh_attention] expected a chunk_length of at least 1, got 0");
  EXPECT_EQ(error_of([&] {
              lsh_attention(x, x, x, buckets, {.mask = ones({3, 4}, kBool)});
            }),
            "[lsh_attention] expected a bool mask of keys that broadcasts to [2, 1, 4], got bool [3, 4]");
}

// --- all of them ---

TEST(LongAttention, GivesTheSameBitsForAnyNumberOfThreads) {
  const tests::KeepThreads keep;
  manual_seed(16);
  const nn::LinformerSelfAttention linformer(
      {.d_in = 24, .d_out = 32, .num_heads = 4, .context_length = 300, .projected = 40});
  const nn::PerformerSelfAttention performer({.d_in = 24, .d_out = 32, .num_heads = 4});
  nn::ReformerSelfAttention reformer({.d_in = 24, .d_out = 32, .num_heads = 4, .chunk_length = 16});
  nn::eval(reformer);
  const Tensor x = leaf({3, 300, 24}, kFloat32), mask = padding(300);
  const auto bits = [&](auto& module) {
    Tape tape;
    const Tensor y = module(x, mask);
    return cat({y, tape.backward(sum(sin(y)))[x]}, -1).detach();
  };
  const auto same = [&](auto& module) {
    set_num_threads(1);
    const Tensor first = bits(module);
    for (const int threads : {2, 3, 7}) {
      set_num_threads(threads);
      EXPECT_TRUE(equal(bits(module), first)) << threads << " threads";
    }
  };
  same(linformer);
  same(performer);
  same(reformer);
}

TEST(LongAttention, GivesTheSameBitsForOneLongHead) {
  const tests::KeepThreads keep;
  manual_seed(20);
  const Tensor q = leaf({1500, 8}, kFloat32), v = leaf({1500, 8}, kFloat32), w = nn::orthogonal_features(16, 8);
  const Tensor buckets = nn::lsh_buckets(q, 32, 2);
  const auto bits = [&] {
    Tape tape;
    const Tensor y = nn::performer_attention(q, q, v, w, {.causal = true}) +
                     nn::reformer_attention(q, v, buckets, {.chunk_length = 16, .causal = true});
    const Gradients grads = tape.backward(sum(sin(y)));
    return cat({y, grads[q], grads[v]}, -1).detach();
  };
  set_num_threads(1);
  const Tensor first = bits();
  for (const int threads : {2, 3, 7}) {
    set_num_threads(threads);
    EXPECT_TRUE(equal(bits(), first)) << threads << " threads";
  }
}

TEST(LongAttention, HasNoPairsInMemory) {
  manual_seed(17);
  const int64_t length = 16384;  // all pairs of one head would be a gigabyte
  const nn::LinformerSelfAttention linformer(
      {.d_in = 16, .d_out = 16, .num_heads = 1, .context_length = length, .projected = 32});
  const nn::PerformerSelfAttention performer({.d_in = 16, .d_out = 16, .num_heads = 1});
  const nn::ReformerSelfAttention reformer({.d_in = 16, .d_out = 16, .num_heads = 1});
  const Tensor x = leaf({1, length, 16}, kFloat32);
  const int64_t before = pool::stats().reserved;
  const auto train = [&](auto& module) {
    Tape tape;
    tape.backward(sum(module(x)));
  };
  train(linformer);
  train(performer);
  train(reformer);
  EXPECT_LE(pool::stats().reserved - before, 64 << 20);
}

TEST(LongAttention, TakesEmptyAndShortInputs) {
  const nn::LinformerSelfAttention linformer({.d_in = 4, .d_out = 4, .num_heads = 2});
  const nn::PerformerSelfAttention performer({.d_in = 4, .d_out = 4, .num_heads = 2});
  const nn::ReformerSelfAttention reformer({.d_in = 4, .d_out = 4, .num_heads = 2});
  for (const Shape& shape : {Shape{2, 0, 4}, Shape{0, 3, 4}, Shape{1, 1, 4}}) {
    const Tensor x = leaf(shape, kFloat32);
    const auto check = [&](auto& module) {
      Tape tape;
      const Tensor y = module(x);
      EXPECT_EQ(y.shape(), shape);
      EXPECT_EQ(tape.backward(sum(y))[x].shape(), shape);
    };
    check(linformer);
    check(performer);
    check(reformer);
  }
}

}  // namespace
}  // namespace tapegrad
