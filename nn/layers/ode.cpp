// Runge-Kutta methods on states of several tensors, and the adjoint equation.
#include <fmt/ranges.h>
#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/derivatives.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/ode.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kOdeint = "odeint";
const Op kAdjoint{"ode_adjoint"};

using State = std::vector<Tensor>;  // tensors that change together
using StateSlope = std::function<State(double t, const State& s)>;

// s + dt (weights[0] slopes[0] + weights[1] slopes[1] + ...).
State moved(const State& s, double dt, std::span<const double> weights, std::span<const State> slopes) {
  State to = s;
  for (std::size_t k = 0; k < weights.size(); ++k) {
    if (weights[k] == 0) continue;
    for (std::size_t i = 0; i < s.size(); ++i) to[i] = to[i] + slopes[k][i] * (dt * weights[k]);
  }
  return to;
}

State runge_kutta_step(const StateSlope& slope, const State& s, double t, double dt) {
  constexpr double kHalf[] = {0.5}, kWhole[] = {1}, kAll[] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
  State k[4];
  k[0] = slope(t, s);
  k[1] = slope(t + dt / 2, moved(s, dt, kHalf, {&k[0], 1}));
  k[2] = slope(t + dt / 2, moved(s, dt, kHalf, {&k[1], 1}));
  k[3] = slope(t + dt, moved(s, dt, kWhole, {&k[2], 1}));
  return moved(s, dt, kAll, k);
}

// --- Dormand-Prince. Hairer, Norsett, Wanner, "Solving Ordinary Differential Equations I", section II.5 ---

