// Reformer: where it equals full attention, how far it is from it otherwise, masks, caches, errors.
#include <tapegrad/tests/support/long_inputs.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad {
namespace {

using namespace tests;

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
  const Tensor x = randn({2, 7, 3}, kFloat64);
  nn::KVCache cache;
  expect_same_from_a_cache(attention, x, {}, attention(x), {3, 3, 1}, cache);
  EXPECT_ERROR(attention(narrow(x, 1, 0, 1), {.cache = &cache}));
  const nn::ReformerSelfAttention by_length({.d_in = 3, .d_out = 4, .num_heads = 2});
  nn::KVCache fresh;
  EXPECT_ERROR(by_length(x, {.cache = &fresh}));
}

TEST(Reformer, Errors) {
  const auto with = [](const nn::ReformerConfig& config) {
    return error_of([&] { nn::ReformerSelfAttention attention(config); });
  };
  EXPECT_TEXT(with({.num_heads = 5}));
  EXPECT_EQ(with({.chunk_length = 0}), "[reformer_self_attention] expected chunk_length > 0, got 0");
  EXPECT_EQ(with({.rounds = 0}), "[reformer_self_attention] expected rounds > 0, got 0");
  EXPECT_TEXT(with({.num_buckets = 6}));
  EXPECT_TEXT(with({.context_length = -1}));
  const Tensor x = ones({2, 4, 3}), buckets = zeros({1, 2, 4}, kInt64);
  EXPECT_ERROR(nn::lsh_buckets(x, 6));
  EXPECT_ERROR(nn::lsh_buckets(x, 4, 0));
  EXPECT_ERROR(nn::lsh_buckets(ones({3}), 4));
  EXPECT_ERROR(nn::reformer_attention(x, x, buckets, {.mask = nn::causal_mask(4)}));
  EXPECT_ERROR(lsh_attention(x, x, ones({2, 5, 3}), buckets));
  EXPECT_ERROR(lsh_attention(x, x, x, zeros({2, 4}, kInt64)));
  EXPECT_ERROR(lsh_attention(x, x, x, buckets, {.chunk_length = 0}));
  EXPECT_ERROR(lsh_attention(x, x, x, buckets, {.mask = ones({3, 4}, kBool)}));
}

}  // namespace
}  // namespace tapegrad
