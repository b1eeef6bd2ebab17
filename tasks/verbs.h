// What the command's verbs are asked for, and the functions behind them. Each returns the exit code: 0 done, 1 failed
// or short of the target; a BadRequest thrown is 2, any other Error 1.
#pragma once

#include <tapegrad/tasks/files.h>
#include <tapegrad/tasks/options.h>

#include <optional>
#include <string>
#include <vector>

namespace tapegrad::tasks {

struct TrainRequest {
  RunOptions options;
  std::vector<std::string> given;  // the options that were named on the command line, without dashes
  std::string out;                 // folder; empty: out/<task>
  bool resume = false;
  bool no_progress = false;
  std::int64_t checkpoint_every = 100;
};
int train(TrainRequest request);

struct TestRequest {
  std::string task;
  std::string model;  // file; empty: the last run's
  std::int64_t count = 1000;
  std::optional<std::uint64_t> seed;  // of the fresh sequences; otherwise the run's seed + 1
  std::optional<std::int64_t> seq_length;
  double target = kTutorialRate;
  bool json = false;

  // The mean of the last ten batches of the tutorial's own run: nine without a fault, one with 38 of 40 right.
  static constexpr double kTutorialRate = 0.995;
};
int test(const TestRequest& request);

struct ExplainRequest {
  std::string task;
  std::optional<std::int64_t> seq_length;  // another example than the tutorial's, of that length
  std::optional<std::uint64_t> seed;
};
int explain(const ExplainRequest& request);

struct AttentionRequest {
  std::string task;
  std::string model;
  std::string out;  // folder; empty: that of the model
  std::uint64_t seed = 1;
  std::optional<std::int64_t> seq_length;
  bool quiet = false;  // files only
};
int attention(const AttentionRequest& request);

struct InfoRequest {
  bool json = false;
};
int info(const InfoRequest& request);

// The tasks that there are.
inline constexpr std::string_view kTasks[] = {"copy"};

// Where the last run of a task, started in this folder, left its files.
fs::path last_run(std::string_view task);
void remember_last_run(std::string_view task, const fs::path& folder);
// `model`, or the last run's where it is empty. BadRequest where there is no such file.
fs::path model_file(std::string_view where, std::string_view task, const std::string& model);

}  // namespace tapegrad::tasks