constexpr int kStages = 7;
constexpr double kNodes[kStages] = {0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1, 1};
constexpr double kStage[kStages][kStages - 1] = {
    {},
    {1.0 / 5},
    {3.0 / 40, 9.0 / 40},
    {44.0 / 45, -56.0 / 15, 32.0 / 9},
    {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
    {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
    {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784,
     11.0 / 84}};  // the result, where the last stage is evaluated
constexpr double kError[kStages] = {71.0 / 57600,      0,          -71.0 / 16695, 71.0 / 1920,
                                    -17253.0 / 339200, 22.0 / 525, -1.0 / 40};
// Weights of the slopes inside a step: polynomials in the fraction of the step, without a constant. Shampine 1986.
constexpr double kInside[kStages][4] = {
    {1, -8048581381.0 / 2820520608, 8663915743.0 / 2820520608, -12715105075.0 / 11282082432},
    {0, 0, 0, 0},
    {0, 131558114200.0 / 32700410799, -68118460800.0 / 10900136933, 87487479700.0 / 32700410799},
    {0, -1754552775.0 / 470086768, 14199869525.0 / 1410260304, -10690763975.0 / 1880347072},
    {0, 127303824393.0 / 49829197408, -318862633887.0 / 49829197408, 701980252875.0 / 199316789632},
    {0, -282668133.0 / 205662961, 2019193451.0 / 616988883, -1453857185.0 / 822651844},
    {0, 40617522.0 / 29380423, -110615467.0 / 29380423, 69997945.0 / 29380423}};

Tensor slope_at(const OdeSlope& slope, double t, const Tensor& h, std::span<const Tensor> parameters) {
  Tensor found = slope(t, h, parameters);
  if (found.shape() == h.shape()) return found;
  fail(kOdeint, "expected a slope of the shape of h, {}, got {}", h.shape(), found.shape());
}

bool is_finite(const State& s) {
  return std::all_of(s.begin(), s.end(), [](const Tensor& x) { return all_finite(x.detach()); });
}

struct Step {
  State slopes[kStages];
  State end;

  Step(const StateSlope& slope, const State& s, const State& first, double t, double dt) {
    slopes[0] = first;
    for (std::size_t i = 1; i < kStages; ++i) {
      end = moved(s, dt, {kStage[i], i}, {slopes, i});
      slopes[i] = slope(t + kNodes[i] * dt, end);
    }
  }
  State inside(const State& s, double part, double dt) const {
    double weights[kStages];
    for (std::size_t i = 0; i < kStages; ++i) {
      const double* p = kInside[i];
      weights[i] = part * (p[0] + part * (p[1] + part * (p[2] + part * p[3])));
    }
    return moved(s, dt, weights, slopes);
  }
};

// The root mean square of x, each element relative to the error that the tolerance allows for it.
double size_of(const State& x, const State& from, const State& to, double tolerance) {
  double sum_of_squares = 0, count = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Tensor allowed = (maximum(abs(from[i]), abs(to[i])) + 1) * tolerance;
    sum_of_squares += sum(square((x[i] / allowed).to(kFloat64))).item();
    count += static_cast<double>(x[i].numel());
  }
  return std::sqrt(sum_of_squares / std::max(count, 1.0));
}

// Steps as long as the tolerance allows. Their lengths depend on values, but gradients treat them as constants.
class DormandPrince {
 public:
  DormandPrince(const StateSlope& slope, State start, double t, double direction, double tolerance)
      : slope_(slope), tolerance_(tolerance), t_(t), state_(std::move(start)), first_(slope(t, state_)) {
    const PauseRecording pause;
    const double value = size_of(state_, state_, state_, 1), speed = size_of(first_, state_, state_, 1);
    const double dt = value > 1e-5 && speed > 1e-5 ? 0.01 * value / speed : 1e-3;
    dt_ = direction * (dt > 0 && std::isfinite(dt) ? dt : 1e-3);
  }

  // The state at the later time `to`. `exactly`: the last step ends there.
  State advance(double to, bool exactly) {
    while (!reached(to)) {
      const bool last = exactly && std::abs(to - t_) <= std::abs(dt_);
      const double dt = last ? to - t_ : dt_;
      Step step(slope_, state_, first_, t_, dt);
      const double error = error_of(step, dt);
      const double factor = error > 0 ? std::clamp(0.9 * fixed::pow(error, -0.2), 0.2, 10.0) : 10;
      if (error > 1) {
        dt_ = dt * std::min(factor, 1.0);
        require(t_ + dt_ != t_, kOdeint, "the steps at t = {} become too short (try a larger tolerance)", t_);
        continue;
      }
      if (!last || std::abs(dt * factor) > std::abs(dt_)) dt_ = dt * factor;
      begin_ = std::exchange(state_, step.end);
      first_ = step.slopes[kStages - 1];
      began_ = t_;
      t_ = last ? to : t_ + dt;
      step_.emplace(std::move(step));
    }
    if (to == t_ || !step_) return state_;
    return step_->inside(begin_, (to - began_) / (t_ - began_), t_ - began_);
  }
  // Continues from other values at the same time.
  void replace(State state) {
    state_ = std::move(state);
    first_ = slope_(t_, state_);
    step_.reset();
  }

 private:
  bool reached(double to) const { return dt_ > 0 ? t_ >= to : t_ <= to; }
  // Infinity for a step from finite numbers to others: it is too long. What is not finite before reaches the result.
  double error_of(const Step& step, double dt) const {
    const PauseRecording pause;
    State zero;
    for (const Tensor& x : state_) zero.push_back(zeros_like(x));
    const State error = moved(zero, dt, kError, step.slopes);
    const double found = size_of(error, state_, step.end, tolerance_);
    if (std::isfinite(found)) return found;
    return is_finite(state_) && is_finite(first_) ? std::numeric_limits<double>::infinity() : 0;
  }

  const StateSlope& slope_;
  double tolerance_, t_, dt_ = 0;
  State state_, first_;  // at t_; the slope there
  double began_ = 0;     // of the last step
  State begin_;
  std::optional<Step> step_;
};

// --- solutions and their gradients ---

// From `t` to `to`, in steps that end there.
State advanced(const StateSlope& slope, State s, double t, double to, const OdeOptions& options) {
  const double dt = (to - t) / static_cast<double>(options.steps);
  for (int64_t k = 0; k < options.steps; ++k) s = runge_kutta_step(slope, s, t + static_cast<double>(k) * dt, dt);
  return s;
}

Tensor solution(const OdeSlope& slope, const Tensor& start, std::span<const Tensor> parameters,
                std::span<const double> times, const OdeOptions& options) {
  const StateSlope of_state = [&](double t, const State& s) { return State{slope_at(slope, t, s[0], parameters)}; };
  std::vector<Tensor> found{start};
  if (times.size() > 1 && options.solver == OdeSolver::dopri5) {
    DormandPrince solver(of_state, {start}, times[0], times[1] - times[0] > 0 ? 1 : -1, options.tolerance);
    for (const double t : times.subspan(1)) found.push_back(solver.advance(t, false)[0]);
  } else {
    for (std::size_t i = 1; i < times.size(); ++i)
      found.push_back(advanced(of_state, {found.back()}, times[i - 1], times[i], options)[0]);
  }
  return stack(found);
}

// What backward of the adjoint method needs.
struct Adjoint {
  OdeSlope slope;
  OdeSlopeGradients slope_gradients;
  std::vector<Tensor> parameters;
  std::vector<double> times;
  OdeOptions options;
  Tensor h;  // the result

  // The state is h, a = dL/dh, and dL/dp of each parameter: h' = f (the slope), a' = -a df/dh, and dL/dp' = -a df/dp.
  Grads gradients(const Tensor& dh) const {
    const auto n = static_cast<int64_t>(times.size());
    const StateSlope back = [this](double t, const State& s) {
      State found{slope_at(slope, t, s[0], parameters)};
      for (const Tensor& product : products(t, s[0], s[1])) found.push_back(-product);
      return found;
    };
    State s{h[n - 1], dh[n - 1]};
    for (const Tensor& p : parameters) s.push_back(zeros_like(p));
    std::optional<DormandPrince> solver;
    for (int64_t i = n - 1; i > 0; --i) {
      const double from = times[static_cast<std::size_t>(i)], to = times[static_cast<std::size_t>(i - 1)];
      s[0] = h[i];  // the value of the forward pass, instead of that of the backward solution
      if (options.solver == OdeSolver::rk4) {
        s = advanced(back, std::move(s), from, to, options);
      } else {
        if (solver) {
          solver->replace(std::move(s));
        } else {
          solver.emplace(back, std::move(s), from, to > from ? 1 : -1, options.tolerance);
        }
        s = solver->advance(to, true);
      }
      s[1] = s[1] + dh[i - 1];
    }
    Grads grads;
    for (std::size_t i = 1; i < s.size(); ++i) grads.push_back(std::move(s[i]));
    return grads;
  }

  // a df/dh and a df/dp of each parameter.
  std::vector<Tensor> products(double t, const Tensor& at, const Tensor& a) const {
    if (slope_gradients) return slope_gradients(t, at, parameters, a);
    require(!Tape::current(), kAdjoint,
            "cannot be differentiated twice without the gradients of the slope (pass `gradients` to odeint)");
    std::vector<Tensor> x{at};
    x.insert(x.end(), parameters.begin(), parameters.end());
    const auto f = [&](std::span<const Tensor> given) { return slope(t, given[0], given.subspan(1)); };
    return vjp(f, x, a).product;
  }
};

}  // namespace

