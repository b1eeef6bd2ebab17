// The verb `plot`: the curves of several runs in one picture, and a table of where they ended.
#pragma once

#include <tapegrad/tasks/settings/settings.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/train/metrics.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tapegrad::tasks {

struct PlotRequest {
  std::vector<std::string> runs;  // folders of runs, or metrics.jsonl files
  std::string out = "out/plot";   // folder for plot.svg and plot.html
  double smooth = 0;              // how much of the mean so far is kept at each step
  int64_t first_step = 1;
  bool log_loss = false;
  bool quiet = false;
  bool json = false;
  std::string only;  // charts whose title contains this

  void list(Fields& fields);
};
/// Draws the runs, and prints one line per run. BadRequest for no run, for one that is not there (with the nearest
/// ones), and for one that is named twice; Error that names file and line for metrics that cannot be read.
int plot(const PlotRequest& request);

/// A run's name and its lines.
struct NamedRun {
  std::string name;
  train::Metrics metrics;
};

/// Exponential means of a curve: m' = keep m + (1 - keep) y, divided by the sum of its weights, so that the first ones
/// are not drawn towards zero. Values that are not finite are left out of the means, and stay in their place. `keep`
/// is at least 0 (no smoothing) and less than 1.
std::vector<double> smoothed(std::span<const double> y, double keep);

/// A chart per quantity, with a curve per run that has it: loss, validation loss, accuracy, learning rate, and every
/// figure of the runs' own.
std::vector<drawing::LineChart> charts_of(std::span<const NamedRun> runs, const PlotRequest& request);

}  // namespace tapegrad::tasks
