// Mistakes that are detected: forgotten layers, masks of numbers, trapped NaNs; the place that errors name.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

struct Forgetful {
  nn::Linear up{2, 3}, down{3, 2};
  Tensor operator()(const Tensor& x) const { return down(up(x)); }
  void visit(auto&& field) { field("up", up); }
};

TEST(Mistakes, AForgottenLayerIsFoundByTheFirstStep) {
  Forgetful model;
  optim::SGD sgd(nn::parameters(model.up), {.lr = 1});  // without NDEBUG, parameters(model) is an error already
  const auto grads_of = [&] { return Tape().backward(sum(model(ones({1, 2})))); };
  EXPECT_ERROR(sgd.step(grads_of()));
  nn::parameters(model.down);
  EXPECT_ERROR(sgd.step(grads_of()));
  sgd.ignore(nn::parameters(model.down));
  sgd.step(grads_of());
}

struct TwoLayers {
  nn::Linear up{2, 3}, down{3, 2};
  Tensor operator()(const Tensor& x) const { return down(up(x)); }
};

// The cause is told by the leaves that the optimiser does not have.
TEST(Mistakes, AnOptimiserOfOtherParametersSaysWhy) {
  const auto rejected = [](auto change) {
    const auto text_of_step = [&](bool in_backward) {
      TwoLayers model;
      optim::SGD sgd(nn::parameters(model), {.lr = 1});
      return error_of([&] {
        change(model, [&](const auto& used) {
          Tape tape;
          const Tensor loss = sum(used(ones({1, 2}, used.up.weight.dtype())));
          in_backward ? sgd.step(tape, loss) : sgd.step(tape.backward(loss));
        });
      });
    };
    const std::string text = text_of_step(false);
    EXPECT_EQ(text_of_step(true), text);
    return text;
  };
  EXPECT_TEXT(rejected([](TwoLayers& model, auto step) {
    nn::to(model, kFloat64);
    step(model);
  }));
  EXPECT_TEXT(rejected([](TwoLayers& model, auto step) {
    model = TwoLayers();
    step(model);
  }));
  EXPECT_TEXT(rejected([](TwoLayers& model, auto step) {
    model.down = nn::Linear(3, 4);
    step(model);
  }));
  EXPECT_TEXT(rejected([](TwoLayers&, auto step) { step(TwoLayers()); }));
  EXPECT_TEXT(rejected([](TwoLayers& model, auto step) { step(nn::clone(model)); }));
  // Without other leaves, as before; a parameter that is gone says so.
  EXPECT_TEXT(rejected([](TwoLayers& model, auto step) {
    struct First {
      const nn::Linear& up;
      Tensor operator()(const Tensor& x) const { return up(x); }
    };
    step(First{model.up});
  }));
  EXPECT_TEXT(rejected([](TwoLayers& model, auto step) {
    nn::Parameter both(zeros({2}));
    tie(both, model.down.bias);
    both.freeze();
    step(model);
  }));
}

TEST(Mistakes, AMaskOfOnesAndZerosMustBeBool) {
  const std::string why =
      "expected a bool mask (true: may be attended to) or a floating one that is added to the scores, got a floating "
      "mask with only ones and zeros (make it bool: mask != 0)";
  const auto attend = [](const Tensor& mask) {
    const Tensor x = randn({1, 2, mask.size(0), 4});
    return error_of([&] { scaled_dot_product_attention(x, x, x, {.mask = mask}); });
  };
  const Tensor lower = tril(ones({3, 3})), large = tril(ones({200, 200}));  // of a large mask some rows are enough
  Tensor with_bias = large.clone();
  with_bias.mutable_data<float>()[150 * 200 + 150] = 2;
  for (const Tensor& mask : {lower, lower.to(kFloat64), lower.t(), ones({3, 3}), ones({1, 1}).expand({3, 3}), large,
                             1 - large, large.t(), ones({200, 1}).expand({200, 200})})
    EXPECT_EQ(attend(mask), "[scaled_dot_product_attention] " + why);
  for (const Tensor& mask :
       {lower != 0, zeros({3, 3}), (1 - lower) * -1e9, lower * 0.5, zeros({200, 200}), large * 0.5, with_bias})
    EXPECT_EQ(attend(mask), "no error");
  Tape tape;  // a bias that is trained may be anything
  EXPECT_EQ(attend(ones({3, 3}).as_leaf()), "no error");
  const nn::MultiHeadSelfAttention shaw({.d_in = 4, .d_out = 4, .num_heads = 2, .positions = nn::Positions::shaw});
  EXPECT_EQ(error_of([&] { shaw(randn({1, 3, 4}), lower); }), "[attention] " + why);
}

