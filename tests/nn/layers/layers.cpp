// Layers: initial values, shapes, values, masks and errors.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

void expect_floats(const Tensor& x, const std::vector<float>& expected) {
  const std::vector<float> values = x.to_vector<float>();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-6) << i;
}

// --- initial values ---

TEST(Init, EmbeddingZeroesThePaddingRowAfterTheDraw) {
  manual_seed(5);
  const nn::Embedding plain(4, 3);
  manual_seed(5);
  const nn::Embedding padded(4, 3, 1);
  std::vector<float> expected = plain.weight->to_vector<float>();
  std::fill_n(expected.begin() + 3, 3, 0.0F);
  EXPECT_EQ(padded.weight->to_vector<float>(), expected);
}

// torch.manual_seed(7), then the initialiser of that name in PyTorch 2.15: the sum of (i + 1) w[i], and some values.
TEST(Init, EqualsPyTorch) {
  struct Case {
    Shape shape;
    std::function<void(nn::Parameter&)> init;
    double sum;
    std::vector<double> first;
  };
  const auto orthogonal = [](nn::Parameter& p) { nn::init::orthogonal(p); };
  const std::vector<Case> cases = {
      {{2, 3},
       [](nn::Parameter& p) { nn::init::orthogonal(p, 1.5); },
       1.5624471,
       {-0.1776649, 0.9514606, 1.145931, -0.7338163, 0.9483554, -0.9011856}},
      {{3, 2}, orthogonal, 7.3902698, {-0.0755353, 0.7852973, 0.4871993}},
      {{3, 3}, orthogonal, -3.3286916, {-0.1245198, 0.6232474}},
      {{2, 3, 2}, orthogonal, -4.1111487, {-0.05785751, 0.3098482, 0.3731785}},
      {{20, 33}, orthogonal, 597.93998, {-0.1476389, 0.07122068, 0.1618196}},
      {{2, 3},
       [](nn::Parameter& p) { nn::init::trunc_normal(p, 0.5, 2, -1, 1.5); },
       11.945311,
       {0.2064098, 0.9810923, 0.7763453, -0.7056966, 1.135357, 0.7656139}},
      {{2, 3, 2},
       [](nn::Parameter& p) { nn::init::kaiming_uniform(p, 0, nn::init::Fan::out); },
       11.158702,
       {0.08554241, -0.7377785, 0.3899874}},
      {{2, 3, 2},
       [](nn::Parameter& p) { nn::init::kaiming_normal(p, 0.5, nn::init::Fan::out); },
       -0.14357705,
       {-0.09284137, 0.4971994, 0.5988226}},
      {{2, 3, 2}, [](nn::Parameter& p) { nn::init::kaiming_uniform(p); }, 9.1110411, {0.06984508, -0.6023936}},
      {{2, 3, 2}, [](nn::Parameter& p) { nn::init::kaiming_normal(p); }, -0.13106762, {-0.08475219, 0.4538789}},
      {{2, 3, 2}, [](nn::Parameter& p) { nn::init::xavier_uniform(p); }, 7.0573826, {0.05410177, -0.4666121}},
      {{2, 3, 2}, [](nn::Parameter& p) { nn::init::xavier_normal(p); }, -0.10152469, {-0.06564876, 0.3515731}},
      {{4, 3, 3, 2}, [](nn::Parameter& p) { nn::init::dirac(p, 2); }, 136, {0, 0, 0, 1, 0}},
      {{2, 3, 2}, [](nn::Parameter& p) { nn::init::dirac(p); }, 12, {0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0}},
      {{2, 3}, [](nn::Parameter& p) { nn::init::eye(p); }, 6, {1, 0, 0, 0, 1, 0}},
  };
  for (const Case& one : cases) {
    manual_seed(7);
    nn::Parameter p(full(one.shape, 3));
    one.init(p);
    const std::vector<double> values = p->to(kFloat64).to_vector<double>();
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) sum += static_cast<double>(i + 1) * values[i];
    EXPECT_NEAR(sum, one.sum, 2e-6 * std::abs(one.sum) + 2e-6);
    for (std::size_t i = 0; i < one.first.size(); ++i) EXPECT_NEAR(values[i], one.first[i], 1e-6) << i;
  }
}

