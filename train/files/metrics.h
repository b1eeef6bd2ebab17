// metrics.jsonl: one line per step and one per epoch, written during the run, and one at its end; cut back to a step
// when a run resumes.
#pragma once

#include <tapegrad/train/files.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::train {

/// NaN: left out of files and curves
inline constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

/// A number that a program measures, with its name.
struct Figure {
  std::string name;  ///< unique in a step
  double value = 0;  ///< not finite: a gap in the curve
};

/// The line of metrics.jsonl for a step.
struct StepMetrics {
  int64_t step = 0;                                             // from 1
  double loss = 0;                                              // of the step's batch, before its update
  double accuracy = kNotMeasured;                               // not in the file if it was not measured
  double lr = 0;                                                ///< learning rate of the step
  double tokens_per_s = 0;                                      // target tokens
  std::optional<double> train_loss = {}, validation_loss = {};  // after the update, if it was evaluated
  int64_t tokens = 0;                                           // target tokens; not in the file
  double terms = 0;                                             // that the loss is the mean of; not in the file
  std::vector<Figure> figures = {};                             // of a step of the program's own

  /// kNotMeasured where the step has none of this name.
  double figure(std::string_view name) const;
};

/// The line of metrics.jsonl for an epoch.
struct EpochMetrics {
  int64_t epoch = 0;                       // from 0
  double loss = 0;                         // means over the terms of the epoch's steps
  double accuracy = kNotMeasured;          ///< share of the terms that are right
  std::optional<std::string> sample = {};  // a text that the model generated
};

/// A mean over terms in groups whose means are known: batches of an evaluation, steps of an epoch. Where all groups are
/// equally large, it is the mean of their means.
struct MeanOfGroups {
  double sum = 0, weight = 0;  ///< a group's weight is its terms / `unit`
  double unit = 0;             ///< terms of the first group; 0: none yet
  /// A group without terms changes nothing; its mean may be NaN.
  void add(double mean, double terms);
  double mean() const { return sum / weight; }  ///< NaN without terms
};

// The file of a run in progress. A line survives the end of the process as soon as it is added.
class MetricsFile {
 public:
  // Keeps the lines of the first `steps` steps and of the epochs that ended with them, removes all others. Where there
  // is no file, it begins after these steps. Error if the lines of a file end before, have a gap or are not valid
  // JSON; if the first line is none of a metrics.jsonl, also for no steps.
  MetricsFile(const Destination& to, int64_t steps, int64_t steps_per_epoch);

  /// One line each.
  void add(const StepMetrics& metrics);
  void add(const EpochMetrics& metrics);
  // The last line of a run: bits_of its model.
  void add_bits(std::string_view bits);
  void sync() { file_.sync(); }

 private:
  AppendFile file_;
};

/// The contents of a metrics.jsonl.
struct Metrics {
  std::vector<StepMetrics> steps;    ///< in the order of the file
  std::vector<EpochMetrics> epochs;  ///< in the order of the file
  std::string bits;                  // of the model, where the run has ended

  /// Adds the names of the metrics of all steps that `names` lacks, in the order in which they appear.
  void add_figure_names(std::vector<std::string>& names) const;
};

// Reads a whole metrics.jsonl; an incomplete last line is ignored.
Metrics read_metrics(const fs::path& path);

}  // namespace tapegrad::train
