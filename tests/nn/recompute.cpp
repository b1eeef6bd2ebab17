// Recomputation: the same values and gradients as without it, for any tensors that the function uses and draws.
// ctest: threads
#include <tapegrad/tests/support/contents.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

// f(x) or recompute(x, f)
template <class F>
Tensor maybe_recomputed(bool again, const Tensor& x, const F& f) {
  return again ? nn::recompute(x, f) : f(x);
}

// Expects the same bits of results(without recomputation) and results(with it).
template <class Results>
void expect_same_recomputed(const Results& results) {
  expect_same_results(results, {false, true});
}

TEST(Recompute, GivesGradientsToWhateverTheFunctionUses) {
  const Tensor x = tensor({1., 2.}).as_leaf(), w = tensor({3., 4.}).as_leaf();
  expect_same_recomputed([&](bool again) {
    Tape tape;
    const Tensor skip = exp(x), unused = x * 2;
    const auto f = [&](const Tensor& in) { return in * w + skip * x; };  // a leaf, a recorded tensor, and x itself
    const Tensor y = maybe_recomputed(again, x * 1, f);
    const Gradients grads = tape.backward(sum(y * w), {.keep = {skip}});
    return std::vector<Tensor>{y.detach(), grads[x], grads[w], grads[skip]};
  });
}

TEST(Recompute, Nests) {
  const Tensor x = randn({4, 4}).as_leaf(), w = randn({4, 4}).as_leaf();
  expect_same_recomputed([&](bool again) {
    manual_seed(3);
    Tape tape;
    const auto inner = [&](const Tensor& in) { return dropout(tanh(matmul(in, w)), 0.5); };
    const auto outer = [&](const Tensor& in) { return maybe_recomputed(again, dropout(in * w, 0.3), inner) + in; };
    const Tensor y = maybe_recomputed(again, x, outer);
    const Gradients grads = tape.backward(sum(y));
    return std::vector<Tensor>{y.detach(), grads[x], grads[w], rand({3})};
  });
}

TEST(Recompute, OfAConstantIsAConstant) {
  const Tensor w = tensor({3., 4.}).as_leaf();
  const Tensor ids = tensor({1, 0});
  Tape tape;
  EXPECT_EQ(nn::recompute(tensor({1., 2.}), [](const Tensor& in) { return in * 2; }).tape_index().tape, 0u);
  const Tensor y = nn::recompute(ids, [&](const Tensor& at) { return index_select(w, 0, at); });
  EXPECT_EQ(tape.backward(sum(y * tensor({1., 5.})))[w].to_vector<float>(), (Values{5, 1}));
}

TEST(Recompute, OfWhatTheFunctionReturnsAsItIs) {
  const Tensor x = tensor({1., 2.}).as_leaf(), w = tensor({3., 4.}).as_leaf();
  const Tensor table = tensor({8., 9.});
  expect_same_recomputed([&](bool again) {
    Tape tape;
    const Tensor h = x * w;
    Tensor loss = sum(x) + sum(w);
    loss = loss + sum(10 * maybe_recomputed(again, h, [&](const Tensor&) { return h; }));      // recorded
    loss = loss + sum(20 * maybe_recomputed(again, h, [&](const Tensor&) { return w; }));      // a leaf
    loss = loss + sum(30 * maybe_recomputed(again, h, [&](const Tensor& in) { return in; }));  // its operand
    loss = loss + sum(40 * maybe_recomputed(again, h, [&](const Tensor&) { return table; }));  // a constant
    const Gradients grads = tape.backward(loss);
    EXPECT_EQ(table.tape_index().tape, 0u) << "it was not recorded";
    return std::vector<Tensor>{grads[x], grads[w]};
  });
}

TEST(Recompute, ABackwardMayDrawNumbersOfItsOwn) {
  static const Op kNoise{"noise"};
  const auto noisy = [](const Tensor& in) {
    return custom(
        kNoise, {in * 2}, [](const Tensor& a) { return a * 1; },
        [](const Tensor& dy) -> Grads { return dy + 0.001 * randn(dy.shape()); });
  };
  const Tensor x = tensor({1., 2.}).as_leaf();
  expect_same_recomputed([&](bool again) {
    manual_seed(1);
    return std::vector<Tensor>{Tape().backward(sum(maybe_recomputed(again, x, noisy)))[x]};
  });
  EXPECT_EQ(error_of([&] { nn::recompute(x, {}); }), "[recompute] expected a function, got an empty one");
}

