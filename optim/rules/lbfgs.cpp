// Limited-memory BFGS with an optional strong Wolfe line search.
#include <tapegrad/autograd/autocast.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/optim/detail/check.h>
#include <tapegrad/optim/detail/state.h>
#include <tapegrad/optim/lbfgs.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tapegrad::optim {

namespace {

constexpr std::string_view kLBFGS = "lbfgs";
constexpr double kDecrease = 1e-4;  // c1 of the Wolfe conditions: the loss must fall by this fraction of the slope
constexpr double kCurvature = 0.9;  // c2: |slope| must fall to this fraction

double inner(const Tensor& a, const Tensor& b) { return dot(a, b).item(); }
double largest(const Tensor& x) { return amax(abs(x)).item(); }

// The minimum in [low, high] of the cubic with these values and slopes at a and b; the middle where there is none.
double cubic_minimum(double a, double fa, double ga, double b, double fb, double gb, double low, double high) {
  if (!std::isfinite(fa) || !std::isfinite(fb)) return (low + high) / 2;
  if (a > b) {
    std::swap(a, b);
    std::swap(fa, fb);
    std::swap(ga, gb);
  }
  const double u = ga + gb - 3 * (fa - fb) / (a - b);
  const double square = u * u - ga * gb;
  if (!(square >= 0)) return (low + high) / 2;
  const double root = std::sqrt(square);
  return std::clamp(b - (b - a) * ((gb + root - u) / (gb - ga + 2 * root)), low, high);
}

void check(const LBFGSOptions& options) {
  require_in(kLBFGS, "lr", options.lr, kNotNegative);
  require_in(kLBFGS, "tolerance_grad", options.tolerance_grad, kNotNegative);
  require_in(kLBFGS, "tolerance_change", options.tolerance_change, kNotNegative);
  const auto at_least_one = [](std::string_view what, int64_t value) {
    if (value < 1) fail(kLBFGS, "expected {} of at least 1, got {}", what, value);
  };
  at_least_one("max_iterations", options.max_iterations);
  at_least_one("max_evaluations", options.max_evaluations.value_or(1));
  at_least_one("history_size", options.history_size);
}

}  // namespace

LBFGS::LBFGS(NamedTensors parameters, LBFGSOptions options) : parameters_(std::move(parameters)), options_(options) {
  check(options);
  if (parameters_.empty()) fail(kLBFGS, "expected at least one parameter, got none");
  for (const NamedTensor& p : parameters_) {
    require(p.tensor.defined() && p.tensor.is_leaf(), kLBFGS,
            "expected leaves, got \"{}\", which is not one (use parameters(model), or as_leaf())", p.name);
    require(p.tensor.dtype() == parameters_[0].tensor.dtype(), kLBFGS, "expected parameters of one type, got {} and {}",
            parameters_[0].tensor.dtype(), p.tensor.dtype());
    numel_ += p.tensor.numel();
  }
}

void LBFGS::set_lr(double lr) {
  require_in(kLBFGS, "lr", lr, kNotNegative);
  options_.lr = lr;
}

// --- all parameters as one vector ---

Tensor LBFGS::values() const {
  std::vector<Tensor> parts;
  for (const NamedTensor& p : parameters_) parts.push_back(p.tensor.detach().reshape({-1}));
  return cat(parts);
}

void LBFGS::set_values(const Tensor& row) {
  for (const NamedTensor& p : parameters_) p.tensor.require_writable(kLBFGS, p.name);
  int64_t begin = 0;
  for (const NamedTensor& p : parameters_) {
    p.tensor.prepare_write(kLBFGS, p.name, Tensor::Values::discard);
    copy_into(p.tensor, narrow(row, 0, begin, p.tensor.numel()).reshape(p.tensor.shape()));
    begin += p.tensor.numel();
  }
}

LBFGS::Point LBFGS::evaluate(const std::function<Evaluation()>& f) {
  const Evaluation found = f();
  ++evaluations_;
  std::vector<Tensor> parts;
  for (const NamedTensor& p : parameters_) {
    const Tensor* const grad = found.grads.find(p.tensor);
    parts.push_back(grad ? grad->detach().reshape({-1}) : zeros({p.tensor.numel()}, p.tensor.dtype()));
  }
  const Tensor gradient = cat(parts);
  return {std::isfinite(found.loss) && all_finite(gradient) ? found.loss : HUGE_VAL, gradient};
}

// With the parameters at `row`. If f throws, they return to `good`.
LBFGS::Point LBFGS::evaluate_at(const Tensor& row, const Tensor& good, const std::function<Evaluation()>& f) {
  set_values(row);
  try {
    return evaluate(f);
  } catch (...) {
    set_values(good);
    throw;
  }
}

