// Learning rates as functions of the step, which counts from 1: adam.set_lr(schedule(adam.steps() + 1)). At step s, the
// rate equals the rate of PyTorch's scheduler of the same name after s - 1 calls of step(). Error for a step below 1.
// Every call checks all options by check(), also options that its step does not use.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapegrad::optim {

/// The same rate at every step.
struct Constant {
  double lr;  ///< learning rate
  double operator()(int64_t step) const;
  void check() const;  ///< Error for an option out of range
};

/// factor hidden_size^-0.5 min(step^-0.5, step warmup^-1.5). Vaswani et al. 2017.
struct Noam {
  int64_t hidden_size;    ///< width of the model
  int64_t warmup = 4000;  ///< steps of the rise
  double factor = 1;      ///< of all rates
  double operator()(int64_t step) const;
  void check() const;  ///< Error for an option out of range
};

/// Rises linearly to lr over `warmup` steps, then stays there.
struct LinearWarmup {
  double lr;       ///< learning rate
  int64_t warmup;  ///< steps of the rise
  double operator()(int64_t step) const;
  void check() const;  ///< Error for an option out of range
};

/// Half a cosine from lr to min_lr within `total` steps, then back to lr within the next `total` steps, as
/// CosineAnnealingLR.
struct Cosine {
  double lr;          ///< learning rate
  int64_t total;      ///< steps
  double min_lr = 0;  ///< the lowest rate
  double operator()(int64_t step) const;
  void check() const;  ///< Error for an option out of range
};

/// Rises linearly to lr over `warmup` steps, falls along half a cosine to min_lr at step `total`, then stays there.
/// The cosine starts at step `warmup`, the last step of the rise. Unlike Cosine, without warm-up the first step is
/// already below lr.
struct WarmupCosine {
  double lr;          ///< learning rate
  int64_t warmup;     ///< steps of the rise
  int64_t total;      ///< steps
  double min_lr = 0;  ///< the lowest rate
  double operator()(int64_t step) const;
  void check() const;  ///< Error for an option out of range
};

/// lr gamma^floor((step - 1) / every).
struct StepDecay {
  double lr;           ///< learning rate
  int64_t every;       ///< steps between two falls
  double gamma = 0.1;  ///< factor of each fall
  double operator()(int64_t step) const;
  void check() const;  ///< Error for an option out of range
};

/// lr gamma^n, where n is the number of milestones smaller than the step: the rate drops at step m + 1.
struct MultiStep {
  double lr;                        ///< learning rate
  std::vector<int64_t> milestones;  ///< in steps, as in MultiStepLR; one that occurs twice counts twice
  double gamma = 0.1;               ///< factor of each fall
  double operator()(int64_t step) const;
  void check() const;  ///< Error for an option out of range
};

/// lr gamma^(step - 1).
struct Exponential {
  double lr;     ///< learning rate
  double gamma;  ///< factor per step
  double operator()(int64_t step) const;
  void check() const;  ///< Error for an option out of range
};

/// Changes linearly from start_factor lr at step 1 to end_factor lr after `total` steps, then stays there.
struct Linear {
  double lr;                ///< learning rate
  int64_t total;            ///< steps
  double start_factor = 1;  ///< of lr, at step 1
  double end_factor = 0;    ///< of lr, at the end
  double operator()(int64_t step) const;
  void check() const;  ///< Error for an option out of range
};

/// lr (1 - (step - 1) / total)^power; 0 after `total` steps.
struct Polynomial {
  double lr;         ///< learning rate
  int64_t total;     ///< steps
  double power = 1;  ///< 1: linear
  double operator()(int64_t step) const;
  void check() const;  ///< Error for an option out of range
};

/// Rises linearly to lr over `warmup` steps, then falls as lr sqrt(warmup / step).
struct InverseRoot {
  double lr;       ///< learning rate
  int64_t warmup;  ///< steps of the rise
  double operator()(int64_t step) const;
  void check() const;  ///< Error for an option out of range
};

