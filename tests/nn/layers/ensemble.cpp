// EnsembleLinear and stacked states: members are the layers that they were made of, in every bit; errors.
#include <tapegrad/nn/gradcheck_gtest.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

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
    Tape tape;
    adam.step(tape.backward(sum(mean(square(nets(x) - target), {1, 2}))));
  }
  const NamedTensors state = nn::state_dict(nets);
  for (int64_t i = 0; i < 3; ++i) {
    NetAlone& net = alone[static_cast<std::size_t>(i)];
    optim::Adam own(nn::parameters(net), {.lr = 0.01});
    for (int step = 0; step < 10; ++step) {
      Tape tape;
      own.step(tape.backward(mean(square(net(x) - target))));
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
    EXPECT_EQ(error_of([&] { (void)layers(zeros(shape)); }),
              "[ensemble] expected x [B, 4] or [3, B, 4] for 3 members, got " + str(shape));
  }
  EXPECT_EQ(error_of([] { (void)nn::stack_states({}); }), "[stack_states] expected one state or more, got none");
  const nn::Linear small(4, 2), large(4, 3), bare(4, 2, false);
  EXPECT_ERROR(nn::stack_states({nn::state_dict(small), nn::state_dict(large)}));
  EXPECT_ERROR(nn::stack_states({nn::state_dict(small), nn::state_dict(bare)}));
  EXPECT_ERROR(nn::member_state(nn::state_dict(layers), 3));
}

}  // namespace
}  // namespace tapegrad::tests
