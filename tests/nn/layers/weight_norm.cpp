// Weight and spectral normalisation against PyTorch over several steps; members of ensembles against layers alone.
#include <tapegrad/tests/support/contents.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

// Trains and evaluates as tests/data/make_weight_norm.py.
template <class Make>
void expect_training(Make make, const Shape& shape, const std::string& name) {
  const Room room{2e-5, 2e-5};
  const Json& wanted = stored("weight_norm.json").at(name);
  manual_seed(0);
  auto module = make();
  optim::SGD sgd(nn::parameters(module), {.lr = 0.125});
  Names names = names_of(nn::state_dict(module));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(Json(names), wanted.at("names")) << name;
  int64_t step = 0;
  for (const Json& of : wanted.at("steps")) {
    Tape tape;
    const Tensor y = module(filled(shape, step).to(kFloat32));
    expect_close(y, of.at("y"), room, name);
    const Gradients grads = tape.backward(y, {.grad_output = filled(y.shape(), step + 7).to(kFloat32)});
    expect_close_gradients(module, grads, of.at("grads"), room);
    for (const auto& [path, buffer] : nn::named_buffers(module))
      expect_close(buffer, of.at("buffers").at(path), room, path);
    sgd.step(grads);
    ++step;
  }
  nn::eval(module);
  expect_close(module(filled(shape, 9).to(kFloat32)), wanted.at("evaluation"), room, name);
}

TEST(WeightNorm, TrainsAsInPyTorch) {
  expect_training([] { return nn::WeightNorm(nn::Linear(5, 3)); }, {2, 5}, "weight_norm linear");
  expect_training([] { return nn::WeightNorm(nn::Conv1d(4, 3, 3, {.padding = 1})); }, {2, 4, 6}, "weight_norm conv1d");
  expect_training([] { return nn::WeightNorm(nn::Conv1d(4, 3, 3), 1); }, {2, 4, 6}, "weight_norm conv1d, axis 1");
  expect_training([] { return nn::WeightNorm(nn::Conv1d(4, 3, 3, {}, false), std::nullopt); }, {2, 4, 6},
                  "weight_norm conv1d, all");
}

TEST(SpectralNorm, TrainsAsInPyTorch) {
  expect_training([] { return nn::SpectralNorm(nn::Linear(5, 3)); }, {2, 5}, "spectral_norm linear");
  expect_training([] { return nn::SpectralNorm(nn::Conv2d(3, 4, 3), {.n_power_iterations = 2}); }, {1, 3, 4, 5},
                  "spectral_norm conv2d");
  expect_training([] { return nn::SpectralNorm(nn::ConvTranspose1d(4, 3, 3)); }, {2, 4, 5},
                  "spectral_norm conv_transpose1d");
  expect_training([] { return nn::SpectralNorm(nn::LayerNorm(5)); }, {2, 5}, "spectral_norm layer_norm");
}

TEST(WeightNorm, KeepsTheLayersValues) {
  const nn::Linear plain(5, 3);
  const Tensor values = plain.weight.tensor().clone(), x = filled({2, 5}, 1).to(kFloat32);
  nn::Linear same(5, 3);
  same.weight.set(values);
  same.bias.set(plain.bias);
  nn::WeightNorm<nn::Linear> layer{std::move(same)};
  expect_near(layer.weight(), values);
  expect_near(layer(x), plain(x));
  EXPECT_EQ(nn::count_parameters(layer), 3 + 15 + 3);
  nn::require_whole_visit(layer);
}

struct TwoNorms {
  nn::WeightNorm<nn::Conv1d> first{nn::Conv1d(2, 3, 1)};
  nn::SpectralNorm<nn::Conv1d> second{nn::Conv1d(3, 2, 1)};
};

TEST(WeightNorm, IsAMember) {
  TwoNorms model;
  EXPECT_TEXT(names_of(nn::parameters(model)));
}

nn::Linear zero_linear() {
  nn::Linear linear(3, 2);
  linear.weight.set(zeros({2, 3}));
  linear.bias.set(zeros({2}));
  return linear;
}

TEST(WeightNorm, OfAWeightOfZerosIsZero) {
  nn::WeightNorm<nn::Linear> layer{zero_linear()};
  const Tensor half = tensor({{0., 0., 0.}, {3., 4., 0.}}).to(kFloat32);
  for (const Tensor& v : {zeros({2, 3}), half}) {
    layer.v.set(v);
    layer.g.set(ones({2, 1}));
    expect_near(layer.weight(), v / 5);
    const Gradients grads = Tape().backward(sum(layer(ones({1, 3}))));
    EXPECT_TRUE(all_finite(grads[layer.g]));
    expect_near(grads[layer.v][0], {1, 1, 1});
  }
}

// Its estimates survive: when the weight is no longer 0, the layer divides by its largest singular value.
TEST(SpectralNorm, OfAWeightOfZerosIsZero) {
  nn::SpectralNorm<nn::Linear> layer{zero_linear()};
  for (int i = 0; i < 3; ++i) {
    Tape tape;
    const Tensor y = layer(ones({1, 3}));
    expect_near(y, {0, 0});
    expect_near(tape.backward(sum(y))[layer.original], {1, 1, 1, 1, 1, 1});
  }
  layer.original.set(tensor({{2., 0., 0.}, {0., 1., 0.}}).to(kFloat32));
  for (int i = 0; i < 60; ++i) layer.weight();
  expect_near(layer.weight(), {1, 0, 0, 0, 0.5, 0});
}

