// Reformer: hashes, rounds and caches; reversible layers: gradients and memory.
#include <tapegrad/tests/support/long_inputs.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

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
  const Tensor full = scaled_dot_product_attention(qk, normalize(qk, 2, -1), v, {.mask = !eye(128, kBool)});
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
  expect_same_from_a_cache(attention, x, {}, {3, 3, 1}, cache);
  EXPECT_ERROR(attention(narrow(x, 1, 0, 1), {.cache = &cache}));
  const nn::ReformerSelfAttention by_length({.d_in = 3, .d_out = 4, .num_heads = 2});
  nn::KVCache fresh;
  EXPECT_ERROR(by_length(x, {.cache = &fresh}));
}

TEST(Reformer, Errors) {
  EXPECT_ERROR(nn::ReformerSelfAttention({.num_heads = 5}));
  EXPECT_ERROR(nn::ReformerSelfAttention({.chunk_length = 0}));
  EXPECT_ERROR(nn::ReformerSelfAttention({.rounds = 0}));
  EXPECT_ERROR(nn::ReformerSelfAttention({.num_buckets = 6}));
  EXPECT_ERROR(nn::ReformerSelfAttention({.context_length = -1}));
  const Tensor x = ones({2, 4, 3});
  EXPECT_ERROR(nn::lsh_buckets(x, 6));
  EXPECT_ERROR(nn::lsh_buckets(x, 4, 0));
  EXPECT_ERROR(nn::lsh_buckets(ones({3}), 4));
}

// A norm, then another module: what a Transformer's layer has in each residual branch.
template <class Module>
struct Normed {
  int64_t width;
  Module module;
  nn::LayerNorm norm{width};
  Tensor operator()(const Tensor& x) const { return module(norm(x)); }
};
using Attention = Normed<nn::ReformerSelfAttention>;
using FeedForward = Normed<nn::FeedForward>;
using Stack = nn::ReversibleStack<Attention, FeedForward>;

Stack reformer(int64_t width, int64_t depth) {
  Stack stack;
  for (int64_t i = 0; i < depth; ++i) {
    stack.layers.emplace_back(
        Attention{width, nn::ReformerSelfAttention({.d_in = width, .d_out = width, .num_heads = 2, .chunk_length = 8})},
        FeedForward{width, nn::FeedForward(width, 2 * width, 0.2, nn::Activation::gelu)});
  }
  return stack;
}

TEST(Reversible, GradientsAreThoseOfPlainLayers) {
  manual_seed(1);
  Stack stack = reformer(8, 4);
  nn::to(stack, kFloat64);
  const Tensor x = randn({2, 20, 8}, kFloat64).as_leaf(), dy = randn({2, 20, 8}, kFloat64);
  std::vector<Tensor> found[2];
  for (const bool plain : {true, false}) {
    manual_seed(2);  // dropout and rotations
    stack.store_activations = plain;
    Tape tape;
    const Tensor y = stack(x * 2);
    const Gradients grads = tape.backward(y, {.grad_output = dy});
    found[plain] = {y.detach(), grads[x], rand({3})};
    for (const auto& [name, parameter] : nn::parameters(stack)) found[plain].push_back(grads[parameter]);
  }
  for (std::size_t i = 0; i < found[0].size(); ++i) {
    EXPECT_LE(amax(abs(found[0][i] - found[1][i])).item(), 1e-11) << i;
  }
}