OdeSolver ode_solver_named(std::string_view name) {
  const auto* at = std::find(std::begin(kOdeSolverNames), std::end(kOdeSolverNames), name);
  if (at == std::end(kOdeSolverNames)) {
    fail(kOdeint, "expected one of {}, got \"{}\"", fmt::join(kOdeSolverNames, ", "), name);
  }
  return static_cast<OdeSolver>(at - std::begin(kOdeSolverNames));
}

void OdeOptions::check() const {
  require_positive(kOdeint, "steps", steps);
  require_in(kOdeint, "tolerance", tolerance, kPositive);
}

Tensor odeint(const OdeSlope& slope, const Tensor& start, std::span<const Tensor> parameters,
              std::span<const double> times, const OdeOptions& options, const OdeSlopeGradients& gradients) {
  options.check();
  require_floating(kOdeint, start.dtype());
  if (times.empty()) fail(kOdeint, "expected at least one time, got none");
  for (const double t : times) {
    if (!std::isfinite(t)) fail(kOdeint, "expected finite times, got {}", t);
  }
  for (std::size_t i = 1; i < times.size(); ++i) {
    const double step = times[i] - times[i - 1];
    if (!(step * (times[1] - times[0]) > 0)) {
      fail(kOdeint, "expected increasing or decreasing times, got {} after {}", times[i], times[i - 1]);
    }
  }
  const bool in_jvp = Tape::current() && !Tape::for_backward();  // keeps nothing
  if (!options.adjoint || in_jvp) return solution(slope, start, parameters, times, options);
  Adjoint adjoint{
      .slope = slope,
      .slope_gradients = gradients,
      .parameters = {parameters.begin(), parameters.end()},
      .times = {times.begin(), times.end()},
      .options = options,
      .h = tapegrad::detail::unrecorded([&] { return solution(slope, start, parameters, times, options); })};
  std::vector<Tensor> inputs{start};
  inputs.insert(inputs.end(), parameters.begin(), parameters.end());
  const Tensor h = adjoint.h;
  auto backward = [adjoint = std::move(adjoint)](const Tensor& dh) { return adjoint.gradients(dh); };
  return record(kAdjoint, h, inputs, std::move(backward), Reads::anything);
}

}  // namespace tapegrad::nn