TEST(Mistakes, AHiddenStateOfTheStepBeforeMustBeDetached) {
  const Tensor weight = full({2}, 3).as_leaf();
  Tensor hidden = ones({2});
  const auto step = [&] {
    Tape tape;
    hidden = hidden * weight;
    return tape.backward(sum(hidden))[weight].to_vector<float>();
  };
  EXPECT_EQ(step(), (std::vector<float>{1, 1}));
  EXPECT_TEXT(error_of(step));
  hidden = hidden.detach();
  EXPECT_EQ(step(), (std::vector<float>{3, 3}));
}

TEST(Mistakes, TheRootOfASumOfSquaresHasNoGradientAtZeroButTheNormHas) {
  const Tensor x = zeros({2}).as_leaf();
  const auto gradient = [&](auto f) { return Tape().backward(f())[x].template to_vector<float>(); };
  EXPECT_TRUE(std::isnan(gradient([&] { return sqrt(sum(x * x)); })[0]));
  EXPECT_EQ(gradient([&] { return norm(x); }), (std::vector<float>{0, 0}));
  EXPECT_TEXT(error_of([&] {
    Tape tape;
    tape.trap_nan();
    tape.backward(sqrt(sum(x * x)));
  }));
}

struct Deep {
  nn::List<nn::Linear> layers = nn::repeat<nn::Linear>(3, 2, 2);
};

TEST(Mistakes, ATrappedNanNamesTheNearestParameter) {
  Deep model;
  const auto run = [&] {
    Tape tape;
    tape.trap_nan();
    Tensor x = full({1, 2}, 1);
    for (const nn::Linear& layer : model.layers) x = layer(x);
    tape.backward(sum(log(x * 0 - 1)));
  };
  const std::string text =
      "[log] the value is not finite at position 11 of the tape: shape [1, 2] float32, inputs [1, 2]";
  EXPECT_EQ(error_of(run), text);
  nn::parameters(model);
  EXPECT_EQ(error_of(run), text + ", near \"layers.2.weight\"");
  model.layers[1].bias.set(full({2}, NAN));
  EXPECT_EQ(error_of(run).substr(0, 44), "[linear] the value is not finite at position");
  EXPECT_NE(error_of(run).find(", near \"layers.1.weight\""), std::string::npos);
  const Tensor leaf = model.layers[1].bias.tensor();
  model.layers.pop_back();
  model.layers.pop_back();  // removes its names
  Tape tape;
  tape.trap_nan();
  EXPECT_ERROR(leaf * 2);
}

// --- the place in a model that ends the text of an error ---

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
  nn::List<PlacedBlock> ups = nn::repeat<PlacedBlock>(1);
  Tensor operator()(const Tensor& x) const { return ups[0](x); }
};

const Op kRefuses{"refuses"};

TEST(ErrorPlace, IsTheModuleWhoseParameterWasUsedLast) {
  const PlacedNet net;
  PlacedNet named;
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
  PlacedNet net;
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
  PlacedNet net;
  nn::parameters(net);
  Tape tape;
  const Tensor x = net.embedding(ones({1, 2}));
  const Tensor y = record(kRefuses, x.detach().clone(), {x}, [](const Tensor&) -> Grads { kRefuses.fail("never"); });
  const Tensor z = net.ups[0].norm(y);
  EXPECT_EQ(error_of([&] { tape.backward(sum(z)); }), "[refuses] never (near embedding, a Linear)");
}

}  // namespace
}  // namespace tapegrad::tests
