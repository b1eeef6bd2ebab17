// Hooks of gradients and of modules.
#include <tapegrad/tests/support/contents.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

TEST(OnGrad, SeesAndReplacesGradients) {
  const Tensor x = tensor({1., 2.}).as_leaf();
  std::vector<Values> seen;
  const auto grad_of = [&](auto hook) {
    Tape tape;
    const Tensor y = on_grad(x * 3, hook);
    return values_of(tape.backward(sum(y * y))[x]);
  };
  EXPECT_EQ(grad_of([&](auto& dy) { seen.push_back(values_of(dy)); }), (Values{18, 36}));
  EXPECT_EQ(seen, (std::vector<Values>{{6, 12}}));
  EXPECT_EQ(grad_of([](auto& dy) { return dy * -1; }), (Values{-18, -36}));
  EXPECT_EQ(grad_of([](const Tensor&) { return Tensor(); }), (Values{18, 36}));
  EXPECT_ERROR(grad_of([](const Tensor&) { return ones({3}); }));
  EXPECT_ERROR(grad_of([](auto& dy) { return dy.to(kFloat64); }));
}

// The tape's memory stays until the function returns.
TEST(OnGrad, AHookThatDestroysItsTapeIsAnError) {
  const std::string expected =
      "[backward] the tape was destroyed by a function that its backward called (end it afterwards)";
  const Tensor x = tensor({1., 2.}).as_leaf();
  for (const bool retain : {false, true}) {
    auto tape = std::make_unique<Tape>();
    std::string kept = "what the hook captured, which must live until the hook returns";
    const auto end = [&tape, kept](const Tensor& dy) {
      tape.reset();
      return dy * static_cast<double>(kept.size());
    };
    const Tensor y = sum(on_grad(x * 2, end));
    EXPECT_EQ(error_of([&] { tape->backward(y, {.retain_graph = retain}); }), expected);
    EXPECT_EQ(tape, nullptr);
    EXPECT_EQ(Tape::current(), nullptr);
    optim::SGD sgd({{"x", x}}, {.lr = 1});
    tape = std::make_unique<Tape>();
    EXPECT_EQ(error_of([&] { sgd.step(*tape, sum(on_grad(x * 2, end))); }), expected);
    EXPECT_EQ(sgd.steps(), 0);
  }
  {
    auto tape = std::make_unique<Tape>();
    const Tensor y = sum(on_grad(x * 2, [&](const Tensor&) {
      tape.reset();
      fail("hook", "and it throws");
    }));
    EXPECT_EQ(error_of([&] { tape->backward(y); }), "[hook] and it throws");
  }
  x.require_writable("test", "x");  // nothing holds it any more
  EXPECT_EQ(values_of(Tape().backward(sum(x * 2))[x]), (Values{2, 2}));
}

TEST(OnGrad, AConstantIsReturnedAsItIs) {
  const Tensor x = ones({2});
  const auto never = [](const Tensor&) { FAIL(); };
  EXPECT_TRUE(on_grad(x, never).same(x));
  Tape tape;
  EXPECT_TRUE(on_grad(x, never).same(x));
  const Tensor leaf = x.as_leaf();
  int calls = 0;
  const Tensor y = on_grad(leaf, [&](const Tensor&) { ++calls; });
  EXPECT_EQ(values_of(tape.backward(sum(leaf * 2))[leaf]), (Values{2, 2}));  // the hook belongs to y
  EXPECT_EQ(calls, 0);
}

TEST(OnGrad, IsRecordedUnderCreateGraph) {
  const Tensor x = tensor({3.}).as_leaf();
  Tape tape;
  const Tensor y = on_grad(x, [](auto& dy) { return dy * dy; });
  const Gradients first = tape.backward(sum(y * y), {.create_graph = true});  // (2x)^2
  EXPECT_EQ(values_of(first[x]), (Values{36}));
  EXPECT_EQ(values_of(tape.backward(sum(first[x]))[x]), (Values{576}));  // hook of 2 (2x) 2 = 8x = 24
}

struct Hooking {
  nn::Hooked<nn::Linear> up{2, 3};
  nn::Linear down{3, 1};
  nn::Hooked<nn::MultiHeadAttention> attention{nn::MultiHeadAttention(2, 1)};
  Tensor operator()(const Tensor& x) const { return down(up(x)); }
};

TEST(Hooked, IsTheModuleInAllElse) {
  Hooking model;
  EXPECT_EQ(names_of(model)[0], "up.weight");
  EXPECT_EQ(names_of(model).size(), 4U + 8U);
  EXPECT_EQ(model.up.weight->shape(), (Shape{3, 2}));
  const Tensor x = randn({4, 2});
  EXPECT_EQ(values_of(model.up(x)), values_of(linear(x, model.up.weight, model.up.bias)));
  EXPECT_EQ(nn::count_parameters(nn::clone(model)), nn::count_parameters(model));
}

