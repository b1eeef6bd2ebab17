// Every class in optim/rules has a reference run, so its numbers are compared (optimizers.cpp, optimizers_net.cpp).
#include <tapegrad/tests/support/patterns.h>
#include <tapegrad/tests/support/testing.h>

#include <cctype>

namespace tapegrad::tests {
namespace {

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
