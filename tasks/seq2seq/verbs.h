// What the command's verbs are asked for, and the functions behind them. Each returns the exit code: 0 done, 1 failed
// or short of the target; a BadRequest thrown is 2, any other Error 1.
#pragma once

#include <tapegrad/tasks/seq2seq/options.h>
#include <tapegrad/tasks/train/files.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tapegrad::train {
struct Checkpoint;
}

namespace tapegrad::tasks {

namespace fs = std::filesystem;

struct TrainRequest {
  RunOptions options;
  std::vector<std::string> given;  // the options that were named on the command line, without dashes
  std::string out;                 // folder; empty: out/<task>
  bool resume = false;
  bool no_progress = false;
  int64_t checkpoint_every = 100;
};
int train(TrainRequest request);

// What verbs that show or test examples have in common.
struct ExampleRequest {
  RunOptions options;              // of the task; those of visit_example are read
  std::vector<std::string> given;  // which of them were named on the command line, without dashes
  std::string expression;          // this example, in the words of a task that reads expressions
};

struct TestRequest : ExampleRequest {
  std::string model;  // file, or folder of a run; empty: the last run's
  int64_t count = 1000;
  std::optional<uint64_t> seed;  // of the examples; otherwise the run's seed + 1
  std::optional<double> target;  // otherwise the task's
  int64_t beams = 1;             // width of the beam search; 1: greedy
  bool json = false;
  std::string draw;  // a file that receives the picture of the answer to `expression`
};
int test(const TestRequest& request);

struct ExplainRequest : ExampleRequest {
  std::optional<uint64_t> seed;  // draws another example than the tutorial's
};
int explain(const ExplainRequest& request);

struct AttentionRequest : ExampleRequest {
  std::string model;
  std::string out;  // folder; empty: that of the model
  uint64_t seed = 1;
  bool quiet = false;  // files only
};
int attention(const AttentionRequest& request);

struct InfoRequest {
  bool json = false;
};
int info(const InfoRequest& request);

// Takes the folder that `option` names. BadRequest about that option where it cannot be had.
std::unique_ptr<train::RunFolder> take_folder(const std::string& folder, std::string_view option = "--out");
// BadRequest about --resume where the checkpoint in the folder `out` is not one of a run of this task.
void need_run_of(std::string_view task, const train::Checkpoint& checkpoint, const std::string& out);
// For a run that begins at its first step: what an earlier run left in its folder is put aside, and standard error says
// where. With `resume` only a whole run is: what one left that was killed before its first checkpoint is begun again.
void put_earlier_run_aside(const train::RunFolder& folder, const std::string& out, bool resume);
// Where the last run of a task, started in this folder, left its files.
fs::path last_run(std::string_view task);
void remember_last_run(std::string_view task, const fs::path& folder);
// `model`, a file or the folder of a run; or the last run's where it is empty. BadRequest where there is no such file.
fs::path model_file(std::string_view where, std::string_view task, const std::string& model);

}  // namespace tapegrad::tasks
