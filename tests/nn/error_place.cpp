// The place in a model that ends the text of an error.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

struct PlacedBlock {
  nn::LayerNorm norm{4};
  nn::Parameter gain{ones({1, 3})};
  Tensor operator()(const Tensor& x) const {
    const Tensor y = norm(x);
    return y * gain;
  }
};

// A module that refuses its input before it uses a parameter, after one that has used its own.
template <class Module>
struct PlacedAfter {
  nn::Linear first{2, 4};
  Module second;
  Tensor operator()(const Tensor& x) const {
    const Tensor y = first(x);
    if constexpr (requires { second(y).output; }) {
      return second(y.reshape({1, 1, 1, -1})).output;
    } else {
      return second(y.reshape({1, 1, 1, 1, 1, -1}));
    }
  }
};
template <class Module>
std::string place_after(Module module) {
  PlacedAfter<Module> net{.second = std::move(module)};
  nn::parameters(net);
  const Tape tape;
  const std::string text = error_of([&] { net(ones({1, 2})); });
  return text.find("(near") == std::string::npos ? text : text.substr(text.find("(near"));
}

struct PlacedNet {
  nn::Linear embedding{2, 4};
  nn::List<PlacedBlock> ups;
  Tensor operator()(const Tensor& x) const { return ups[0](x); }
};

PlacedNet placed_net() {
  PlacedNet net;
  net.ups.emplace_back();
  return net;
}

const Op kRefuses{"refuses"};

TEST(ErrorPlace, IsTheModuleWhoseParameterWasUsedLast) {
  const PlacedNet net = placed_net();
  PlacedNet named = placed_net();
  nn::parameters(named);
  const Tape tape;
  EXPECT_ERROR(named(ones({2, 4})));
  EXPECT_NE(error_of([&] { named(ones({2, 5})); }).find("(near ups.0.norm, a LayerNorm)"), std::string::npos);
  EXPECT_NE(error_of([&] { named.embedding(ones({2, 5})); }).find("(near embedding, a Linear)"), std::string::npos);
  EXPECT_ERROR(net(ones({2, 4})));
}

TEST(ErrorPlace, IsTheModuleThatRefusesItsInput) {
  EXPECT_EQ(place_after(nn::GroupNorm(2, 6)), "(near second, a GroupNorm)");
  EXPECT_EQ(place_after(nn::BatchNorm(6)), "(near second, a BatchNorm)");
  EXPECT_EQ(place_after(nn::BatchNorm2d(6)), "(near second, a BatchNorm2d)");
  EXPECT_EQ(place_after(nn::InstanceNorm(6, {.affine = true})), "(near second, an InstanceNorm)");
  EXPECT_EQ(place_after(nn::LSTM(4, 3)), "(near second, an LSTM)");
  EXPECT_EQ(place_after(nn::GRU(4, 3)), "(near second, a GRU)");
  EXPECT_EQ(place_after(nn::GRUCell(4, 3)), "(near second, a GRUCell)");
}

TEST(ErrorPlace, IsNotToldOutsideOfATapeNorOfAnEarlierOne) {
  PlacedNet net = placed_net();
  nn::parameters(net);
  EXPECT_ERROR(net(ones({2, 4})));
  {
    const Tape first;
    EXPECT_NE(error_of([&] { net(ones({2, 4})); }).find("near"), std::string::npos);
  }
  const Tape second;
  EXPECT_EQ(error_of([] { ones({2}).reshape({3}); }).find("near"), std::string::npos);
}

TEST(ErrorPlace, OfBackwardIsTheNearestParameter) {
  PlacedNet net = placed_net();
  nn::parameters(net);
  Tape tape;
  const Tensor x = net.embedding(ones({1, 2}));
  const Tensor y = record(kRefuses, x.detach().clone(), {x}, [](const Tensor&) -> Grads { kRefuses.fail("never"); });
  const Tensor z = net.ups[0].norm(y);
  EXPECT_EQ(error_of([&] { tape.backward(sum(z)); }), "[refuses] never (near embedding, a Linear)");
}

}  // namespace
}  // namespace tapegrad::tests