/// Rises linearly to lr over `warmup` steps, stays there for `stable` steps, and falls linearly to min_lr over `decay`
/// steps.
struct WarmupStableDecay {
  double lr;          ///< learning rate
  int64_t warmup;     ///< steps of the rise
  int64_t stable;     ///< steps at lr
  int64_t decay;      ///< steps of the fall
  double min_lr = 0;  ///< the lowest rate
  double operator()(int64_t step) const;
  void check() const;  ///< Error for an option out of range
};

/// Falls along half a cosine from lr to min_lr within `period` steps, then starts again with a period `growth` times as
/// long. Loshchilov, Hutter 2016.
struct CosineRestarts {
  double lr;           ///< learning rate
  int64_t period;      ///< steps of the first period
  int64_t growth = 1;  ///< factor of each period
  double min_lr = 0;   ///< the lowest rate
  double operator()(int64_t step) const;
  void check() const;  ///< Error for an option out of range
};

/// Rises from start = max_lr / div_factor to max_lr within the first pct_start of `total` steps, then falls to start /
/// final_div_factor, and stays there. With three_phase it first falls to start as fast as it rose, and to start /
/// final_div_factor in the remaining steps. Smith, Topin 2017.
struct OneCycle {
  enum class Anneal { cosine, linear };  ///< half a cosine, or a straight line
  double max_lr;                         ///< the peak
  int64_t total;                         ///< steps
  double pct_start = 0.3;                ///< the fraction of the steps in which it rises
  double div_factor = 25;                ///< max_lr over the first rate
  double final_div_factor = 1e4;         ///< the first rate over the last one
  Anneal anneal = Anneal::cosine;        ///< form of the rise and the falls
  bool three_phase = false;              ///< the fall to start is as long as the rise, and a third phase follows
  double operator()(int64_t step) const;
  void check() const;  ///< Error for an option out of range
};

/// Any of these, or any function of the step: Schedule s = [](int64_t step) { return 0.1 / double(step); };
class Schedule {
 public:
  template <class S>
  requires(!std::is_same_v<S, Schedule> && std::is_invocable_r_v<double, const S&, int64_t>) Schedule(S schedule)
      : schedule_([schedule = std::move(schedule)](int64_t step, bool checks_only) -> double {  // NOLINT: one of these
          if constexpr (requires { schedule.check(); }) {
            if (checks_only) return schedule.check(), 0;
          }
          return checks_only ? 0 : schedule(step);
        }) {}
  double operator()(int64_t step) const { return schedule_(step, false); }
  /// Error for options out of range; nothing for a function.
  void check() const { schedule_(1, true); }

 private:
  std::function<double(int64_t step, bool checks_only)> schedule_;
};

/// Runs schedules one after the other, each for its number of steps, counted from 1 in each; the last one continues.
///
///   const Chain chain{{{LinearWarmup{.lr = 1e-3, .warmup = 100}, 100},
///                      {Exponential{.lr = 1e-3, .gamma = 0.999}, 900}}};
struct Chain {
  /// A schedule and for how many steps it is used.
  struct Part {
    Schedule schedule;  ///< its steps count from 1
    int64_t steps;      ///< of the last part: not used
  };
  std::vector<Part> parts;  ///< in order; not empty
  double operator()(int64_t step) const;
  void check() const;  ///< Error for an option out of range
};

/// Multiplies the learning rate by `factor` when a metric has not improved for more than `patience` calls. Unlike a
/// schedule, it has state: call optimizer.set_lr(plateau(loss)) after each epoch.
struct PlateauOptions {
  double lr;                ///< learning rate
  double factor = 0.1;      ///< of the rate, at each reduction
  int64_t patience = 10;    ///< calls without improvement that are tolerated
  double threshold = 1e-4;  ///< smallest improvement that counts
  bool relative = true;     ///< the threshold is a fraction of the best value; false: an absolute difference
  bool maximize = false;    ///< larger is better
  int64_t cooldown = 0;     ///< calls after a reduction during which `patience` does not count
  double min_lr = 0;        ///< the lowest rate
  double eps = 1e-8;        ///< smaller changes of the rate are skipped
};

/// Reduces the learning rate when a metric has stopped improving, as ReduceLROnPlateau.
class Plateau {
 public:
  /// Error unless 0 < factor < 1, and for numbers that are negative or not finite.
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
