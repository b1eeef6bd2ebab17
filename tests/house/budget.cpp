// The lines of each layer stay within budget.txt, so that the project does not grow unnoticed.
#include <tapegrad/tests/house/sources.h>

namespace tapegrad::tests {
namespace {

namespace fs = std::filesystem;
using Lines = std::map<std::string, std::ptrdiff_t>;  // by layer

constexpr std::ptrdiff_t kSlack = 300;  // a budget that is further above the lines is lowered

// The lines of C++ in each of the folders.
Lines count_lines(const Lines& layers) {
  Lines lines;
  for (const auto& [layer, budget] : layers)
    for (const auto& [path, text] : texts_of(kSources, {layer}))
      lines[layer] += std::count(text.begin(), text.end(), '\n');
  return lines;
}

// The lines "layer lines reason" of a budget.
Lines read_budget(std::istream& file) {
  Lines budget;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with("#")) continue;
    std::istringstream words(line);
    std::string layer, reason;
    std::ptrdiff_t lines = 0;
    words >> layer >> lines;
    std::getline(words >> std::ws, reason);
    EXPECT_GT(reason.size(), 10U) << "expected a reason: " << line;
    budget[layer] = lines;
  }
  return budget;
}

// What is wrong with the lines of a layer; empty: nothing.
std::string breach(std::ptrdiff_t lines, std::ptrdiff_t budget) {
  if (lines > budget) return "above its budget: shorten it, or raise the budget and give the reason";
  if (lines < budget - kSlack) return "far below its budget: lower the budget";
  return {};
}

TEST(Budget, OfEveryLayerIsKept) {
  std::ifstream file(fs::path(kTestsDir) / "house/budget.txt");
  const Lines budget = read_budget(file);
  EXPECT_GE(budget.size(), 11U);
  for (const auto& [layer, lines] : count_lines(budget))
    EXPECT_EQ(breach(lines, budget.at(layer)), "") << layer << " has " << lines << " lines";
}

TEST(Budget, IsABoundFromBothSides) {
  EXPECT_EQ(breach(1000, 1000), "");
  EXPECT_EQ(breach(1000 - kSlack, 1000), "");
  EXPECT_NE(breach(1001, 1000), "");
  EXPECT_NE(breach(999 - kSlack, 1000), "");
  std::istringstream text("# a comment\nnn 12 because it is so\n");
  EXPECT_EQ(read_budget(text), (Lines{{"nn", 12}}));
}

}  // namespace
}  // namespace tapegrad::tests
