// The pictures of docs/images: README.md shows what the command draws and prints.
#include <tapegrad/tests/support/long.h>
#include <tapegrad/tests/support/patterns.h>
#include <tapegrad/tests/support/pictures/svg_check.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train/metrics.h>

namespace tapegrad::tasks {
namespace {

namespace fs = std::filesystem;
using namespace tests;

const fs::path kPictures = fs::path(kSourceDir) / "docs/images";

std::string picture(const std::string& name) { return slurp((kPictures / name).string()); }

// The losses per token that the picture of README.md shows: the heights of its curve, measured by the first and last
// tick of the logarithmic axis.
std::vector<double> losses_shown(const std::string& svg) {
  static const Pattern tick(R"-(<path class="rule" d="M60 ([0-9.]+)H304"/>\n<text [^>]*>([0-9.]+)</text>)-");
  static const Pattern curve(R"-(<path class="line c0" d="M([^"]+)")-"), point("[0-9.]+ ([0-9.]+)");
  std::vector<std::pair<double, double>> ticks;  // height, logarithm of the loss
  for (const Match& at : tick.in(svg)) ticks.emplace_back(std::stod(at[1]), std::log(std::stod(at[2])));
  const Match line = curve.first(svg);
  std::vector<double> losses;
  if (ticks.size() < 2 || line.empty()) return losses;
  std::sort(ticks.begin(), ticks.end());
  const auto [low, loss_low] = ticks.front();
  const auto [high, loss_high] = ticks.back();
  const std::string points = line[1];
  for (const Match& at : point.in(points))
    losses.push_back(std::exp(loss_low + (std::stod(at[1]) - low) / (high - low) * (loss_high - loss_low)));
  return losses;
}

// A point of the curve of 5,000 steps is the mean of 25.
TEST(Pictures, TheCurveOfTheReadmeIsThatOfTheCommand) {
  constexpr std::size_t kSteps = 5000, kPoint = 25, kPoints = 4;
  constexpr double kTokens = 20;
  const std::vector<double> shown = losses_shown(picture("hero.svg"));
  ASSERT_EQ(shown.size(), kSteps / kPoint);
  const TemporaryFolder folder;
  successful(run_command({"train", "copy", "--seed", "0", "--out", folder / "copy", "--no-progress", "--max-steps",
                          std::to_string(kPoints * kPoint)}));
  const auto steps = train::read_metrics(folder / "copy/metrics.jsonl").steps;
  ASSERT_EQ(steps.size(), kPoints * kPoint);
  for (std::size_t p = 0; p < kPoints; ++p) {
    double mean = 0;
    for (std::size_t i = 0; i < kPoint; ++i) mean += steps[p * kPoint + i].loss / kTokens / kPoint;
    EXPECT_NEAR(shown[p] / mean, 1, 0.006) << "point " << p;  // a tenth of a pixel is 0.0054
  }
}

// The whole run takes minutes: only with TAPEGRAD_LONG. The test above compares the first steps.
TEST(Pictures, AllOfTheReadmeIsWhatTheCommandWritesNow) {
  if (!long_tests_are_wanted()) GTEST_SKIP() << "set TAPEGRAD_LONG=1 to train all 5,000 steps";
  const TemporaryFolder folder;
  const auto run = [&](const std::string& name, const Arguments& more) {
    const Arguments train{"train", "copy", "--seed", "0", "--no-progress", "--out", folder / name};
    successful(run_command(joined(train, more)));
    successful(run_command({"attention", "copy", "--model", folder / name, "--quiet"}));
  };
  run("begin", {"--num-epochs", "0"});
  run("middle", {"--max-steps", "800"});
  run("copy", {});
  const std::string draw = "cd " + std::string(folder / "") + " && python3 -B " + kSourceDir +
                           "/docs/hero.py 0=begin 800=middle 5000=copy hero.svg";
  ASSERT_EQ(std::system(draw.c_str()), 0);
  EXPECT_EQ(slurp(folder / "hero.svg"), picture("hero.svg"));
}

TEST(Pictures, TheReadmeHasTheLastLinesOfTheCommand) {
  const std::string printed = picture("copy.txt"), manual = slurp(std::string(kSourceDir) + "/docs/reproducibility.md");
  const Match fingerprint = Pattern("\nbits ([0-9a-f ]{19})").first(printed);
  ASSERT_FALSE(fingerprint.empty()) << printed;
  EXPECT_NE(manual.find("`tapegrad train copy` | 5000 | `" + fingerprint[1] + "`"), std::string::npos);
  EXPECT_NE(picture("hero.svg").find(">" + fingerprint[1] + "<"), std::string::npos);
  for (const char* const name : {"README.md", "README.ko.md"}) {
    const std::string page = slurp((fs::path(kSourceDir) / name).string()), fence = "```text\n";
    const std::size_t begin = page.find(fence) + fence.size();
    const std::string lines = page.substr(begin, page.find("```", begin) - begin);
    EXPECT_TRUE(printed.ends_with(lines)) << name << " has\n" << lines;
    EXPECT_NE(page.find(fingerprint[1]), std::string::npos) << name;
  }
}

TEST(Pictures, AreSmallCorrectAndShown) {
  const std::string pages =
      slurp(std::string(kSourceDir) + "/README.md") + slurp(std::string(kSourceDir) + "/docs/gallery.md");
  int count = 0;
  for (const auto& entry : fs::directory_iterator(kPictures)) {
    if (entry.path().extension() != ".svg") continue;
    const std::string name = entry.path().filename().string();
    EXPECT_LT(entry.file_size(), 100'000U) << name;
    EXPECT_EQ(faults_of_svg(picture(name)), std::vector<std::string>()) << name;
    EXPECT_NE(pages.find("images/" + name + ")"), std::string::npos) << name << " is on no page";
    ++count;
  }
  EXPECT_GT(count, 12);
}

}  // namespace
}  // namespace tapegrad::tasks
