// `tapegrad plot`: curves of runs over one another, and what it says about runs that cannot be read.
#include <tapegrad/tasks/plot/plot.h>
#include <tapegrad/tests/support/pictures/svg_check.h>
#include <tapegrad/tests/support/runs/tiny_run.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tasks {
namespace {

namespace fs = std::filesystem;
using namespace tests;
using Faults = std::vector<std::string>;

std::string step_line(int step, const std::string& loss, const std::string& more = "") {
  return "{\"step\":" + std::to_string(step) + ",\"loss\":" + loss + ",\"lr\":0.5,\"tokens_per_s\":10.0" + more + "}\n";
}

void make_run(const TemporaryFolder& folder, const std::string& name, const std::string& lines) {
  fs::create_directories(folder / name);
  spill(folder / (name + "/metrics.jsonl"), lines);
}

NamedRun run_of(const std::string& name, const std::vector<double>& losses) {
  NamedRun run{name, {}};
  for (const double loss : losses)
    run.metrics.steps.push_back({.step = static_cast<int64_t>(run.metrics.steps.size()) + 1, .loss = loss});
  return run;
}

using Plot = InAFolder;

TEST_F(Plot, SmoothingIsAMeanOfWhatCameBefore) {
  const std::vector<double> y{4, 2, kInf, 0};
  EXPECT_EQ(smoothed(y, 0), y);
  const std::vector<double> half = smoothed(y, 0.5);
  EXPECT_EQ(half[0], 4);                           // not drawn towards zero
  EXPECT_DOUBLE_EQ(half[1], (4 * 0.5 + 2) / 1.5);  // weights 1/2, 1
  EXPECT_EQ(half[2], kInf);
  EXPECT_DOUBLE_EQ(half[3], (4 * 0.25 + 2 * 0.5) / 1.75);
  EXPECT_TRUE(smoothed({}, 0.5).empty());
  EXPECT_DOUBLE_EQ(smoothed(std::vector<double>(1000, 3.0), 0.99).back(), 3.0);
}

TEST_F(Plot, ChartsHaveACurvePerRunInOneOrder) {
  std::vector<NamedRun> runs{run_of("a", {3, 2}), run_of("b", {5, NAN, 4})};
  runs[1].metrics.steps[0].validation_loss = 7;
  runs[0].metrics.steps[1].figures = {{"critic loss", 0.25}};
  const auto charts = charts_of(runs, {});
  ASSERT_EQ(charts.size(), 4U);
  EXPECT_EQ(charts[0].title, "Loss");
  EXPECT_EQ(charts[0].series[0].y, (std::vector<double>{3, 2}));
  EXPECT_EQ(charts[0].series[1].x, (std::vector<double>{1, 3}));  // without the step that was not finite
  EXPECT_EQ(charts[1].title, "Validation loss");
  EXPECT_TRUE(charts[1].series[0].y.empty());  // it keeps its colour
  EXPECT_EQ(charts[1].series[1].y, std::vector<double>{7});
  EXPECT_EQ(charts[2].title, "critic loss");
  EXPECT_EQ(charts[2].series[0].x, std::vector<double>{2});
  EXPECT_EQ(charts[3].title, "Learning rate");
}

TEST_F(Plot, DrawsRunsOfEveryKindOverOneAnother) {
  train_tiny(folder, "copy", "copy");
  train_tiny(folder, "addition", "addition");
  make_run(folder, "players",
           step_line(1, "0.5", ",\"validation_loss\":2.5,\"figures\":{\"critic loss\":1.5}") + step_line(2, "null") +
               "{\"epoch\":0,\"loss\":0.5}\n" + step_line(3, "0.25") + "{\"step\":4,\"lo");  // being written
  const Arguments runs{"plot", folder / "copy", folder / "addition/", folder / "players/metrics.jsonl"};
  const Ran ran = successful(run_command(joined(runs, {"--out", folder / "p", "--smooth", "0.5"})));
  EXPECT_EQ(ran.err, "");
  expect_parts(ran.out, {"\n     20 ", "2.5000"});
  EXPECT_EQ(faults_of_svg(slurp(folder / "p/plot.svg")), Faults());
  EXPECT_EQ(faults_of_page(slurp(folder / "p/plot.html")), Faults());
  EXPECT_NE(slurp(folder / "p/plot.svg").find("critic loss"), std::string::npos);

  const Ran json = successful(run_command(joined(runs, {"--out", folder / "p", "--json", "--first-step", "2"})));
  const auto rows = Json::parse(json.out)["runs"];
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0]["steps"], 20);
  EXPECT_EQ(rows[0]["bits"].get<std::string>().size(), 19U);
  EXPECT_EQ(rows[2]["steps"], 3);
  EXPECT_EQ(rows[2]["loss"], 0.25);
  EXPECT_TRUE(rows[2]["validation_loss"].is_null());  // of step 1, which is left out
  EXPECT_TRUE(rows[2]["bits"].is_null());
  const Ran quiet = successful(run_command(joined(runs, {"--out", folder / "p", "--quiet", "--log-loss"})));
  EXPECT_TRUE(quiet.out.starts_with("Plots: ")) << quiet.out;
  successful(run_command(joined(runs, {"--out", folder / "p", "--only", "critic"})));
  EXPECT_NE(slurp(folder / "p/plot.svg").find("critic loss"), std::string::npos);
  EXPECT_EQ(slurp(folder / "p/plot.svg").find("Learning rate"), std::string::npos);
}

TEST_F(Plot, SaysWhichRunIsMeant) {
  make_run(folder, "out/copy", step_line(1, "2"));
  make_run(folder, "out/parser", step_line(1, "2"));
  expect_errors("tasks/errors/runs.txt", "plot", folder);
  EXPECT_FALSE(fs::exists(folder / "out/plot"));
}

TEST_F(Plot, NamesTheLineThatIsDamaged) {
  make_run(folder, "good", step_line(1, "2"));
  make_run(folder, "bad", step_line(1, "2") + "{\"step\":2,\"loss\":}\n");
  make_run(folder, "other", step_line(1, "2") + step_line(2, "1") + "[1]\n");
  make_run(folder, "empty", "");
  expect_errors("tasks/errors/runs.txt", "damaged runs", folder);
  EXPECT_FALSE(fs::exists(folder / "out/plot"));
}

}  // namespace
}  // namespace tapegrad::tasks
