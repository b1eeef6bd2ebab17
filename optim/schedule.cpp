// Learning rates as functions of the step.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/limits.h>
#include <tapegrad/optim/schedule.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tapegrad::optim {

namespace {

// Steps count from 1.
double checked(const auto& schedule, int64_t step) {
  schedule.check();
  if (step < 1) fail("schedule", "steps count from 1, got {}", step);
  return static_cast<double>(step);
}

double real(int64_t steps) { return static_cast<double>(steps); }

void positive(const char* name, int64_t value) { require_in("schedule", name, value, kPositive); }
// Rates and their factors.
void rate(const char* name, double value) { require_in("schedule", name, value, kNotNegative); }

}  // namespace

double Constant::operator()(int64_t step) const {
  checked(*this, step);
  return lr;
}
void Constant::check() const { rate("lr", lr); }

double Noam::operator()(int64_t step) const {
  const double s = checked(*this, step), w = real(warmup), d = real(hidden_size);
  return factor * fixed::pow(d, -0.5) * std::min(fixed::pow(s, -0.5), s * fixed::pow(w, -1.5));
}
void Noam::check() const {
  positive("warmup", warmup);
  positive("hidden_size", hidden_size);
  rate("factor", factor);
}

double LinearWarmup::operator()(int64_t step) const { return lr * std::min(1.0, checked(*this, step) / real(warmup)); }
void LinearWarmup::check() const {
  rate("lr", lr);
  positive("warmup", warmup);
}

double Cosine::operator()(int64_t step) const {
  const double done = (checked(*this, step) - 1) / real(total);
  return min_lr + (lr - min_lr) * 0.5 * (1 + fixed::cos(std::numbers::pi * done));
}
void Cosine::check() const {
  rate("lr", lr);
  rate("min_lr", min_lr);
  positive("total", total);
}

double WarmupCosine::operator()(int64_t step) const {
  const double s = checked(*this, step);
  if (step <= warmup) return lr * s / real(warmup);
  const double done = std::min(1.0, (s - real(warmup)) / real(total - warmup));
  return min_lr + (lr - min_lr) * 0.5 * (1 + fixed::cos(std::numbers::pi * done));
}
void WarmupCosine::check() const {
  require(warmup >= 0 && total > warmup, "schedule", "expected 0 <= warmup < total, got warmup {} and total {}", warmup,
          total);
  rate("lr", lr);
  rate("min_lr", min_lr);
}

double StepDecay::operator()(int64_t step) const {
  return lr * fixed::pow(gamma, std::floor((checked(*this, step) - 1) / real(every)));
}
void StepDecay::check() const {
  rate("lr", lr);
  rate("gamma", gamma);
  positive("every", every);
}

double MultiStep::operator()(int64_t step) const {
  checked(*this, step);
  const auto passed = std::count_if(milestones.begin(), milestones.end(), [=](int64_t m) { return m < step; });
  return lr * fixed::pow(gamma, static_cast<double>(passed));
}
void MultiStep::check() const {
  rate("lr", lr);
  rate("gamma", gamma);
}

double Exponential::operator()(int64_t step) const { return lr * fixed::pow(gamma, checked(*this, step) - 1); }
void Exponential::check() const {
  rate("lr", lr);
  rate("gamma", gamma);
}

double Linear::operator()(int64_t step) const {
  const double done = std::min(1.0, (checked(*this, step) - 1) / real(total));
  return lr * (start_factor + (end_factor - start_factor) * done);
}
void Linear::check() const {
  rate("lr", lr);
  rate("start_factor", start_factor);
  rate("end_factor", end_factor);
  positive("total", total);
}

double Polynomial::operator()(int64_t step) const {
  const double done = std::min(1.0, (checked(*this, step) - 1) / real(total));
  return lr * fixed::pow(1 - done, power);
}
void Polynomial::check() const {
  rate("lr", lr);
  rate("power", power);
  positive("total", total);
}

double InverseRoot::operator()(int64_t step) const {
  const double s = checked(*this, step), w = real(warmup);
  return lr * std::min(s / w, std::sqrt(w / s));
}
void InverseRoot::check() const {
  rate("lr", lr);
  positive("warmup", warmup);
}

double WarmupStableDecay::operator()(int64_t step) const {
  const double s = checked(*this, step);
  if (step <= warmup) return lr * s / real(warmup);
  const double done = (s - (real(warmup) + real(stable))) / real(decay);
  return lr + (min_lr - lr) * std::clamp(done, 0.0, 1.0);
}
void WarmupStableDecay::check() const {
  require(warmup >= 0 && stable >= 0, "schedule", "expected warmup and stable of 0 or more, got {} and {}", warmup,
          stable);
  positive("decay", decay);
  rate("lr", lr);
  rate("min_lr", min_lr);
}

