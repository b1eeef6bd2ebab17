// Learning rates as functions of the step, which counts from 1: adam.set_lr(schedule(adam.steps() + 1)).
#pragma once

#include <cstdint>
#include <variant>

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

/// Rises linearly to lr over `warmup` steps, falls along half a cosine to min_lr at step `total`, then stays there.
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

/// Any of them, for a choice at run time.
class Schedule {
 public:
  template <class S>
  Schedule(S schedule) : schedule_(schedule) {}  // NOLINT: a schedule is one of these
  double operator()(int64_t step) const {
    return std::visit([step](const auto& s) { return s(step); }, schedule_);
  }

 private:
  std::variant<Constant, Noam, LinearWarmup, WarmupCosine, StepDecay> schedule_;
};

}  // namespace tapegrad::optim
