// What the runs of optimizers.cpp and optimizers_net.cpp do not show of the update rules.
#include <tapegrad/tests/optim/from_json.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

// One step of a rule with this gradient.
Tensor stepped(const Json& rule, const Tensor& from, const Tensor& gradient) {
  const Tensor p = from.clone().as_leaf();
  optimizer_from(rule, {{.parameters = {{"p", p}}}})->step(gradients_given({{p, gradient}}));
  return p.detach();
}

TEST(Rules, UpdateEachElementOnce) {  // threads take pieces of a long parameter
  for (const char* const kind : {"adadelta", "adagrad", "adam", "adamax", "adamw", "asgd", "lion", "nadam", "radam",
                                 "rmsprop", "rprop", "sgd"}) {
    const Tensor p =
        stepped({{"kind", kind}, {"options", {{"lr", 0.25}}}}, full({100'003}, 0.5), full({100'003}, 0.25));
    EXPECT_EQ(amin(p).item(), amax(p).item()) << kind;
    EXPECT_NE(p[0].item(), 0.5F) << kind;
  }
}

TEST(Rules, EpsIsAddedToTheRoot) {
  const Tensor one = ones({3});
  EXPECT_EQ(stepped({{"kind", "adagrad"}, {"options", {{"lr", 1}, {"eps", 1}}}}, one, one)[0].item(), 0.5F);
}

TEST(Rules, RMSpropCentredWithoutMomentum) {  // v and mean are averages of g^2 and g, with 0.99
  const Tensor p = zeros({1}).as_leaf();
  optim::RMSprop rmsprop(NamedTensors{{"p", p}}, {.lr = 1, .centered = true});
  double average = 0, expected = 0;
  for (int step = 0; step < 2; ++step) {
    rmsprop.step(gradients_given({{p, ones({1})}}));
    average = average * 0.99 + 0.01;
    expected -= 1 / std::sqrt(average - average * average);
    EXPECT_NEAR(p.item(), expected, 1e-4);
  }
}

TEST(Rules, LionMovesByTheSignOfItsAverage) {  // 0.9 m + 0.1 g with m = 0.01, near 0
  for (const double g : {-0.090045, -0.089955}) {
    const Tensor p = zeros({1}).as_leaf();
    optim::Lion lion(NamedTensors{{"p", p}}, {.lr = 1});
    for (const double gradient : {1.0, g}) lion.step(gradients_given({{p, full({1}, gradient)}}));
    EXPECT_EQ(p.item(), g < -0.09 ? 0 : -2) << g;
  }
}

TEST(Rules, RpropsLimitsAreOpen) {
  const auto error = [](const optim::RpropOptions& options) {
    return error_of([&] { optim::Rprop(NamedTensors{{"p", ones({1}).as_leaf()}}, options); });
  };
  EXPECT_EQ(error({.least_step = 0.5, .largest_step = 0.5}), "no error");
  for (const optim::RpropOptions& options :
       {optim::RpropOptions{.eta_minus = 0}, optim::RpropOptions{.eta_plus = 1}, optim::RpropOptions{.least_step = 0}})
    EXPECT_NE(error(options), "no error");
}

TEST(Rules, AdafactorOfMatricesWithoutGradientAndOfSeveral) {
  const Json rule{{"kind", "adafactor"}, {"options", Json::object()}};
  manual_seed(3);
  const Tensor p = randn({3, 4}), g = randn({3, 4});
  EXPECT_TRUE(same_bits(stepped(rule, p, zeros({3, 4})), p));
  const Tensor both = stepped(rule, stack({p, p}, 0), stack({g, g}, 0));
  EXPECT_LT(largest_difference(both[1], stepped(rule, p, g)), 1e-6);
}

}  // namespace
}  // namespace tapegrad::tests
