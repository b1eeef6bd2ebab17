// Shows the progress of a run: a bar on a terminal, lines of text elsewhere, or nothing.
#pragma once

#include <tapegrad/train/metrics.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace tapegrad::train {

/// Prints to standard error (the bar) and standard output (lines). The bar is removed before a line is printed.
class Progress {
 public:
  enum class Style { kSilent, kLines, kBar };  ///< nothing, lines, or a bar
  /// kBar when standard error is a terminal, kLines otherwise.
  static Style style_here();

  /// `done` of `total` steps were done before this run. `unit` is what StepMetrics::tokens counts, in the plural. Lines
  /// about steps go to `lines`.
  Progress(Style style, int64_t done, int64_t total, std::string unit = "tokens", std::FILE* lines = stdout);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Call it after every step. Shows the bar at most ten times per second, or prints a line every ten seconds, with the
  /// units per second since the last time.
  void step(const StepMetrics& step);
  /// Prints a line on `lines`, above the bar; not in style kSilent.
  void line(std::string_view text);
  /// Prints a line on standard output, in every style.
  void result(std::string_view text);
  /// Removes the bar; later steps are not shown.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  void clear_bar();
  void print(std::FILE* to, std::string_view text);

  Style style_;
  int64_t first_, total_;
  std::string unit_;
  std::FILE* lines_;
  Clock::time_point start_, shown_;
  int64_t tokens_ = 0;  // since shown_, when progress was last shown
  bool bar_shown_ = false;
};

/// The lines about an evaluation and about an epoch, for programs that do not print their own.
std::string evaluation_text(const StepMetrics& step);
std::string epoch_text(const EpochMetrics& epoch, const StepMetrics& last);

/// "4 s", "2 min 05 s", "3 h 07 min".
std::string duration(double seconds);

}  // namespace tapegrad::train
