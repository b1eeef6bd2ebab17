// metrics.jsonl: one line a step and one an epoch, as a run goes along; cut back to a step when a run resumes.
#pragma once

#include <tapegrad/tasks/train/files.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace tapegrad::train {

inline constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

struct StepMetrics {
  int64_t step = 0;                // from 1
  double loss = 0;                 // of the step's batch, before its update
  double accuracy = kNotMeasured;  // left out of the file then
  double lr = 0;
  double tokens_per_s = 0;                                      // target tokens
  std::optional<double> train_loss = {}, validation_loss = {};  // after the update, where it was evaluated
  int64_t tokens = 0;                                           // target tokens; not in the file
};

struct EpochMetrics {
  int64_t epoch = 0;  // from 0
  double loss = 0;    // means over the epoch's steps
  double accuracy = kNotMeasured;
  std::optional<std::string> sample = {};  // a text that the model wrote then
};

// The file of a run that goes on. Lines survive the process as soon as they are added.
class MetricsFile {
 public:
  // Keeps the lines of the first `steps` steps and of the epochs that ended with them, drops all others. Error when a
  // line is missing among them or is no JSON.
  MetricsFile(const fs::path& path, int64_t steps, int64_t steps_per_epoch);

  void add(const StepMetrics& metrics);
  void add(const EpochMetrics& metrics);
  void sync() { file_.sync(); }

 private:
  AppendFile file_;
};

struct Metrics {
  std::vector<StepMetrics> steps;
  std::vector<EpochMetrics> epochs;
};

// All of a metrics.jsonl; a last line without its end is left out.
Metrics read_metrics(const fs::path& path);

}  // namespace tapegrad::train