void LBFGS::fail_at(const Tensor& good, std::string_view where) {
  set_values(good);
  fail(kLBFGS,
       "the loss or its gradient is not finite {}; the parameters have the values of the last point where both were (a "
       "smaller lr, strong_wolfe, or Tape::trap_nan, which finds the operation)",
       where);
}

// --- directions ---

// Adds the last step to the history, unless the curvature along it is not positive.
void LBFGS::remember(const Tensor& gradient) {
  const Tensor y = gradient - last_gradient_, s = direction_ * t_;
  const double ys = inner(y, s);
  if (!(ys > 1e-10)) return;
  if (static_cast<int64_t>(history_.size()) == options_.history_size) history_.pop_front();
  history_.push_back({y, s, 1 / ys});
  scale_ = ys / inner(y, y);
}

// -H^-1 g by the two-loop recursion.
Tensor LBFGS::newton_direction(const Tensor& gradient) const {
  std::vector<double> weights(history_.size());
  Tensor q = -gradient;
  for (std::size_t i = history_.size(); i-- > 0;) {
    weights[i] = inner(history_[i].s, q) * history_[i].inverse;
    q = q - weights[i] * history_[i].y;
  }
  q = q * scale_;
  for (std::size_t i = 0; i < history_.size(); ++i) {
    q = q + (weights[i] - inner(history_[i].y, q) * history_[i].inverse) * history_[i].s;
  }
  return q;
}

// --- the line search: Nocedal, Wright 2006, algorithms 3.5 and 3.6 ---

LBFGS::Trial LBFGS::search(const std::function<Evaluation()>& f, const Trial& start, double t, int64_t most) {
  const Tensor origin = values();
  found_finite_ = false;
  const auto at = [&](double length) {
    Point point = evaluate_at(origin + length * direction_, origin, f);
    set_values(origin);
    found_finite_ = found_finite_ || std::isfinite(point.loss);
    const double slope = inner(point.gradient, direction_);
    return Trial{length, std::move(point), slope};
  };
  const auto too_high = [&](const Trial& trial) {
    return !(trial.point.loss <= start.point.loss + kDecrease * trial.t * start.slope);
  };
  const auto flat = [&](const Trial& trial) { return std::abs(trial.slope) <= -kCurvature * start.slope; };
  const auto minimum = [](const Trial& a, const Trial& b, double low, double high) {
    return cubic_minimum(a.t, a.point.loss, a.slope, b.t, b.point.loss, b.slope, low, high);
  };

  // Increases the step until a minimum lies between the last two trials.
  Trial low = start, high = at(t);
  int64_t tried = 0;
  for (; tried < most; ++tried) {
    if (too_high(high) || (tried > 1 && high.point.loss >= low.point.loss)) break;
    if (flat(high)) return high;
    if (high.slope >= 0) break;
    t = minimum(low, high, high.t + 0.01 * (high.t - low.t), high.t * 10);
    low = std::exchange(high, at(t));
  }
  if (tried == most) return start.point.loss <= high.point.loss ? start : high;
  if (high.point.loss < low.point.loss) std::swap(low, high);

  // Narrows the bracket; `low` is the trial with the smallest loss.
  const double size = largest(direction_);
  bool stalled = false;
  for (; tried < most; ++tried) {
    const auto [first, last] = std::minmax(low.t, high.t);
    if ((last - first) * size < options_.tolerance_change) break;
    t = minimum(low, high, first, last);
    const double margin = 0.1 * (last - first);
    const bool near_end = std::min(last - t, t - first) < margin;
    if (near_end && (stalled || t >= last || t <= first)) {
      t = std::abs(t - last) < std::abs(t - first) ? last - margin : first + margin;
      stalled = false;
    } else {
      stalled = near_end;
    }
    Trial trial = at(t);
    if (too_high(trial) || trial.point.loss >= low.point.loss) {
      high = std::move(trial);
      if (high.point.loss < low.point.loss) std::swap(low, high);
      continue;
    }
    if (flat(trial)) return trial;
    if (trial.slope * (high.t - low.t) >= 0) high = low;
    low = std::move(trial);
  }
  return low;
}

// The first evaluation of a call. The one before may have ended with a step whose end it has not evaluated.
LBFGS::Point LBFGS::start(const std::function<Evaluation()>& f) {
  const Tensor before = std::exchange(before_, Tensor());
  Point now = evaluate(f);
  if (std::isfinite(now.loss)) return now;
  const Tensor here = values();
  const bool moved = before.defined() && equal(here, before + t_ * direction_);
  fail_at(moved ? before : here, moved ? "after the last step" : "at the start");
}

// A step of fixed length; without `f`, its end is not evaluated.
void LBFGS::move(Point& now, const std::function<Evaluation()>* f) {
  Tensor good = values();
  const Tensor row = good + t_ * direction_;
  if (!f) {
    set_values(row);
    before_ = std::move(good);
    return;
  }
  now = evaluate_at(row, good, *f);
  if (!std::isfinite(now.loss)) fail_at(good, fmt::format("after a step of length {}", t_));
}

