// nn::certify: right models of all sizes pass, and each of many planted bugs is found.
#include <tapegrad/autograd/io/numpy.h>
#include <tapegrad/nn/certify_gtest.h>
#include <tapegrad/tests/support/contents.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad {
namespace {

const Op kPlanted{"planted"};

using Middle = std::function<Tensor(const Tensor&)>;
using Batch = std::span<const Tensor>;

// A model that is right, around a function that may not be.
struct Around {
  nn::Linear first{6, 16}, second{16, 4};
  nn::LayerNorm norm{16};
  nn::Dropout dropout{0.2};
  Middle middle;
  Tensor operator()(const Tensor& x) const { return second(dropout(middle(norm(first(x))))); }
};

nn::Certificate certified(auto& model) {
  manual_seed(3);
  const auto loss = [](auto& m, Batch b) { return mean(square(m(b[0]) - b[1]), {}); };
  return nn::certify(model, loss, {randn({5, 6}), randn({5, 4})});
}

Tensor cube(const Tensor& x) { return x * x * x; }
Tensor slope(const Tensor& dy, const Tensor& x) { return dy * 3 * x * x; }

// x^3 with this backward.
template <class F>
Middle with(F backward) {
  return [backward](const Tensor& x) {
    return custom(kPlanted, {x}, cube, [x, backward](const Tensor& dy) -> Grads { return backward(dy, x); });
  };
}

Tensor with_element(const Tensor& x, int64_t at, double factor) {
  const Tensor y = x.contiguous().clone();
  if (y.dtype() == kFloat64) y.mutable_data<double>()[at] *= factor;
  if (y.dtype() == kFloat32) y.mutable_data<float>()[at] *= static_cast<float>(factor);
  return y;
}

struct Bug {
  const char* name;
  Middle middle;
};

// clang-format off
std::vector<Bug> bugs() {
  const auto calls = std::make_shared<int>(0);
  return {
      {"sign", with([](const Tensor& dy, const Tensor& x) { return -slope(dy, x); })},
      {"1 + 1e-3", with([](const Tensor& dy, const Tensor& x) { return slope(dy, x) * (1 + 1e-3); })},
      {"1 + 1e-6", with([](const Tensor& dy, const Tensor& x) { return slope(dy, x) * (1 + 1e-6); })},
      {"1 + 1e-7", with([](const Tensor& dy, const Tensor& x) { return slope(dy, x) * (1 + 1e-7); })},
      {"one element by 1e-5", with([](const Tensor& dy, const Tensor& x) { return with_element(slope(dy, x), 7, 1 + 1e-5); })},
      {"where x < 0", with([](const Tensor& dy, const Tensor& x) { return where(x < 0.0, slope(dy, x) * 1.01, slope(dy, x)); })},
      {"where x is large", with([](const Tensor& dy, const Tensor& x) { return where(x > 1.5, slope(dy, x) * 1.001, slope(dy, x)); })},
      {"rows swapped", with([](const Tensor& dy, const Tensor& x) { return cat({slope(dy, x).slice(0, 1), slope(dy, x).slice(0, 0, 1)}, 0); })},
      {"columns off by one", with([](const Tensor& dy, const Tensor& x) { return slope(roll(dy, 1, 1), x); })},
      {"a row forgotten", with([](const Tensor& dy, const Tensor& x) { return slope(dy, x) * (arange(5, dy.dtype()) > 0.0).to(dy.dtype()).unsqueeze(1); })},
      {"mean instead of sum", with([](const Tensor& dy, const Tensor& x) { return slope(dy, x) / 5; })},
      {"a term too much", with([](const Tensor& dy, const Tensor& x) { return slope(dy, x) + 1e-4; })},
      {"zero", with([](const Tensor& dy, const Tensor& x) { return slope(dy, x) * 0; })},
      {"NaN", with([](const Tensor& dy, const Tensor& x) { return with_element(slope(dy, x), 2, NAN); })},
      {"of y instead of x", with([](const Tensor& dy, const Tensor& x) { return slope(dy, cube(x)); })},
      {"in float32 only", with([](const Tensor& dy, const Tensor& x) { return slope(dy, x) * (x.dtype() == kFloat32 ? 1.01 : 1); })},
      {"in float64 only", with([](const Tensor& dy, const Tensor& x) { return slope(dy, x) * (x.dtype() == kFloat64 ? 1.01 : 1); })},
      {"second derivative only", with([](const Tensor& dy, const Tensor& x) { return dy * (3 * x * x).detach(); })},
      {"another one each time", with([calls](const Tensor& dy, const Tensor& x) { return slope(dy, x) * (1 + 1e-2 * (++*calls % 3)); })},
      {"another one each time, 1e-12", with([calls](const Tensor& dy, const Tensor& x) { return slope(dy, x) * (1 + 1e-12 * (++*calls % 3)); })},
      {"changes what it captured", with([](const Tensor& dy, const Tensor& x) {
         const Tensor g = slope(dy, x);
         if (x.dtype() == kFloat64 && x.is_contiguous()) x.mutable_data<double>()[0] += 1e-3;
         return g; })},
      {"uses up what it captured", [](const Tensor& x) {
         return custom(kPlanted, {x}, cube, [x, used = std::make_shared<bool>(false)](const Tensor& dy) -> Grads {
           return slope(dy, x) * (std::exchange(*used, true) ? 2 : 1); }); }},
      {"an operand forgotten", [](const Tensor& x) {
         return custom(kPlanted, {x, x}, [](const Tensor& a, const Tensor& b) { return a * b; },
                       [x](const Tensor& dy) -> Grads { return {dy * x, Tensor()}; }); }},
      {"an operand detached", [](const Tensor& x) { return x * x.detach(); }},
      {"softmax without its sum", [](const Tensor& x) {
         return custom(kPlanted, {x}, [](const Tensor& v) { return softmax(v, -1); },
                       [x](const Tensor& dy) -> Grads { const Tensor s = softmax(x, -1); return dy * s * (1 - s); }); }},
      {"a matrix not transposed", [](const Tensor& x) {
         const Tensor w = arange(256, x.dtype()).reshape({16, 16}) / 256;
         return custom(kPlanted, {x}, [w](const Tensor& v) { return matmul(v, w); },
                       [w](const Tensor& dy) -> Grads { return matmul(dy, w); }); }},
      {"relu that passes everything", [](const Tensor& x) {
         return custom(kPlanted, {x}, [](const Tensor& v) { return relu(v); }, [](const Tensor& dy) -> Grads { return dy; }); }},
      {"only the first use", [](const Tensor& x) { return tanh(x) + custom(kPlanted, {x}, cube, [](const Tensor& dy) -> Grads { return dy * 0; }); }},
      {"wrong if another gradient is not wanted", [](const Tensor& x) {
         Tensor y;
         { const PauseRecording pause; y = cube(x); }
         return record(kPlanted, y, {x, x}, [x](const Tensor& dy, const BackwardPass& pass) -> Grads {
           return {slope(dy, x) * (pass.unwanted == 0 && pass.retained ? 1.01 : 1), Tensor()}; }); }},
      {"dropout's mask drawn again", [](const Tensor& x) {
         return custom(kPlanted, {x}, [](const Tensor& v) { return dropout(v, 0.5, true); },
                       [](const Tensor& dy) -> Grads { return dropout(dy, 0.5, true); }); }},
  };
}
// clang-format on

TEST(Certify, FindsEachPlantedBug) {
  int count = 0;
  for (const Bug& bug : bugs()) {
    SCOPED_TRACE(bug.name);
    Around model{.middle = bug.middle};
    const nn::Certificate page = certified(model);
    EXPECT_FALSE(page.ok()) << page;
    ++count;
  }
  EXPECT_GE(count, 30);
  Around right{.middle = with(slope)};
  const nn::Certificate page = certified(right);
  EXPECT_TRUE(page.ok()) << page;
  EXPECT_EQ(page.count(nn::Verdict::unknown), 0) << page;
}

// Wrong in eval mode.
struct EvalOnly {
  nn::Linear a{6, 4};
  nn::Dropout dropout{0.2};
  Tensor operator()(const Tensor& x) const {
    const Tensor h = dropout(a(x));
    const double factor = dropout.training ? 1 : 1.001;
    return custom(kPlanted, {h}, cube, [h, factor](const Tensor& dy) -> Grads { return slope(dy, h) * factor; });
  }
};

struct Stateful {
  nn::Linear a{6, 4};
  std::shared_ptr<int> calls = std::make_shared<int>(0);
  Tensor operator()(const Tensor& x) const { return a(x) * (1 + 1e-3 * (*calls)++); }
  void visit(auto&& field) { field("a", a); }
};

// One element of a weight's gradient is wrong.
struct OneElement {
  nn::Linear a{6, 4};
  Tensor operator()(const Tensor& x) const {
    const Tensor w = a.weight;
    return custom(
        kPlanted, {x, w}, [](const Tensor& u, const Tensor& v) { return matmul(u, v.transpose(0, 1)); },
        [x, w](const Tensor& dy) -> Grads {
          return {matmul(dy, w), with_element(matmul(dy.transpose(0, 1), x), 17, 1.5)};
        });
  }
};

struct Parts {
  nn::Linear used{6, 4}, unused{2, 2}, frozen{4, 4}, off{6, 4};
  Tensor operator()(const Tensor& x) const { return frozen(used(x)) + relu(off(x) - 1000.0); }
};

struct Abs {
  nn::Parameter x{randn({30'000})};
  Tensor operator()() const { return sum(abs(x), {}); }
};

struct Captured {
  nn::Linear a{6, 4};
  nn::Parameter scale{ones({4})};
  Tensor operator()(const Tensor& x) const {
    const Tensor w = scale;
    return custom(
        kPlanted, {a(x)}, [w](const Tensor& v) { return v * w; }, [w](const Tensor& dy) -> Grads { return dy * w; });
  }
};

TEST(Certify, FindsBugsOfModules) {
  Stateful stateful;
  const nn::Certificate page = certified(stateful);
  EXPECT_FALSE(page.ok());
  EXPECT_EQ(page.sections.size(), 1u) << "differences would mean nothing";
  Captured captured;
  EXPECT_FALSE(certified(captured).ok());
  EvalOnly eval_only;
  EXPECT_FALSE(certified(eval_only).ok());
  Around wrong_shape{.middle = with([](const Tensor& dy, const Tensor& x) { return slope(dy, x).reshape({16, 5}); })};
  tests::expect_parts(tests::error_of([&] { certified(wrong_shape); }),
                      {"[planted] backward returned a gradient of shape [16, 5]"});
}

TEST(Certify, NamesTheElementAndTheOperation) {
  Around model{.middle = with([](const Tensor& dy, const Tensor& x) { return slope(dy, x) * 1.001; })};
  tests::expect_parts(certified(model).text(), {"WRONG    planted"});
  OneElement element;
  tests::expect_parts(certified(element).text(), {"element 17 of a.weight"});
}

TEST(Certify, SaysWhatIsDeadAndWhatIsNotChecked) {
  Parts model;
  nn::freeze(model.frozen);
  const nn::Certificate page = certified(model);
  EXPECT_TRUE(page.ok()) << page;
  tests::expect_parts(page.text(),
                      {"unknown  unused.weight", "DETACHED: it took no part in the loss", "unknown  off.weight",
                       "DEAD: its gradient is zero", "frozen.weight: frozen", "Not checked:"});
}

struct Padded {
  nn::Embedding table{5, 3, 0};
  nn::Linear head{3, 2};
};

// The loss depends on the vector of the padding, which has no gradient.
TEST(Certify, TheRowOfAPaddingIsNotMoved) {
  Padded model;
  const auto loss = [](Padded& m, Batch b) { return sum(square(m.head(tanh(m.table(b[0])))), {}); };
  const nn::Certificate page = nn::certify(model, loss, {tensor({{1, 2, 0}, {4, 0, 0}})});
  EXPECT_TRUE(page.ok()) << page;
  tests::expect_parts(page.text(), {"table.weight: row 0, the padding, which has no gradient"});
}

// By shapes: few keys are attended to by heads, many by blocks.
TEST(Certify, NamesThePathsThatAreNotReached) {
  const nn::Linear model(4, 4);
  const auto loss = [](const nn::Linear& m, Batch b) {
    const Tensor x = m(b[0]);
    return mean(square(scaled_dot_product_attention(x, x, x)), {});
  };
  const std::string blocks = "scaled_dot_product_attention by blocks of keys: not reached",
                    heads = "scaled_dot_product_attention by heads: not reached";
  const std::string few = nn::certify(model, loss, {randn({1, 2, 3, 4})}).text();
  EXPECT_NE(few.find(blocks), std::string::npos) << few;
  EXPECT_EQ(few.find(heads), std::string::npos) << few;
  const std::string many = nn::certify(model, loss, {randn({1, 1, 300, 4})}).text();
  EXPECT_EQ(many.find(blocks), std::string::npos) << many;
  EXPECT_NE(many.find(heads), std::string::npos) << many;
}

TEST(Certify, ManyKinksAreUndecidable) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    manual_seed(seed);
    Abs model;
    const nn::Certificate page = nn::certify(model, [](Abs& m, Batch) { return m(); }, {}, {.seed = seed});
    EXPECT_TRUE(page.ok()) << "seed " << seed << "\n" << page;
  }
}

TEST(Certify, ChangesNothingAndWritesItsNumbers) {
  Around model{.middle = with(slope)};
  nn::eval(model);
  const NamedTensors before = nn::state_dict(model);
  manual_seed(3);
  const nn::Certificate page = certified(model);
  const Tensor drawn = rand({3});
  manual_seed(3);
  static_cast<void>(randn({5, 6}));
  static_cast<void>(randn({5, 4}));
  EXPECT_TRUE(equal(drawn, rand({3}))) << "the default generator";
  EXPECT_FALSE(model.dropout.training);
  tests::expect_same(nn::state_dict(model), before);

  const std::string path = testing::TempDir() + "certify.npz";
  page.write_numpy(path);
  double derivative = 0;
  for (const NamedTensor& one : load_npz(path)) {
    if (!one.name.starts_with("gradient.")) continue;
    derivative += sum(one.tensor * load_npz(path, "v." + one.name.substr(9)), {}).item<double>();
  }
  EXPECT_NEAR(derivative, load_npz(path, "analytic").item<double>(), 1e-12);
  EXPECT_NE(derivative, 0);
  std::ostringstream out;
  out << page;
  EXPECT_EQ(out.str(), page.text());
}

TEST(Certify, AtTheSizeOfTraining) {
  manual_seed(5);
  nn::GPTModel model(
      nn::GPTConfig{.vocab_size = 128, .context_length = 16, .emb_dim = 32, .n_heads = 2, .n_layers = 2});
  const Tensor ids = randint(0, 128, {2, 16}), target = randint(0, 128, {2, 16});
  const auto loss = [](nn::GPTModel& m, Batch b) {
    return cross_entropy(m(b[0]).reshape({-1, 128}), b[1].reshape({-1}));
  };
  manual_seed(6);
  const NamedTensors initial = nn::state_dict(nn::GPTModel(model.config));
  EXPECT_TRUE(nn::gradients_certified(model, loss, {ids, target}, {.states = {{"initial", initial}}}));
  const nn::Certificate page = nn::certify(model, loss, {ids, target}, {.states = {{"initial", initial}}});
  EXPECT_EQ(page.count(nn::Verdict::unknown), 0) << page;
  EXPECT_NE(page.text().find("initial, train, direction 1"), std::string::npos);
  for (const char* title : {"Directional derivatives", "Taylor remainders", "Each tensor", "Operations",
                            "float32 gradients", "Equal bits", "Examples", "Negative control"})
    EXPECT_TRUE(page.section(title) && !page.section(title)->lines.empty()) << title;
}

TEST(Certify, Errors) {
  nn::Linear model(2, 2);
  const auto whole = [](nn::Linear& m, Batch b) { return m(b[0]); };
  const auto loss = [](nn::Linear& m, Batch b) { return sum(m(b[0]), {}); };
  const std::vector<Tensor> batch{ones({3, 2})};
  EXPECT_ERROR(nn::certify(model, whole, batch));
  EXPECT_ERROR(nn::certify(model, loss, batch, {.points = 0}));
  EXPECT_ERROR(nn::certify(model, loss, batch, {.states = {{"old", {}}}}));
  nn::freeze(model);
  EXPECT_ERROR(nn::certify(model, loss, {ones({3, 2}, kInt64)}));
}

}  // namespace
}  // namespace tapegrad
