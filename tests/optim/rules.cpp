// What the runs of optimizers.cpp and optimizers_net.cpp do not show of the update rules; every class in optim/rules
// has such a run, so its numbers are compared.
#include <tapegrad/tests/optim/from_json.h>
#include <tapegrad/tests/support/patterns.h>
#include <tapegrad/tests/support/testing.h>

#include <cctype>

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

// --- every rule has a reference run ---

using NameSet = std::set<std::string>;

// The update rules that a header declares, in lower case.
NameSet rules_of(const std::string& header) {
  static const Pattern kClass("(?:^|\n)class (\\w+)(?: final)?(?: : public \\w+)? \\{");
  NameSet rules;
  for (const Match& found : kClass.in(header)) {
    std::string name = found[1];
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    rules.insert(name);
  }
  return rules;
}

// The rules that a test runs for many steps, and whose parameters and losses it compares.
NameSet compared() {
  NameSet kinds;
  for (const char* const file : {"optim.json", "optim_net.json"}) {
    const Json data = stored(file);
    for (const auto& run : data["runs"])
      if (run.contains("kept") ? !run["kept"].empty() : !run["end"].empty()) kinds.insert(run["kind"].string());
  }
  return kinds;
}

TEST(EveryRule, IsComparedWithAReference) {
  const NameSet checked = compared();
  NameSet rules, unchecked;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(kSourceDir) + "/optim/rules")) {
    if (entry.path().extension() != ".h") continue;
    const NameSet found = rules_of(slurp(entry.path()));
    EXPECT_FALSE(found.empty()) << entry.path();
    rules.insert(found.begin(), found.end());
  }
  rules.erase("noamopt");  // Adam at the rates of a schedule: schedules.cpp compares it with Adam, bit for bit
  std::ranges::set_difference(rules, checked, std::inserter(unchecked, unchecked.end()));
  EXPECT_EQ(unchecked, NameSet()) << "add a run to tests/data/make_optim_net.py and its options to from_json.h";
  EXPECT_EQ(rules, checked);
}

TEST(EveryRule, IsFoundInItsHeader) {
  EXPECT_EQ(rules_of("struct SignumOptions {\n  double lr;\n};\n\nclass Signum : public Optimizer {\n public:\n};\n"),
            NameSet{"signum"});
  EXPECT_EQ(
      rules_of("class One {\n};\nenum class Scale { a };\nclass Two final : public One {\n  class Inner {};\n};\n"),
      (NameSet{"one", "two"}));
  EXPECT_FALSE(compared().contains("no rule"));
}

}  // namespace
}  // namespace tapegrad::tests