TEST(Init, OrthogonalInFloat64AndErrors) {
  nn::Parameter p(zeros({5, 3, 2}, kFloat64));
  nn::init::orthogonal(p, 2);
  const Tensor rows = p->reshape({5, 6});
  expect_near(matmul(rows, rows.t()), eye(5, kFloat64) * 4.0);
  nn::Parameter vector(zeros({3})), matrix(zeros({3, 2})), cube(zeros({3, 2, 2}));
  EXPECT_ERROR(nn::init::orthogonal(vector));
  EXPECT_ERROR(nn::init::xavier_uniform(vector));
  EXPECT_EQ(error_of([&] { nn::init::eye(vector); }), "[init] expected a parameter with two axes, got [3]");
  EXPECT_EQ(error_of([&] { nn::init::dirac(matrix); }), "[init] expected a weight [out, in, K, ...], got [3, 2]");
  EXPECT_EQ(error_of([&] { nn::init::dirac(cube, 2); }), "[init] expected groups that divide the 3 outputs, got 2");
}

// --- layers ---

TEST(Layers, NormsOverSeveralAxesAndWithoutParameters) {
  const Tensor x = sin(arange(24).to(kFloat64)).reshape({2, 3, 4}), rows = x.reshape({2, 12});
  const auto expect_equal = [&](const Tensor& y, const Tensor& of_rows) {
    EXPECT_TRUE(equal(y, of_rows.reshape(x.shape())));
  };
  expect_equal(nn::LayerNorm{{3, 4}, {.affine = false}}(x), layer_norm(rows, {}, {}));
  expect_equal(nn::LayerNorm(4, {.eps = 1e-3, .affine = false})(x), layer_norm(x, {}, {}, 1e-3));
  expect_equal(nn::RMSNorm{{3, 4}, {.eps = 1e-3, .affine = false}}(x), rms_norm(rows, {}, 1e-3));
  expect_equal(nn::RMSNorm(4, {.affine = false})(x), rms_norm(x, {}));
  nn::LayerNorm layer{{3, 4}};
  nn::RMSNorm rms{{3, 4}};
  EXPECT_EQ(layer.weight->shape(), Shape({3, 4}));
  EXPECT_EQ(layer.bias->shape(), Shape({3, 4}));
  nn::to(layer, kFloat64);
  nn::to(rms, kFloat64);
  expect_equal(layer(x), layer_norm(rows, {}, {}));
  expect_equal(rms(x), rms_norm(rows, {}));
  EXPECT_EQ(nn::count_parameters(nn::LayerNorm{{3, 4}, {.bias = false}}), 12);
  EXPECT_EQ(nn::count_parameters(nn::LayerNorm(4, {.affine = false})), 0);
}

TEST(Layers, Activations) {
  const Tensor x = tensor({-1., 2.});
  expect_floats(nn::activate(nn::Activation::relu, x), {0, 2});
  expect_floats(nn::activate(nn::Activation::gelu, x), {-0.15865525F, 1.9544997F});
  expect_floats(nn::activate(nn::Activation::gelu_tanh, x), {-0.158808F, 1.9545977F});
  expect_floats(nn::activate(nn::Activation::silu, x), {-0.26894143F, 1.7615942F});
  expect_floats(nn::activate(nn::Activation::tanh, x), {-0.7615942F, 0.9640276F});
  expect_floats(nn::activate(nn::Activation::sigmoid, x), {0.26894143F, 0.8807971F});
  expect_floats(nn::activate(nn::Activation::leaky_relu, x), {-0.01F, 2});
  expect_floats(nn::activate({nn::Activation::leaky_relu, 0.25}, x), {-0.25F, 2});
  expect_floats(nn::activate(nn::Activation::elu, x), {-0.63212055F, 2});
  expect_floats(nn::activate({nn::Activation::elu, 0.5}, x), {-0.31606028F, 2});
  EXPECT_EQ(error_of([&] {
              nn::activate({nn::Activation::tanh, 0.5}, x);
            }),
            "[activation] tanh has no parameter, got 0.5");
  EXPECT_EQ(nn::activation_named("gelu_tanh"), nn::Activation::gelu_tanh);
  for (const std::string_view name : nn::activation_names()) EXPECT_EQ(nn::name(nn::activation_named(name)), name);
  EXPECT_EQ(error_of([] { nn::activation_named("gleu"); }),
            fmt::format("[activation] expected one of {}, got \"gleu\"", fmt::join(nn::activation_names(), ", ")));
}