TEST(Hooked, HooksSeeInputsAndOutputsAndMayReplaceThem) {
  Hooking model;
  const Tensor x = randn({4, 2});
  const Tensor plain = model.up(x);
  Names seen;
  const int64_t first =
      model.up.on_forward([&](auto& in, auto& out) { seen.push_back(str(in.shape()) + str(out.shape())); });
  const int64_t second = model.up.on_forward([](const Tensor&, auto& out) { return out * 0; });
  model.up.on_forward([&](const Tensor&, auto& out) { seen.push_back(amax(abs(out)).item() == 0 ? "0" : "x"); });
  EXPECT_EQ(values_of(model.up(x)), Values(12, 0));
  EXPECT_EQ(seen, (Names{"[4, 2][4, 3]", "0"}));
  model.up.remove_hook(second);
  Hooking copy = nn::clone(model);
  EXPECT_EQ(values_of(copy.up(x)), values_of(plain));
  EXPECT_EQ(seen.size(), 4U);
  model.up.remove_hook(first);
  EXPECT_EQ(error_of([&] { model.up.remove_hook(first); }), "[hooked] expected the number of a hook, got 1");
  model.up.remove_hooks();
  model(x);
  EXPECT_EQ(seen.size(), 4U);
}

TEST(Hooked, HooksTakeAsManyTensorsAsTheModule) {
  Hooking model;
  const Tensor x = randn({1, 3, 2});
  int64_t keys = 0;
  model.attention.on_forward([&](const Tensor&, auto& key, const Tensor&, const Tensor&) { keys = key.size(1); });
  model.attention(x, x, x, nn::AttentionPass{});
  EXPECT_EQ(keys, 3);
  model.attention.on_forward([](const Tensor&, const Tensor&) {});
  EXPECT_ERROR(model.attention(x, x, x));
}

TEST(Hooked, SeesTheGradientOfTheOutput) {
  Hooking model;
  Values seen;
  model.up.on_forward([&](const Tensor&, auto& out) { return on_grad(out, [&](auto& dy) { seen = values_of(dy); }); });
  Tape().backward(sum(model(ones({1, 2}))));
  EXPECT_EQ(seen, values_of(model.down.weight));
}

struct Watched {
  nn::Hooked<nn::Linear> up{6, 16};
  nn::Dropout dropout{0.3};
  nn::Linear down{16, 4};
  Tensor operator()(const Tensor& x) const { return down(dropout(relu(up(x)))); }
};

// The bits of four training steps and of generated tokens: draws, values, gradients, parameters.
Names bits_of_a_run(bool watched) {
  std::optional<Profiler> profiler;
  if (watched) profiler.emplace(ProfilerOptions{.measure_peak = false});
  manual_seed(3);
  Watched model;
  double seen = 0;
  if (watched) {
    model.up.on_forward([&](const Tensor&, auto& y) {
      seen += sum(y).item();
      return on_grad(y, [&](auto& dy) { seen += sum(dy).item(); });
    });
  }
  optim::Adam adam(nn::parameters(model), {.lr = 0.1});
  Names bits;
  for (int step = 0; step < 4; ++step) {
    Tape tape;
    if (watched) tape.trap_nan();
    const Tensor x = randn({8, 6}), y = model(x);
    const Gradients gradients = tape.backward(mean(square(y)));
    NamedTensors of{{"x", x}, {"y", y.detach()}};
    for (const auto& [name, parameter] : nn::parameters(model)) of.push_back({name, gradients[parameter]});
    adam.step(gradients);
    bits.push_back(bits_of(of));
    bits.push_back(bits_of(nn::state_dict(model)));
  }
  nn::GPTModel gpt({.vocab_size = 11, .context_length = 12, .emb_dim = 8, .n_heads = 2, .n_layers = 1});
  nn::GPTNext next(gpt);
  const nn::Generated text = nn::generate(next, tensor({{1, 2, 3}}), {.max_new_tokens = 8, .temperature = 0.9});
  bits.push_back(bits_of({{"tokens", text.tokens}}));
  EXPECT_EQ(seen != 0, watched);
  return bits;
}

TEST(Hooked, ProfilerNanTrapAndHooksThatReadChangeNoBit) {
  const Names plain = bits_of_a_run(false);
  EXPECT_EQ(plain.size(), 9U);
  EXPECT_EQ(bits_of_a_run(true), plain);
}

}  // namespace
}  // namespace tapegrad::tests