double CosineRestarts::operator()(int64_t step) const {
  double at = checked(*this, step) - 1, length = real(period);
  if (growth == 1) {
    at = std::fmod(at, length);
  } else {
    for (; at >= length; length *= real(growth)) at -= length;
  }
  return min_lr + (lr - min_lr) * 0.5 * (1 + fixed::cos(std::numbers::pi * at / length));
}
void CosineRestarts::check() const {
  positive("period", period);
  positive("growth", growth);
  rate("lr", lr);
  rate("min_lr", min_lr);
}

double OneCycle::operator()(int64_t step) const {
  const double s = checked(*this, step), last = real(total) - 1, at = std::min(s - 1, last);
  const double start = max_lr / div_factor, end = start / final_div_factor;
  const double top = pct_start * real(total) - 1;  // the end of the rise
  const auto between = [this, at](double from, double to, double begin, double finish) {
    const double done = finish > begin ? (at - begin) / (finish - begin) : 1;
    return anneal == Anneal::linear ? from + (to - from) * done
                                    : to + (from - to) / 2 * (1 + fixed::cos(std::numbers::pi * done));
  };
  if (at <= top) return between(start, max_lr, 0, top);
  if (!three_phase) return between(max_lr, end, top, last);
  const double back = 2 * pct_start * real(total) - 2;  // where it has fallen to its start again
  return at <= back ? between(max_lr, start, top, back) : between(start, end, back, last);
}
void OneCycle::check() const {
  positive("total", total);
  require_in("schedule", "pct_start", pct_start, kShare);
  require_in("schedule", "div_factor", div_factor, kPositive);
  require_in("schedule", "final_div_factor", final_div_factor, kPositive);
  rate("max_lr", max_lr);
}

double Chain::operator()(int64_t step) const {
  checked(*this, step);
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    if (step <= parts[i].steps) return parts[i].schedule(step);
    step -= parts[i].steps;
  }
  return parts.back().schedule(step);
}
void Chain::check() const {
  if (parts.empty()) fail("schedule", "expected a chain of at least one schedule, got none");
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) positive("steps", parts[i].steps);
  for (const Part& part : parts) part.schedule.check();
}

// --- Plateau ---

Plateau::Plateau(PlateauOptions options) : options_(options), best_(options.maximize ? -HUGE_VAL : HUGE_VAL) {
  require_in("plateau", "factor", options.factor, {.least = 0, .most = 1, .open_below = true, .open_above = true});
  const double calls = static_cast<double>(std::min(options.patience, options.cooldown));
  for (const double value : {options.lr, options.threshold, options.min_lr, options.eps, calls}) {
    if (value < 0) fail("plateau", "expected options of 0 or more, got a negative one");
    if (!std::isfinite(value)) fail("plateau", "expected finite options, got {}", value);
  }
}

double Plateau::operator()(double metric) {
  const double sign = options_.maximize ? 1 : -1;
  const double bound = options_.relative ? best_ * (1 + sign * options_.threshold) : best_ + sign * options_.threshold;
  const bool better = options_.maximize ? metric > bound : metric < bound;
  if (better) best_ = metric;
  waited_ = better ? 0 : waited_ + 1;
  if (cooling_ > 0) {
    --cooling_;
    waited_ = 0;
  }
  if (waited_ > options_.patience) {
    const double next = std::max(options_.lr * options_.factor, options_.min_lr);
    if (options_.lr - next > options_.eps) options_.lr = next;
    cooling_ = options_.cooldown;
    waited_ = 0;
  }
  return options_.lr;
}

Tensor Plateau::state() const {
  return tensor(std::vector<double>{options_.lr, best_, static_cast<double>(waited_), static_cast<double>(cooling_)},
                {4});
}

void Plateau::load_state(const Tensor& state) {
  require(state.shape() == Shape{4} && state.dtype() == kFloat64, "plateau", "expected a float64 [4] state, got {} {}",
          state.dtype(), state.shape());
  const std::vector<double> values = state.to_vector<double>();
  require(values[0] >= 0 && values[2] >= 0 && values[3] >= 0, "plateau", "expected a state without negative numbers");
  options_.lr = values[0];
  best_ = values[1];
  waited_ = static_cast<int64_t>(values[2]);
  cooling_ = static_cast<int64_t>(values[3]);
}

}  // namespace tapegrad::optim
