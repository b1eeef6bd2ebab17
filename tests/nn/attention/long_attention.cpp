// Attention for long inputs, all kinds of it: equal bits for any number of threads, memory, and short inputs.
#include <tapegrad/tests/support/long_inputs.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad {
namespace {

using tests::kInf;
using tests::kNan;
using tests::largest_difference;
using tests::leaf;
using tests::padding;

TEST(LongAttention, GivesTheSameBitsForAnyNumberOfThreads) {
  manual_seed(16);
  const nn::LinformerSelfAttention linformer(
      {.d_in = 24, .d_out = 32, .num_heads = 4, .context_length = 300, .projected = 40});
  const nn::PerformerSelfAttention performer({.d_in = 24, .d_out = 32, .num_heads = 4});
  nn::ReformerSelfAttention reformer({.d_in = 24, .d_out = 32, .num_heads = 4, .chunk_length = 16});
  nn::eval(reformer);
  const Tensor x = leaf({3, 300, 24}, kFloat32), mask = padding(300);
  const auto same = [&](auto& module) {
    tests::expect_same_with_any_threads([&] {
      Tape tape;
      const Tensor y = module(x, mask);
      return std::vector<Tensor>{y.detach(), tape.backward(sum(sin(y)))[x]};
    });
  };
  same(linformer);
  same(performer);
  same(reformer);
}

TEST(LongAttention, GivesTheSameBitsForOneLongHead) {
  manual_seed(20);
  const Tensor q = leaf({1500, 8}, kFloat32), v = leaf({1500, 8}, kFloat32), w = nn::orthogonal_features(16, 8);
  const Tensor buckets = nn::lsh_buckets(q, 32, 2);
  tests::expect_same_with_any_threads([&] {
    Tape tape;
    const Tensor y = nn::performer_attention(q, q, v, w, {.causal = true}) +
                     nn::reformer_attention(q, v, buckets, {.chunk_length = 16, .causal = true});
    const Gradients grads = tape.backward(sum(sin(y)));
    return std::vector<Tensor>{y.detach(), grads[q], grads[v]};
  });
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

using Attend = std::function<Tensor(const Tensor& q, const Tensor& k, const Tensor& v)>;

// NaN and infinities in keys and values from `first` on have no influence on results and gradients of the queries
// before. `results`: how many of y, dq, dk and dv are compared; where later queries see these keys, all keys have their
// NaN.
void expect_hidden_from(int64_t first, const Attend& attend, const Shape& shape, const Tensor& q, std::size_t results) {
  const Tensor k = randn(shape), v = randn(shape), late = (arange(shape[-2]) >= first).unsqueeze(1);
  const Tensor broken = where(arange(shape[-1]) == 1, kNan, full({shape[-1]}, kInf));
  const auto run = [&](const Tensor& in_keys, const Tensor& in_values) {
    const Tensor a = (q.defined() ? q : where(late, in_keys, k)).as_leaf();
    const Tensor b = where(late, in_keys, k).as_leaf(), c = where(late, in_values, v).as_leaf();
    Tape tape;
    const Tensor y = narrow(attend(a, b, c), -2, 0, first);
    const Gradients g = tape.backward(sum(y * y));
    std::vector<Tensor> all{y.detach()};
    for (const Tensor& x : {a, b, c})
      if (const Tensor* const grad = g.find(x)) all.push_back(narrow(*grad, -2, 0, first));
    return all;
  };
  const Tensor none = scalar(0);
  const std::vector<Tensor> expected = run(none, none);
  for (const auto& [keys, values] : {std::pair{broken, none}, {none, broken}, {broken, broken}}) {
    const std::vector<Tensor> found = run(keys, values);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < std::min(results, found.size()); ++i)
      EXPECT_LE(largest_difference(found[i], expected[i]), 1e-5) << i;
  }
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
