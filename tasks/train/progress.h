// How a run tells where it is: a bar on a terminal, plain lines elsewhere, nothing where it was told to be silent.
#pragma once

#include <tapegrad/tasks/train/metrics.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace tapegrad::train {

class Progress {
 public:
  enum class Style { kSilent, kLines, kBar };
  // kBar when standard error is a terminal, kLines otherwise.
  static Style style_here();

  // Step `done` of `total` stands behind us already. Plain lines about steps go to `lines`.
  Progress(Style style, int64_t done, int64_t total, std::FILE* lines = stdout);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // After every step; draws at most ten times a second, prints a plain line every ten seconds. The tokens a second that
  // it tells are those since it last told them.
  void step(const StepMetrics& step);
  // A line that stays, above the bar.
  void line(std::string_view text);
  // The same, where lines are wanted in every style.
  void result(std::string_view text);
  // Takes the bar away.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  double seconds_left(int64_t step, Clock::time_point now) const;
  void clear_bar();

  Style style_;
  int64_t first_, total_;
  std::FILE* lines_;
  Clock::time_point start_, shown_;
  int64_t tokens_ = 0;  // since shown_
  bool bar_shown_ = false;
};

// "4 s", "2 min 05 s", "3 h 07 min".
std::string duration(double seconds);

}  // namespace tapegrad::train
