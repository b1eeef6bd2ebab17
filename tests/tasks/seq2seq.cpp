// The copy task in the command: runs, files, resumption, and every wrong request.
#include <tapegrad/autograd/kernels/family.h>
#include <tapegrad/tasks/run/model_file.h>
#include <tapegrad/tasks/seq2seq/parser/parser.h>
#include <tapegrad/tasks/seq2seq/recipe.h>
#include <tapegrad/tests/support/in_training.h>
#include <tapegrad/tests/support/patterns.h>
#include <tapegrad/tests/support/runs/tiny_run.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train/metrics.h>
#include <tapegrad/train/progress.h>

#include <chrono>

namespace tapegrad::tasks {
namespace {

using namespace tests;

// The results of a run, without its speed.
std::vector<Json> decided(const std::string& file) {
  std::vector<Json> all = json_lines(file);
  for (Json& line : all) line.erase("tokens_per_s");
  return all;
}

TEST(Command, UnknownKernelsAreAWrongRequest) {
  const auto said = [](const std::string& variable) {
    return rejected(run_command({"explain", "copy"}, {.environment = {variable}}));
  };
  EXPECT_EQ(said("TAPEGRAD_KERNELS=foo"), "exit 2: [kernels] expected TAPEGRAD_KERNELS to be one of " +
                                              names_of_available_families() + ", got \"foo\"");
  EXPECT_TEXT(said("TAPEGRAD_PRODUCTS=mkl"));
}

// The line that a bar shows for a step, after a pause that is long enough for a line.
std::string line_after(train::Progress& progress, const train::StepMetrics& step) {
  std::this_thread::sleep_for(std::chrono::milliseconds(120));
  testing::internal::CaptureStderr();
  progress.step(step);
  return testing::internal::GetCapturedStderr();
}

// The speed is that since the last line: it includes pauses, and steps that were not shown.
TEST(Progress, ShowsTheSpeedSinceTheLastLine) {
  const auto speed = [](train::Progress& progress, const train::StepMetrics& step) {
    const Match found = Pattern("([0-9.]+)k tokens/s").first(line_after(progress, step));
    return found.empty() ? -1 : std::stod(found[1]);
  };
  train::Progress progress(train::Progress::Style::kBar, 0, 100);
  const double slow = speed(progress, {.step = 1, .tokens = 12000});
  EXPECT_GT(slow, 0);
  EXPECT_LE(slow, 100);
  progress.step({.step = 2, .tokens = 1200000});  // too soon to be shown
  EXPECT_GT(speed(progress, {.step = 3, .tokens = 0}), 10 * slow / 100);
  progress.finish();
}

TEST(Progress, NamesTheUnit) {
  for (const auto& [count, form] : {std::pair{1'000'000, "loss 1\\.0000, [0-9]+\\.[0-9]k images/s, "},
                                    {20, " [0-9]+ images/s, "},
                                    {1, " [0-9]\\.[0-9] images/s, "}}) {
    train::Progress progress(train::Progress::Style::kBar, 0, 100, "images");
    EXPECT_TRUE(Pattern(form).found(line_after(progress, {.step = 1, .loss = 1, .tokens = count}))) << form;
  }
}

using Train = InAFolder;

TEST_F(Train, WritesItsFiles) {
  const std::string out = folder / "deep/run";
  const Ran ran = train_tiny(folder, "copy", "deep/run");
  expect_parts(ran.out, {"Epoch 0, Average Loss: ", ", Learning Rate: 0.000100\n", "Model saved to "});
  EXPECT_NE(ran.out.find("wrong"), std::string::npos) << "of the rows of the last step";
  EXPECT_EQ(ran.out.find("\n0."), std::string::npos) << ran.out;

  std::vector<Json> lines = json_lines(out + "/metrics.jsonl");
  ASSERT_EQ(lines.size(), 23u);
  EXPECT_EQ(printed_bits(ran.out), "bits " + lines.back().at("bits").get<std::string>());
  lines.pop_back();
  int64_t step = 0, epoch = 0;
  double sum = 0;
  for (const Json& line : lines) {
    if (line.contains("epoch")) {
      EXPECT_EQ(line["epoch"], epoch++);
      EXPECT_NEAR(line["loss"].get<double>(), sum / 10, 1e-12);
      EXPECT_TRUE(line["accuracy"].is_number());
      sum = 0;
    } else {
      EXPECT_EQ(line["step"], ++step);
      sum += line["loss"].get<double>();
      EXPECT_EQ(line["lr"], 1e-4);
      EXPECT_GT(line["tokens_per_s"].get<double>(), 0);
      EXPECT_EQ(static_cast<double>(line["loss"].get<float>()), line["loss"].get<double>());
    }
  }
  EXPECT_EQ(step, 20);

  const std::string report = slurp(out + "/report.html");
  expect_parts(report, {"<svg", "Loss (", "Accuracy (", "Learning rate (constant)", "encoder layer 0, head 1",
                        "decoder layer 0, head 0", "cross layer 0, head 1", "--intermediate-size", "</html>"});
  EXPECT_EQ(report.find("://"), std::string::npos);

  // The last run is found without a name.
  const Ran tested = successful(run_command({"test", "copy", "--count", "50", "--target", "0", "--json"}, folder));
  const Json told = Json::parse(tested.out);
  EXPECT_EQ(told["count"], 50);
  EXPECT_EQ(told["passed"], true);
  successful(run_command({"test", "copy", "--model", out, "--count", "50", "--target", "0", "--json"}));
  successful(run_command({"attention", "copy"}, folder));
  EXPECT_NE(slurp(out + "/attention.svg").find("</svg>"), std::string::npos);
  EXPECT_NE(slurp(out + "/attention.html").find("</html>"), std::string::npos);
  expect_errors("tasks/errors/runs.txt", "tests of a copy model", folder);
}

TEST_F(Train, NoEpochsWriteTheUntrainedModel) {
  for (const std::string& task : names_of_tasks()) {
    const std::string run = folder / task;
    train_tiny(folder, task, task, {"--num-epochs", "0"});
    EXPECT_NE(slurp(run + "/report.html").find("</html>"), std::string::npos);
    EXPECT_TRUE(slurp(run + "/metrics.jsonl").starts_with("{\"bits\":"));
    successful(run_command({"test", task, "--model", run, "--count", "20", "--target", "0"}));
    train_tiny(folder, task, task, {"--num-epochs", "0", "--resume"});
  }
}

TEST_F(Train, NoamScheduleReachesTheMetrics) {
  train_tiny(folder, "copy", "run", {"--schedule", "noam", "--warmup", "20", "--factor", "0.5"});
  const auto steps = train::read_metrics(folder / "run/metrics.jsonl").steps;
  for (const train::StepMetrics& m : steps) {
    const auto step = static_cast<double>(m.step);
    EXPECT_NEAR(m.lr, 0.5 / std::sqrt(8.0) * std::min(1 / std::sqrt(step), step * std::pow(20, -1.5)), 1e-9);
  }
}

TEST_F(Train, PutsAnEarlierRunAside) {
  const std::string out = folder / "run";
  train_tiny(folder, "copy", "run");
  const std::string model = slurp(out + "/model.safetensors"), metrics = slurp(out + "/metrics.jsonl");
  expect_parts(train_tiny(folder, "copy", "run", {"--seed", "1"}).err, {"previous-1"});
  EXPECT_EQ(slurp(out + "/previous-1/model.safetensors"), model);
  EXPECT_EQ(slurp(out + "/previous-1/metrics.jsonl"), metrics);
  EXPECT_NE(slurp(out + "/model.safetensors"), model);
}

using Resume = InAFolder;

// Of every task: with the record of draws, and with the expressions of the parser.
TEST_F(Resume, InProcessIsExact) {
  RunOptions deep = ParserTask::defaults();
  deep.config.hidden_size = deep.config.intermediate_size = 8;
  deep.config.num_hidden_layers = 1;
  deep.batch_size = 4;
  deep.of<ParserTask>().depth = 2;
  ParserTask::adapt(deep, {"depth"});
  resolve(deep);
  std::vector<RunOptions> all{deep};
  for (const std::string& task : names_of_tasks()) all.push_back(tiny_options(task));
  for (const RunOptions& options : all) {
    SCOPED_TRACE(options.info->name);
    Trainer whole(options);
    for (int i = 0; i < 16; ++i) whole.step();
    whole.checkpoint().save(folder / "wanted");
    Trainer first(options);
    for (int i = 0; i < 9; ++i) first.step();
    first.checkpoint().save(folder / "checkpoint");
    const train::Checkpoint loaded = train::Checkpoint::load(folder / "checkpoint");
    Trainer second(loaded, *options.info);
    EXPECT_EQ(second.steps(), 9);
    for (int i = 9; i < 16; ++i) second.step();
    second.checkpoint().save(folder / "found");
    EXPECT_TRUE(slurp(folder / "found") == slurp(folder / "wanted"));
  }
}

TEST_F(Resume, AfterAKillAtAnyMomentTheRunEndsInTheSameBytes) {
  const auto run = [&](const std::string& name, const Arguments& more) {
    return tiny_run("copy", folder / name, joined({"--num-epochs", "12", "--steps-per-epoch", "25"}, more));
  };
  const auto start = std::chrono::steady_clock::now();
  successful(run_command(run("whole", {}), folder));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const std::string model = slurp(folder / "whole/model.safetensors");
  ASSERT_GT(model.size(), 1000u);
  for (int i = 0; i < 8; ++i) {
    const std::string name = "killed" + std::to_string(i);
    Ran ran = run_command(run(name, {}), {.folder = folder.path(), .kill_after_seconds = seconds * (i + 0.5) / 8});
    for (int again = 0; again < 2 && ran.code != 0; ++again) {  // a resumed run is killed too
      ran = run_command(run(name, {"--resume"}),
                        {.folder = folder.path(), .kill_after_seconds = again == 0 ? seconds / 3 : 600});
    }
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(slurp(folder / (name + "/model.safetensors")), model) << name;
    EXPECT_EQ(decided(folder / (name + "/metrics.jsonl")), decided(folder / "whole/metrics.jsonl")) << name;
  }
}

TEST_F(Resume, OtherSettingsAreRejectedByName) {
  const std::string out = folder / "run";
  train_tiny(folder, "copy", "run");
  const std::string model = slurp(out + "/model.safetensors");
  EXPECT_TEXT(rejected(run_command({"train", "copy", "--out", out, "--resume", "--seed", "3", "--batch-size", "5"})));
  successful(run_command({"train", "copy", "--out", out, "--resume", "--seed", "0"}, folder));
  EXPECT_EQ(slurp(out + "/model.safetensors"), model);
}

TEST_F(Resume, TheSameOptions) {
  train_tiny(folder, "copy", "run", {"--seq-length", "30", "--max-position-embeddings", "0"});
  const CommandLine resumed{{"train", "copy", "--out", folder / "run", "--resume", "--max-position-embeddings"},
                            folder};
  for (const char* positions : {"0", "30"}) successful(resumed({positions}));
  EXPECT_TEXT(rejected(resumed({"8"})));
}

TEST(Threads, AnyNumberGivesTheSameBytesOver200Steps) {
  const TemporaryFolder folder;
  std::string first;
  for (const char* threads : {"1", "2", "3", "7"}) {
    const std::string out = folder / threads;
    successful(run_command({"train", "copy", "--out", out, "--threads", threads, "--num-epochs", "2"}, folder));
    const std::string model = slurp(out + "/model.safetensors");
    ASSERT_GT(model.size(), 100000u);
    if (first.empty()) first = model;
    EXPECT_EQ(model, first) << threads;
  }
}

}  // namespace
}  // namespace tapegrad::tasks
