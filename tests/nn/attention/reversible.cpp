// Reversible layers: gradients of plain layers, draws, and memory that does not grow with the depth.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

// A norm, then another module: what a Transformer's layer has in each residual branch.
template <class Module>
struct Normed {
  explicit Normed(int64_t width, Module module) : norm(width), module(std::move(module)) {}
  Tensor operator()(const Tensor& x) const { return module(norm(x)); }
  void visit(auto&& field) {
    field("norm", norm);
    field("module", module);
  }
  nn::LayerNorm norm;
  Module module;
};
using Attention = Normed<nn::ReformerSelfAttention>;
using FeedForward = Normed<nn::FeedForward>;
using Stack = nn::ReversibleStack<Attention, FeedForward>;

Stack reformer(int64_t width, int64_t depth) {
  Stack stack;
  for (int64_t i = 0; i < depth; ++i) {
    stack.layers.emplace_back(
        Attention(width, nn::ReformerSelfAttention({.d_in = width, .d_out = width, .num_heads = 2, .chunk_length = 8})),
        FeedForward(width, nn::FeedForward(width, 2 * width, 0.2, nn::Activation::gelu)));
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
  Tape tape;
  tape.backward(sum(stack(x)));
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
  EXPECT_EQ(with({x, ones({3})}, same, same),
            "[reversible] expected two floating halves of one shape, got float32 [2] and float32 [3]");
  EXPECT_EQ(with({x, x}, same, {}), "[reversible] expected functions f and g, got an empty one");
  EXPECT_EQ(with(
                {x, x}, [](const Tensor& in) { return sum(in); }, same),
            "[reversible] expected f and g to keep float32 [2], got float32 []");
  EXPECT_EQ(with({x, x}, same, same),
            "[reversible] cannot be differentiated twice: its backward is a fused kernel (compose it of plain "
            "operations)");
  for (const bool more : {false, true}) {
    int calls = 0;
    Tape tape;
    std::vector<nn::ReversibleFunctions> layers;
    layers.push_back({[&](const Tensor& in) { return (++calls == 1) == more ? in : dropout(in, 0.5); }, same});
    const Tensor y = sum(nn::reversible({x, x}, std::move(layers)).first);
    EXPECT_EQ(error_of([&] { tape.backward(y); }), std::string("[reversible] the function samples ") +
                                                       (more ? "more" : "fewer") +
                                                       " random numbers in backward than in forward");
  }
  Tape tape;
  EXPECT_EQ(nn::reversible({ones({2}), ones({2})}, {}).first.tape_index().tape, 0u) << "constants are not recorded";
}

}  // namespace
}  // namespace tapegrad::tests