TEST(Reversible, GivesGradientsToWhateverTheFunctionsUse) {
  const Tensor x = tensor({1., 2.}, kFloat64).as_leaf(), w = tensor({0.3, 0.4}, kFloat64).as_leaf();
  std::vector<Tensor> found[2];
  for (const bool again : {false, true}) {
    Tape tape;
    const Tensor skip = exp(x * -1);
    const auto f = [&](const Tensor& in) { return in * w + skip; };  // a leaf and a recorded tensor
    const auto g = [&](const Tensor&) { return skip * x; };          // not what it is given
    nn::Halves y{x * 2, w * 3};
    if (again) {
      std::vector<nn::ReversibleFunctions> layers;
      for (int i = 0; i < 2; ++i) layers.push_back({f, g});
      layers.push_back({[](const Tensor& in) { return in; }, [](const Tensor&) { return ones({2}, kFloat64); }});
      y = nn::reversible(y, std::move(layers));
    } else {
      for (int i = 0; i < 2; ++i) {
        y.first = y.first + f(y.second);
        y.second = y.second + g(y.first);
      }
      y.first = y.first + y.second;
      y.second = y.second + 1;
    }
    const Gradients grads = tape.backward(sum(y.first * y.second * w), {.keep = {skip}});
    found[again] = {y.first.detach(), y.second.detach(), grads[x], grads[w], grads[skip]};
  }
  for (std::size_t i = 0; i < found[0].size(); ++i) EXPECT_TRUE(allclose(found[0][i], found[1][i], 1e-13)) << i;
}

TEST(Reversible, AStackWithoutATapeIsInvertible) {
  manual_seed(3);
  Stack stack = reformer(8, 3);
  nn::to(stack, kFloat64);
  nn::eval(stack);
  const nn::Halves x{randn({1, 20, 8}, kFloat64), randn({1, 20, 8}, kFloat64)};
  nn::Halves y = stack(x);
  for (std::size_t i = stack.layers.size(); i-- > 0;) y = stack.layers[i].inverse(y);
  EXPECT_TRUE(allclose(y.first, x.first, 0, 1e-12));
  EXPECT_TRUE(allclose(y.second, x.second, 0, 1e-12));
}

// The peak of bytes of tensors in use during a training step of `stack`.
int64_t peak(Stack& stack, const Tensor& x) {
  pool::reset_peak();
  Tape().backward(sum(stack(x)));
  return pool::peak();
}

TEST(Reversible, MemoryDoesNotGrowWithTheDepth) {
  manual_seed(4);
  const Tensor x = randn({1, 8192, 32});
  // The sanitizer must see each allocation, so the pool is off, and there is no peak to measure.
  if (pool::stats().reserved == 0) GTEST_SKIP() << "under the address sanitizer nothing is pooled";
  const int64_t bytes = x.numel() * 4;
  const int threads = num_threads();
  set_num_threads(1);  // with more, the peak varies
  Stack shallow = reformer(32, 2), deep = reformer(32, 12);
  EXPECT_LE(peak(deep, x) - peak(shallow, x), bytes);
  shallow.store_activations = deep.store_activations = true;
  EXPECT_GE(peak(deep, x) - peak(shallow, x), 50 * bytes) << "ten plain layers keep at least five tensors each";
  set_num_threads(threads);
}

TEST(Reversible, Errors) {
  const Tensor x = ones({2}).as_leaf();
  const auto same = [](const Tensor& in) { return in; };
  const auto with = [&](const nn::Halves& halves, nn::Recomputed f, nn::Recomputed g) {
    return error_of([&] {
      Tape tape;
      std::vector<nn::ReversibleFunctions> layers;
      layers.push_back({std::move(f), std::move(g)});
      tape.backward(sum(nn::reversible(halves, std::move(layers)).first), {.create_graph = true});
    });
  };
  EXPECT_TEXT(with({x, ones({3})}, same, same));
  EXPECT_EQ(with({x, x}, same, {}), "[reversible] expected functions f and g, got an empty one");
  EXPECT_TEXT(with(
      {x, x}, [](const Tensor& in) { return sum(in); }, same));
  EXPECT_TEXT(with({x, x}, same, same));
  for (const bool more : {false, true}) {
    int calls = 0;
    Tape tape;
    std::vector<nn::ReversibleFunctions> layers;
    layers.push_back({[&](const Tensor& in) { return (++calls == 1) == more ? in : dropout(in, 0.5); }, same});
    const Tensor y = sum(nn::reversible({x, x}, std::move(layers)).first);
    EXPECT_ERROR(tape.backward(y));
  }
  Tape tape;
  EXPECT_EQ(nn::reversible({ones({2}), ones({2})}, {}).first.tape_index().tape, 0u) << "constants are not recorded";
}

}  // namespace
}  // namespace tapegrad::tests