// y = dropout(x): x * dy/dx is y.
bool belongs_to_its_forward(const Tensor& x, Generator* generator) {
  Tape tape;
  const Tensor y = nn::recompute(x, [=](const Tensor& in) { return dropout(in, 0.5, true, generator); });
  const Gradients grads = tape.backward(sum(y));
  return !any(ne(grads[x] * x, y.detach()));
}

TEST(Recompute, DrawsTheSameFromAnExplicitGenerator) {
  Generator own(7), twin(7);
  const Tensor x = randn({64, 64}).as_leaf();
  EXPECT_TRUE(belongs_to_its_forward(x, &own));
  twin.keep_mask(std::vector<uint8_t>(64 * 64).data(), 64 * 64, 0.5);
  EXPECT_EQ(own.state(), twin.state());  // one forward was drawn, and nothing in backward
}

TEST(Recompute, DoesNotChangeTheDefaultGeneratorInBackward) {
  const Tensor x = randn({8, 8}).as_leaf();
  Tape tape;
  const Tensor y = nn::recompute(x, [](const Tensor& in) { return dropout(in, 0.5); });
  rand({5});  // other draws between forward and backward
  const auto before = default_generator().state();
  tape.backward(sum(y));
  EXPECT_EQ(default_generator().state(), before);
}

TEST(Recompute, TwoThreadsShareTheDefaultGenerator) {
  std::atomic<int> wrong{0};
  const auto work = [&](uint64_t seed) {
    Generator own(seed);
    const Tensor x = randn({64, 64}, kFloat32, &own).as_leaf();
    for (int i = 0; i < 100; ++i) wrong += !belongs_to_its_forward(x, nullptr);
  };
  std::thread a(work, 1), b(work, 2);
  a.join();
  b.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Recompute, DetectsThatTheFunctionChanged) {
  const Tensor x = randn({4}).as_leaf();
  int calls = 0;
  Tape tape;
  const Tensor y = nn::recompute(x, [&](const Tensor& in) { return ++calls == 1 ? in * 2 : dropout(in, 0.5); });
  EXPECT_ERROR(tape.backward(sum(y)));
  calls = 0;
  Tape second;
  const Tensor z = nn::recompute(x, [&](const Tensor& in) { return ++calls == 1 ? dropout(in, 0.5) : in * 2; });
  EXPECT_ERROR(second.backward(sum(z)));
}

nn::GPTModel small_gpt() {
  manual_seed(1);
  nn::GPTModel model(
      {.vocab_size = 11, .context_length = 16, .emb_dim = 16, .n_heads = 2, .n_layers = 2, .drop_rate = 0});
  model.recompute_blocks = true;
  return model;
}

// So Optimizer::step(tape, loss) need not wait, and a training step keeps its memory.
TEST(Recompute, OfTheBlocksOfAModelReadsRecordedParametersOnly) {
  const nn::GPTModel model = small_gpt();
  Tape tape;
  const Tensor y = model(tensor({1, 2, 3}).reshape({1, 3}));
  EXPECT_FALSE(tape.reads_anything());
  nn::recompute(y, [](const Tensor& in) { return in * 2; });
  EXPECT_TRUE(tape.reads_anything());
}

TEST(Recompute, DoesNotChangeTheNamesOfAConstModel) {
  nn::GPTModel model = small_gpt();
  nn::parameters(model);
  const std::string name = "trf_blocks.1.att.W_query.weight";
  EXPECT_EQ(model.trf_blocks[1].att.query.weight.name(), name);
  Tape tape;
  const nn::GPTModel& shared = model;
  shared(tensor({1, 2, 3}).reshape({1, 3}));
  nn::parameters(shared.trf_blocks[1]);
  EXPECT_EQ(model.trf_blocks[1].att.query.weight.name(), name);
}

TEST(Recompute, RunsOneConstModelInTwoThreads) {  // for the thread sanitizer
  nn::GPTModel model = small_gpt();
  const nn::GPTModel& shared = model;
  const auto work = [&] {
    for (int i = 0; i < 20; ++i) {
      Tape().backward(sum(shared(tensor({1, 2, 3}).reshape({1, 3}))));
      nn::parameters(shared);
    }
  };
  std::thread a(work), b(work);
  a.join();
  b.join();
}

}  // namespace
}  // namespace tapegrad::tests