TEST(SpectralNorm, EvaluationChangesNothing) {
  nn::SpectralNorm<nn::Linear> layer{nn::Linear(6, 4)};
  nn::eval(layer);
  const Tensor before = nn::state_dict(layer)[2].tensor.clone(), first = layer.weight();
  EXPECT_TRUE(all(layer.weight() == first));
  EXPECT_TRUE(all(nn::state_dict(layer)[2].tensor == before));
  nn::train(layer);
  for (int i = 0; i < 200; ++i) layer(zeros({1, 6}));
  nn::eval(layer);
  expect_near(norm(matmul(layer.weight().t(), matmul(layer.weight(), nn::state_dict(layer)[3].tensor))), {1});
}

TEST(WeightNorm, ErrorTexts) {
  EXPECT_ERROR(nn::WeightNorm(nn::Linear(5, 3), 2));
  EXPECT_ERROR(nn::SpectralNorm(nn::Linear(5, 3), {.axis = 2}));
  EXPECT_ERROR(nn::WeightNorm{nn::Linear()});
  EXPECT_ERROR(nn::SpectralNorm(nn::Linear(5, 3), {.n_power_iterations = 0}));
}

struct NetAlone {
  nn::Linear up{4, 8}, down{8, 2};
  Tensor operator()(const Tensor& x) const { return down(tanh(up(x))); }
};
struct EnsembleOfNets {
  nn::EnsembleLinear up{3, 4, 8}, down{3, 8, 2};
  Tensor operator()(const Tensor& x) const { return down(tanh(up(x))); }
};

NamedTensors stacked(const std::vector<NetAlone>& nets) {
  std::vector<NamedTensors> states;
  for (const NetAlone& net : nets) states.push_back(nn::state_dict(net));
  return nn::stack_states(states);
}

TEST(Ensemble, InitialValuesAreThoseOfLayersInOrder) {
  manual_seed(7);
  const nn::EnsembleLinear layers(3, 4, 8);
  manual_seed(7);
  for (int64_t i = 0; i < 3; ++i) {
    const nn::Linear one(4, 8);
    EXPECT_TRUE(equal(layers.weight.tensor()[i], one.weight.tensor()));
    EXPECT_TRUE(equal(layers.bias.tensor()[i], one.bias.tensor()));
  }
}

TEST(Ensemble, MembersTrainAsTheyWouldAlone) {
  manual_seed(1);
  std::vector<NetAlone> alone(3);
  EnsembleOfNets nets;
  nn::load_state_dict(nets, stacked(alone));
  const Tensor x = randn({5, 4}), target = randn({5, 2});
  optim::Adam adam(nn::parameters(nets), {.lr = 0.01});
  for (int step = 0; step < 10; ++step) {
    adam.step(Tape().backward(sum(mean(square(nets(x) - target), {1, 2}))));
  }
  const NamedTensors state = nn::state_dict(nets);
  for (int64_t i = 0; i < 3; ++i) {
    NetAlone& net = alone[static_cast<std::size_t>(i)];
    optim::Adam own(nn::parameters(net), {.lr = 0.01});
    for (int step = 0; step < 10; ++step) {
      own.step(Tape().backward(mean(square(net(x) - target))));
    }
    NetAlone member;
    nn::load_state_dict(member, nn::member_state(state, i));
    EXPECT_TRUE(equal(member(x), nets(x)[i])) << i;
    EXPECT_TRUE(allclose(member(x), net(x), 1e-4, 1e-5)) << i;
    EXPECT_FALSE(allclose(member(x), alone[static_cast<std::size_t>((i + 1) % 3)](x), 1e-2, 1e-2)) << i;
  }
}

TEST(Ensemble, EachMemberMayHaveInputsOfItsOwn) {
  manual_seed(2);
  const nn::EnsembleLinear layers(3, 4, 8, false);
  const Tensor x = randn({3, 5, 4});
  const Tensor y = layers(x);
  ASSERT_EQ(y.shape(), (Shape{3, 5, 8}));
  for (int64_t i = 0; i < 3; ++i)
    EXPECT_TRUE(equal(y[i], linear(x[i].contiguous(), layers.weight.tensor()[i].contiguous())));
  EXPECT_FALSE(layers.bias.defined());
}

TEST(Ensemble, Errors) {
  EXPECT_EQ(error_of([] { nn::EnsembleLinear(0, 4, 8); }), "[ensemble] expected the number of members > 0, got 0");
  const nn::EnsembleLinear layers(3, 4, 8);
  for (const Shape& shape : {Shape{5, 3}, Shape{2, 5, 4}, Shape{4}}) {
    EXPECT_ERROR(layers(zeros(shape)));
  }
  EXPECT_EQ(error_of([] { (void)nn::stack_states({}); }), "[stack_states] expected one state or more, got none");
  const nn::Linear small(4, 2), large(4, 3), bare(4, 2, false);
  EXPECT_ERROR(nn::stack_states({nn::state_dict(small), nn::state_dict(large)}));
  EXPECT_ERROR(nn::stack_states({nn::state_dict(small), nn::state_dict(bare)}));
  EXPECT_ERROR(nn::member_state(nn::state_dict(layers), 3));
}

}  // namespace
}  // namespace tapegrad::tests