double LBFGS::step(const std::function<Evaluation()>& evaluation) {
  const std::function<Evaluation()> f = [&evaluation, products = Autocast::dtype()] {
    const Autocast as_called(products);
    return evaluation();
  };
  const Autocast in_own_type(kFloat32);
  const PauseRecording pause;
  const int64_t before = evaluations_, most = options_.max_evaluations.value_or(options_.max_iterations * 5 / 4);
  Point now = start(f);
  const double first_loss = now.loss;
  if (numel_ == 0 || largest(now.gradient) <= options_.tolerance_grad) return first_loss;
  for (int64_t i = 1; i <= options_.max_iterations; ++i) {
    ++iterations_;
    if (iterations_ == 1) {
      direction_ = -now.gradient;
      t_ = std::min(1.0, 1 / sum(abs(now.gradient)).item()) * options_.lr;
    } else {
      remember(now.gradient);
      direction_ = newton_direction(now.gradient);
      t_ = options_.lr;
    }
    last_gradient_ = now.gradient;
    const double last_loss = now.loss, slope = inner(now.gradient, direction_);
    if (slope > -options_.tolerance_change) break;
    if (options_.strong_wolfe) {
      const int64_t tried = evaluations_;
      Trial found = search(f, {0, now, slope}, t_, most - (evaluations_ - before));
      if (found.t == 0 && !found_finite_ && i == 1)
        fail_at(values(), fmt::format("at any of {} points of the line search", evaluations_ - tried));
      t_ = found.t;
      now = std::move(found.point);
      set_values(values() + t_ * direction_);
    } else {
      move(now, i < options_.max_iterations ? &f : nullptr);
    }
    if (evaluations_ - before >= most || largest(now.gradient) <= options_.tolerance_grad ||
        std::abs(t_) * largest(direction_) <= options_.tolerance_change ||
        std::abs(now.loss - last_loss) < options_.tolerance_change) {
      break;
    }
  }
  return first_loss;
}

// --- state ---

NamedTensors LBFGS::state() const {
  const auto pairs = static_cast<int64_t>(history_.size());
  std::vector<double> numbers{options_.lr, t_, scale_};
  for (const Step& step : history_) numbers.push_back(step.inverse);
  NamedTensors state{{"counts", tensor(std::vector<int64_t>{iterations_, evaluations_, pairs}, {3})},
                     {"numbers", tensor(numbers, {3 + pairs})}};
  if (direction_.defined()) {
    state.push_back({"direction", direction_});
    state.push_back({"last_gradient", last_gradient_});
  }
  for (int64_t i = 0; i < pairs; ++i) {
    state.push_back({fmt::format("y.{}", i), history_[static_cast<std::size_t>(i)].y});
    state.push_back({fmt::format("s.{}", i), history_[static_cast<std::size_t>(i)].s});
  }
  return state;
}

void LBFGS::load_state(const NamedTensors& state) {
  StateEntries entries(kLBFGS, state);
  const auto take = [&](const std::string& name, const Shape& shape, DType dtype) {
    return entries.take(name, shape, dtype).detach();
  };
  const std::vector<int64_t> counts = take("counts", {3}, kInt64).to_vector<int64_t>();
  require(counts[0] >= 0 && counts[1] >= 0 && counts[2] >= 0 && counts[2] < counts[0] + 1, kLBFGS,
          "expected valid counts in the state, got {} iterations, {} evaluations, {} pairs", counts[0], counts[1],
          counts[2]);
  const std::vector<double> numbers = take("numbers", {3 + counts[2]}, kFloat64).to_vector<double>();
  require_in(kLBFGS, "lr", numbers[0], kNotNegative);
  const DType dtype = parameters_[0].tensor.dtype();
  Tensor direction, last_gradient;
  if (counts[0] > 0) {
    direction = take("direction", {numel_}, dtype);
    last_gradient = take("last_gradient", {numel_}, dtype);
  }
  std::deque<Step> history;
  for (int64_t i = 0; i < counts[2]; ++i) {
    const Tensor y = take(fmt::format("y.{}", i), {numel_}, dtype), s = take(fmt::format("s.{}", i), {numel_}, dtype);
    history.push_back({y, s, numbers[static_cast<std::size_t>(3 + i)]});
  }
  entries.require_end();
  iterations_ = counts[0];
  evaluations_ = counts[1];
  options_.lr = numbers[0];
  t_ = numbers[1];
  scale_ = numbers[2];
  direction_ = direction;
  last_gradient_ = last_gradient;
  history_ = std::move(history);
}

}  // namespace tapegrad::optim
