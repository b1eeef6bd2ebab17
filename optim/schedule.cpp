// Learning rates as functions of the step.
#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/optim/schedule.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tapegrad::optim {

namespace {

// Steps count from 1; divisors must be positive.
double checked(int64_t step) {
  if (step < 1) fail("schedule", fmt::format("steps count from 1, got {}", step));
  return static_cast<double>(step);
}

double positive(const char* name, int64_t value) {
  if (value < 1) fail("schedule", fmt::format("{} must be positive, got {}", name, value));
  return static_cast<double>(value);
}

}  // namespace

double Constant::operator()(int64_t step) const {
  checked(step);
  return lr;
}

double Noam::operator()(int64_t step) const {
  const double s = checked(step), w = positive("warmup", warmup), d = positive("hidden_size", hidden_size);
  return factor * std::pow(d, -0.5) * std::min(std::pow(s, -0.5), s * std::pow(w, -1.5));
}

double LinearWarmup::operator()(int64_t step) const {
  return lr * std::min(1.0, checked(step) / positive("warmup", warmup));
}

double WarmupCosine::operator()(int64_t step) const {
  if (warmup < 0 || total <= warmup) {
    fail("schedule", fmt::format("expected 0 <= warmup < total, got warmup {} and total {}", warmup, total));
  }
  const double s = checked(step);
  if (step <= warmup) return lr * s / static_cast<double>(warmup);
  const double done = std::min(1.0, (s - static_cast<double>(warmup)) / static_cast<double>(total - warmup));
  return min_lr + (lr - min_lr) * 0.5 * (1 + std::cos(std::numbers::pi * done));
}

double StepDecay::operator()(int64_t step) const {
  const double s = checked(step);
  return lr * std::pow(gamma, std::floor((s - 1) / positive("every", every)));
}

}  // namespace tapegrad::optim