// --- activations ---

TEST(Activations, AreTheFunctionsWithPyTorchsDefaults) {
  const Tensor x = tensor({{-7.0, -0.5, 0.0, 0.25}, {0.75, 1.5, 3.5, 30.0}});
  const auto same = [&](const auto& module, const Tensor& y) { EXPECT_TRUE(equal(module(x), y)); };
  same(nn::ReLU(), relu(x));
  same(nn::ReLU6(), clamp(x, 0, 6));
  same(nn::SELU(), selu(x));
  same(nn::SiLU(), silu(x));
  same(nn::Mish(), mish(x));
  same(nn::Sigmoid(), sigmoid(x));
  same(nn::LogSigmoid(), log_sigmoid(x));
  same(nn::Tanh(), tanh(x));
  same(nn::Softsign(), softsign(x));
  same(nn::Hardsigmoid(), hardsigmoid(x));
  same(nn::Hardswish(), hardswish(x));
  same(nn::GELU(), gelu(x));
  same(nn::GELU{.form = Gelu::tanh}, gelu(x, Gelu::tanh));
  same(nn::LeakyReLU(), where(x > 0, x, x * 0.01));
  same(nn::LeakyReLU{.negative_slope = 0.5}, leaky_relu(x, 0.5));
  same(nn::ELU{.alpha = 0.5}, elu(x, 0.5));
  same(nn::Softplus(), softplus(x, 1, 20));
  same(nn::Hardtanh(), clamp(x, -1, 1));
  same(nn::Softmax(), softmax(x, -1));
  same(nn::LogSoftmax{.axis = 0}, log_softmax(x, 0));
  same(nn::GLU(), glu(x, -1));
  same(nn::PReLU(), leaky_relu(x, 0.25));
}

TEST(Activations, PReLULearnsItsSlopes) {
  nn::PReLU slopes(3);
  EXPECT_EQ(nn::parameters(slopes)[0].name, "weight");
  slopes.weight.set(tensor({0.1, 0.2, 0.3}));
  const nn::PReLU copy = nn::clone(slopes);
  expect_floats(copy(full({1, 3, 2}, -10)), {-1, -1, -2, -2, -3, -3});
  const Gradients grads = Tape().backward(sum(copy(full({1, 3, 2}, -10))));
  expect_floats(grads[copy.weight], {-20, -20, -20});
  EXPECT_EQ(error_of([] { nn::PReLU(0); }), "[prelu] expected the number of channels > 0, got 0");
}

// --- errors ---

TEST(Errors, Sizes) {
  EXPECT_ERROR(nn::Linear(0, 3));
  EXPECT_ERROR(nn::Linear(3, -1));
  EXPECT_ERROR(nn::Embedding(-5, 3));
  EXPECT_ERROR(nn::Embedding(5, 3, 5));
  EXPECT_ERROR(nn::LayerNorm(0));
  EXPECT_ERROR(nn::LayerNorm{{3, 0}});
  EXPECT_ERROR(nn::RMSNorm{Shape()});
  EXPECT_ERROR(nn::LayerNorm{{3, 4}, {.affine = false}}(ones({2, 4})));
  EXPECT_ERROR(nn::SinusoidalPositions(50, 6)(zeros({1, 51, 6})));
  EXPECT_ERROR(nn::sequence_loss(zeros({2, 3, 5}), tensor({{0, 1}, {0, 1}})));
  EXPECT_ERROR(nn::padding_mask(ones({2, 2})));
  EXPECT_ERROR(nn::causal_mask(0));
  EXPECT_ERROR(nn::Dropout(1.5));
  EXPECT_ERROR(nn::Dropout(-0.1));
  EXPECT_ERROR(nn::MultiHeadAttention(10, 3));
  EXPECT_ERROR(nn::MultiHeadAttention(8, 2)(ones({1, 3, 8}), ones({1, 4, 6}), ones({1, 4, 6})));
}

}  // namespace
}  // namespace tapegrad::tests
