// Learning rates as functions of the step, which counts from 1: adam.set_lr(schedule(adam.steps() + 1)). At step s, the
// rate is that of PyTorch's scheduler of the same name after s - 1 calls of step(). Error for a step below 1, and for
// options out of range.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapegrad::optim {

struct Constant {
  double lr;
  double operator()(int64_t step) const;
};

/// factor hidden_size^-0.5 min(step^-0.5, step warmup^-1.5). Vaswani et al. 2017.
struct Noam {
  int64_t hidden_size;
  int64_t warmup = 4000;
  double factor = 1;
  double operator()(int64_t step) const;
};

/// Rises linearly to lr over `warmup` steps, then stays there.
struct LinearWarmup {
  double lr;
  int64_t warmup;
  double operator()(int64_t step) const;
};

/// Half a cosine from lr to min_lr within `total` steps, and back to lr within as many, as CosineAnnealingLR.
struct Cosine {
  double lr;
  int64_t total;
  double min_lr = 0;
  double operator()(int64_t step) const;
};

/// Rises linearly to lr over `warmup` steps, falls along half a cosine to min_lr at step `total`, then stays there.
/// Step `warmup`, the last one of the rise, is the start of the cosine: without warm-up, step 1 is one step down from
/// lr, and Cosine starts at lr.
struct WarmupCosine {
  double lr;
  int64_t warmup;
  int64_t total;
  double min_lr = 0;
  double operator()(int64_t step) const;
};

/// lr gamma^floor((step - 1) / every).
struct StepDecay {
  double lr;
  int64_t every;
  double gamma = 0.1;
  double operator()(int64_t step) const;
};

/// lr gamma^n, n being how many of the milestones are below the step: the rate after milestone m falls at step m + 1.
struct MultiStep {
  double lr;
  std::vector<int64_t> milestones;  ///< in steps, as MultiStepLR has them; one that occurs twice counts twice
  double gamma = 0.1;
  double operator()(int64_t step) const;
};

/// lr gamma^(step - 1).
struct Exponential {
  double lr;
  double gamma;
  double operator()(int64_t step) const;
};

/// Changes linearly from start_factor lr at step 1 to end_factor lr after `total` steps, then stays there.
struct Linear {
  double lr;
  int64_t total;
  double start_factor = 1;
  double end_factor = 0;
  double operator()(int64_t step) const;
};

/// lr (1 - (step - 1) / total)^power; 0 after `total` steps.
struct Polynomial {
  double lr;
  int64_t total;
  double power = 1;
  double operator()(int64_t step) const;
};

/// Rises linearly to lr over `warmup` steps, then falls as lr sqrt(warmup / step).
struct InverseRoot {
  double lr;
  int64_t warmup;
  double operator()(int64_t step) const;
};

/// Rises linearly to lr over `warmup` steps, stays there for `stable` steps, and falls linearly to min_lr over `decay`
/// steps.
struct WarmupStableDecay {
  double lr;
  int64_t warmup;
  int64_t stable;
  int64_t decay;
  double min_lr = 0;
  double operator()(int64_t step) const;
};

/// Falls along half a cosine from lr to min_lr within `period` steps, then starts again with a period `growth` times as
/// long. Loshchilov, Hutter 2016.
struct CosineRestarts {
  double lr;
  int64_t period;
  int64_t growth = 1;
  double min_lr = 0;
  double operator()(int64_t step) const;
};

/// Rises from start = max_lr / div_factor to max_lr within the first pct_start of `total` steps, then falls to start /
/// final_div_factor, and stays there. With three_phase it first falls to start as fast as it rose, and to start /
/// final_div_factor in the remaining steps. Smith, Topin 2017.
struct OneCycle {
  enum class Anneal { cosine, linear };
  double max_lr;
  int64_t total;
  double pct_start = 0.3;  ///< the fraction of the steps in which it rises
  double div_factor = 25;
  double final_div_factor = 1e4;
  Anneal anneal = Anneal::cosine;
  bool three_phase = false;
  double operator()(int64_t step) const;
};

/// Any of the above, or any function of the step: Schedule s = [](int64_t step) { return 0.1 / double(step); };
class Schedule {
 public:
  template <class S>
  requires(!std::is_same_v<S, Schedule> && std::is_invocable_r_v<double, const S&, int64_t>) Schedule(S schedule)
      : schedule_(std::move(schedule)) {}  // NOLINT: a schedule is one of these
  double operator()(int64_t step) const { return schedule_(step); }

 private:
  std::function<double(int64_t)> schedule_;
};

/// Runs schedules one after the other, each for its number of steps, counted from 1 in each; the last one continues.
///   Chain{{{LinearWarmup{.lr = 1e-3, .warmup = 100}, 100}, {Exponential{.lr = 1e-3, .gamma = 0.999}, 900}}}
struct Chain {
  struct Part {
    Schedule schedule;
    int64_t steps;
  };
  std::vector<Part> parts;
  double operator()(int64_t step) const;
};

/// Multiplies the learning rate by `factor` when a metric has not improved for more than `patience` calls. Unlike a
/// schedule, it has state: call optimizer.set_lr(plateau(loss)) after each epoch.
struct PlateauOptions {
  double lr;
  double factor = 0.1;
  int64_t patience = 10;
  double threshold = 1e-4;  ///< smallest improvement that counts
  bool relative = true;     ///< the threshold is a fraction of the best value; false: an absolute difference
  bool maximize = false;    ///< larger is better
  int64_t cooldown = 0;     ///< calls after a reduction during which `patience` does not count
  double min_lr = 0;
  double eps = 1e-8;  ///< smaller changes of the rate are skipped
};

class Plateau {
 public:
  /// Error unless 0 < factor < 1, and for negative numbers.
  explicit Plateau(PlateauOptions options);
  /// The learning rate after this value of the metric. NaN is not an improvement.
  double operator()(double metric);
  double lr() const { return options_.lr; }

  /// lr, best value, calls without improvement, calls of cooldown left: float64 [4]. load_state: Error for another
  /// shape.
  Tensor state() const;
  void load_state(const Tensor& state);

 private:
  PlateauOptions options_;
  double best_;
  int64_t waited_ = 0, cooling_ = 0;
};

}  // namespace tapegrad::optim
