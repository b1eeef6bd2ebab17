// Gradients per example of models, against batches of one; a step of differentially private training.
#include <tapegrad/tests/nn/models/small_models.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::nn {
namespace {

// losses(rows of x) for each row of x [B, ...], one by one and in one pass, from a tape that is kept: once, again, and
// of single leaves.
template <class Model, class Losses>
void expect_single_gradients(Model& model, const Tensor& x, Losses losses) {
  to(model, kFloat64);
  eval(model);
  const NamedTensors named = parameters(model);
  Tape tape;
  const Tensor all = losses(x);
  require_separate_examples(tape, all);
  const BackwardOptions options{.retain_graph = true, .per_example = true};
  const Gradients once = tape.backward(all, options), again = tape.backward(all, options);
  for (int64_t example = 0; example < x.size(0); ++example) {
    const Gradients single = Tape().backward(losses(x.slice(0, example, example + 1)));
    for (const NamedTensor& p : named) {
      const Tensor* const grad = single.find(p.tensor);
      ASSERT_EQ(once.contains(p.tensor), grad != nullptr) << p.name;
      if (!grad) continue;
      const Gradients alone = tape.backward(all, {.retain_graph = true, .only = {p.tensor}, .per_example = true});
      for (const Gradients* found : {&once, &again, &alone})
        tests::expect_within((*found)[p.tensor].select(0, example), *grad, 1e-10);
    }
  }
}

Tensor next_token_losses(const Tensor& logits, const Tensor& ids) {
  return mean(cross_entropy(logits, ids, {.reduction = Reduction::none}), 1);
}

TEST(PerExampleModel, GPT) {
  manual_seed(1);
  GPTConfig config{.vocab_size = 11, .context_length = 8, .emb_dim = 8, .n_heads = 2, .n_layers = 2, .drop_rate = 0};
  // As many positions as twice the examples: rows that do not belong to examples must not be taken for theirs.
  const Tensor ids = tensor({{1, 2, 3, 2, 10, 1}, {0, 0, 7, 8, 9, 0}, {4, 4, 4, 4, 5, 6}});
  for (const bool tied : {false, true}) {
    config.tied_head = config.qkv_bias = tied;
    GPTModel model(config);
    expect_single_gradients(model, ids, [&](const Tensor& x) { return next_token_losses(model(x), x); });
  }
}

TEST(PerExampleModel, Llama) {
  manual_seed(2);
  LlamaModel model(tests::small_llama());
  const Tensor ids = tensor({{1, 2, 3, 2}, {0, 0, 7, 8}});
  expect_single_gradients(model, ids, [&](const Tensor& x) { return next_token_losses(model(x), x); });
}

struct PrivateNet {
  Conv2d first{2, 4, 3, {.padding = 1}}, second{4, 6, 3, {.stride = 2, .groups = 2}, false};
  GroupNorm norm{2, 6};
  Linear last{6, 5};
  Tensor operator()(const Tensor& x) const { return last(mean(norm(relu(second(tanh(first(x))))), {-2, -1})); }
};

TEST(PerExampleModel, AnOperationThatCannotIsNamed) {
  manual_seed(4);
  BatchNorm1d norm(3);
  const NamedTensors named = parameters(norm);
  EXPECT_ERROR(Tape().backward(sum(norm(tests::normal_of({4, 3}, 1, kFloat32)), 1), {.per_example = true}));
}

// --- DP-SGD ---

// The losses of x [B, T, C] by a layer that sees time first, with as many steps as examples or a multiple of them.
TEST(PerExampleModel, TimeBeforeBatchIsAnErrorForAnyLength) {
  const Tensor w = tests::normal_of({4, 3}, 1).as_leaf(), scale = tests::normal_of({4}, 2).as_leaf();
  const auto of = [&](const std::function<Tensor(const Tensor&)>& losses, int64_t steps) {
    const std::string text = tests::error_of([&] {
      Tape().backward(losses(tests::normal_of({3, steps, 3}, 3)), {.per_example = true});
    });
    const std::size_t example = text.find("for example ");
    return example == std::string::npos ? text : text.substr(0, example + 12) + text.substr(example + 13);
  };
  const std::string mixed =
      "[backward] the gradient of the leaf [3, ...] for example  has parts of other losses: rows are not in the order "
      "of the examples, or the losses depend on several examples";
  for (const int64_t steps : {3, 6}) {
    const auto late = [&](const Tensor& x) { return linear(x.transpose(0, 1), w); };
    EXPECT_EQ(of([&](const Tensor& x) { return sum(sin(late(x).transpose(0, 1)), {1, 2}); }, steps), mixed);
    EXPECT_EQ(of([&](const Tensor& x) { return sum(square(late(x)), {0, 2}); }, steps), mixed);
    EXPECT_EQ(of([&](const Tensor& x) { return mean(late(x) * scale, {0, 2}); }, steps), mixed);
    EXPECT_EQ(of([&](const Tensor& x) { return sum(late(x).select(0, steps - 1), 1); }, steps), mixed);
  }
  const auto flat = [&](const Tensor& x) {  // [T B, C]
    return sum(linear(x.transpose(0, 1).reshape({12, 3}), w).reshape({4, 3, 4}), {0, 2});
  };
  EXPECT_EQ(of(flat, 4), mixed);
  for (const int64_t steps : {2, 3, 4, 6})  // batch first
    EXPECT_EQ(of([&](const Tensor& x) { return sum(sin(linear(x, w) * scale), {1, 2}); }, steps), "no error");
}

// The ids of an embedding are no input of its node.
TEST(PerExampleModel, WordsBeforeTheBatchAreAnError) {
  const Tensor table = tests::normal_of({5, 2}, 1).as_leaf(), w = tests::normal_of({4, 2}, 2).as_leaf();
  const auto is_mixed = [&](const auto& rows_of) {
    const std::string error = tests::error_of([&] {
      Tape tape;
      const Tensor rows = rows_of(tensor({{0, 1, 4}, {2, 2, 1}, {3, 0, 0}}));  // [T, B, C]
      tape.backward(sum(linear(mean(rows, 0), w), 1), {.per_example = true});
    });
    return error.find("has parts of other losses: rows are not in the order of the examples") != std::string::npos;
  };
  EXPECT_TRUE(is_mixed([&](const Tensor& ids) { return embedding(table, ids); }));
  const auto hidden = [&](const Tensor& ids) {
    return masked_fill(table[0].expand({3, 3, 2}), ids.unsqueeze(2) > 1, 0);
  };
  EXPECT_TRUE(is_mixed(hidden));
}

struct Square {  // all sizes are those of the batch
  Embedding words{4, 4};
  Linear first{4, 4}, second{4, 4};
  LayerNorm norm{4};
  RMSNorm last{4};
  MultiHeadAttention attention{4, 2};
  Tensor operator()(const Tensor& ids) const {
    const Tensor x = words(ids);
    const Tensor y = norm(gelu(first(x))) + attention(x, x, x);
    return sum(square(last(matmul(y, second.weight))), {1, 2});
  }
};

struct SquareImages {
  Conv2d conv{4, 4, 3, {.padding = 1}};
  ConvTranspose2d up{4, 4, 1};
  GroupNorm norm{4, 4};
  Tensor operator()(const Tensor& x) const { return sum(square(up(tanh(norm(conv(x))))), {1, 2, 3}); }
};

struct PrivateTokens {
  GPTModel model{{.vocab_size = 4, .context_length = 4, .emb_dim = 4, .n_heads = 2, .n_layers = 1, .drop_rate = 0}};
  Tensor operator()(const Tensor& ids) const { return next_token_losses(model(ids), ids); }
};

TEST(PerExampleModel, WidthsOfTheBatchAreNotTakenForIt) {
  manual_seed(6);
  const auto expect_single = [](auto model, const Tensor& x) { expect_single_gradients(model, x, std::cref(model)); };
  const Tensor ids = tensor({{0, 1, 2, 3}, {3, 3, 1, 0}, {2, 0, 2, 1}, {1, 1, 1, 3}});
  expect_single(Square(), ids);
  expect_single(SquareImages(), tests::normal_of({4, 4, 4, 4}, 1));
  expect_single(PrivateTokens(), ids);
}

// The step that per_example.h shows.
template <class Model>
void private_step(const Model& model, optim::Optimizer& optimizer, const Tensor& x, const Tensor& y, double max_norm,
                  double noise_multiplier, Generator& generator) {
  Tape tape;
  const Tensor losses = cross_entropy(model(x), y, {.reduction = Reduction::none});  // [B]
  Gradients grads = tape.backward(losses, {.per_example = true});                    // each [B, ...]
  optim::clip_per_example(grads, max_norm);
  optim::add_noise(grads, noise_multiplier * max_norm, &generator);
  grads *= 1.0 / static_cast<double>(x.size(0));
  optimizer.step(grads);
}

TEST(PerExampleModel, PrivateStep) {
  manual_seed(5);
  PrivateNet model;
  to(model, kFloat64);
  const Tensor x = tests::normal_of({4, 2, 7, 6}, 1), y = tensor({0, 4, 2, 2});
  const double max_norm = 0.5, noise = 0.25;
  std::vector<Tensor> expected;  // by a loop over the examples
  const NamedTensors named = parameters(model);
  for (const NamedTensor& p : named) expected.push_back(zeros_like(p.tensor));
  int clipped = 0;
  for (int64_t i = 0; i < 4; ++i) {
    Gradients grads = Tape().backward(cross_entropy(model(x.slice(0, i, i + 1)), y.slice(0, i, i + 1)));
    clipped += optim::clip_grad_norm(grads, max_norm) > max_norm;
    for (std::size_t k = 0; k < named.size(); ++k) expected[k] = expected[k] + grads[named[k].tensor];
  }
  EXPECT_GT(clipped, 0);
  Generator same(9), generator(9);
  for (std::size_t k = 0; k < named.size(); ++k) {
    const Tensor noisy = expected[k] + randn(named[k].tensor.shape(), kFloat64, &same) * noise;
    expected[k] = named[k].tensor.detach() - 0.1 * noisy / 4;
  }
  optim::SGD sgd(named, {.lr = 0.1});
  private_step(model, sgd, x, y, max_norm, noise / max_norm, generator);
  for (std::size_t k = 0; k < named.size(); ++k) tests::expect_within(named[k].tensor, expected[k], 1e-10);
}

TEST(PerExampleModel, ClippingErrors) {
  const Tensor w = ones({2}).as_leaf(), v = ones({2}).as_leaf();
  const auto clip = [&](const Tensor& of_w, const Tensor& of_v, double max_norm) {
    return tests::error_of([&] {
      Gradients grads;
      grads.set(w, of_w);
      grads.set(v, of_v);
      for (Gradients::Entry& entry : grads) {
        if (entry.place == v.tape_index()) entry.grad = ones({3, 2});  // as of three examples
      }
      optim::clip_per_example(grads, max_norm);
    });
  };
  EXPECT_EQ(clip(ones({2}), ones({2}), 0), "[clip_per_example] expected max_norm > 0, got 0");
  EXPECT_TEXT(clip(ones({2}), ones({2}), 1));
  EXPECT_TEXT(tests::error_of([] {
    Gradients none;
    optim::add_noise(none, -1);
  }));
  Gradients grads = Tape().backward(mean(full({3, 2}, INFINITY) * w, 1), {.per_example = true});
  EXPECT_ERROR(optim::clip_per_example(grads, 1));
}

TEST(PerExampleModel, NormsAreThoseOfAllLeaves) {
  const Tensor w = tests::normal_of({3, 2}, 1).as_leaf(), b = tests::normal_of({3}, 2).as_leaf(),
               x = tests::normal_of({5, 2}, 3);
  Gradients grads = Tape().backward(sum(linear(x, w, b), 1), {.per_example = true});
  const Tensor norms = tensor(optim::clip_per_example(grads, 1.5), {5});  // of rows [x; 1], three times
  tests::expect_near(norms, sqrt(3 * (sum(x * x, 1) + 1)));
  const Tensor factors = minimum(1.5 / (norms + 1e-6), ones({5}, kFloat64));
  tests::expect_near(grads[b], sum(factors).expand({3}));
}

}  // namespace
}  // namespace tapegrad::nn
