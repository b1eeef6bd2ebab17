// A neural ODE, dz/dt = f(z), where the network f is trained to follow a given spiral.
//
//   neural_ode OUT [SEED]   writes spiral.svg into the folder OUT; fails above a mean error of 0.05, or if the two
//                           kinds of gradients differ by more than 1e-6
//
// Gradients come through the solver's steps, or by the adjoint method, which keeps no tape of the steps: it integrates
// dL/dz and dL/dparameters backwards along the trajectory. Chen et al. 2018.
#include <tapegrad/tapegrad.h>
#include <tapegrad/train.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace tg = tapegrad;
using tg::Tensor;
using State = std::vector<Tensor>;  // several tensors that change together

using Field = tg::nn::Sequential<tg::nn::Linear, tg::nn::Tanh, tg::nn::Linear>;

State moved(const State& s, const State& slope, double by) {
  State to;
  for (std::size_t i = 0; i < s.size(); ++i) to.push_back(s[i] + by * slope[i]);
  return to;
}

// One step of the classical Runge-Kutta method for ds/dt = slope(s).
template <class Slope>
State runge_kutta(const Slope& slope, const State& s, double dt) {
  const State k1 = slope(s), k2 = slope(moved(s, k1, dt / 2)), k3 = slope(moved(s, k2, dt / 2)),
              k4 = slope(moved(s, k3, dt));
  return moved(moved(moved(moved(s, k1, dt / 6), k2, dt / 3), k3, dt / 3), k4, dt / 6);
}

// z at the times 0, dt, 2 dt, ..., with `steps` steps of the solver in between: [times, ...].
Tensor trajectory(const Field& f, const Tensor& start, int64_t times, double dt, int64_t steps) {
  State z{start}, found{start};
  for (int64_t i = 1; i < times; ++i) {
    for (int64_t k = 0; k < steps; ++k) {
      z = runge_kutta([&](const State& s) { return State{f(s[0])}; }, z, dt / double(steps));
    }
    found.push_back(z[0]);
  }
  return tg::stack(found);
}

// How far the trajectory is from `target` [times, ...], which it starts on.
struct Fit {
  Field& field;
  Tensor target;
  double dt;
  int64_t steps;

  tg::optim::Evaluation through_solver() const {
    tg::Tape tape;
    const Tensor loss = tg::mse_loss(trajectory(field, target[0], target.size(0), dt, steps), target);
    return {loss.item(), tape.backward(loss)};
  }

  tg::optim::Evaluation by_adjoint() const {
    const Tensor z = trajectory(field, target[0], target.size(0), dt, steps);  // no tape: nothing is kept
    const tg::NamedTensors parameters = tg::nn::parameters(field);
    // The state is z, a = dL/dz, and dL/dp of each parameter: da/dt = -a df/dz, and dL/dp grows by a df/dp.
    State s{z[0], tg::zeros_like(z[0])};
    for (const auto& p : parameters) s.push_back(tg::zeros_like(p.tensor));
    const auto slope = [&](const State& s) {
      tg::Tape tape;
      const Tensor at = tg::Tape::variable(s[0]), f = field(at);
      const tg::Gradients grads = tape.backward(f, {.grad_output = s[1], .keep = {at}});
      State found{f.detach(), -grads[at]};
      for (const auto& p : parameters) found.push_back(-grads[p.tensor]);
      return found;
    };
    for (int64_t i = target.size(0) - 1; i > 0; --i) {
      s[0] = z[i];  // from the forward pass, which is more accurate than integrating backwards
      s[1] = s[1] + 2 * (z[i] - target[i]) / double(target.numel());
      for (int64_t k = 0; k < steps; ++k) s = runge_kutta(slope, s, -dt / double(steps));
    }
    tg::optim::Evaluation found{tg::mse_loss(z, target).item(), {}};
    for (std::size_t i = 0; i < parameters.size(); ++i) found.grads.set(parameters[i].tensor, s[2 + i]);
    return found;
  }
};

// The largest difference of two gradients, relative to the largest element.
double difference(const tg::Gradients& a, const tg::Gradients& b, const tg::NamedTensors& parameters) {
  double wrong = 0, largest = 0;
  for (const auto& p : parameters) {
    wrong = std::max(wrong, tg::max(tg::abs(a[p.tensor] - b[p.tensor])).item());
    largest = std::max(largest, tg::max(tg::abs(b[p.tensor])).item());
  }
  return wrong / largest;
}

tg::drawing::Series series(std::string name, const Tensor& z, tg::drawing::Series::Mark mark) {
  return {.name = std::move(name),
          .x = z.select(-1, 0).to_vector<double>(),
          .y = z.select(-1, 1).to_vector<double>(),
          .mark = mark};
}

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: neural_ode OUT [SEED]\n"), 2;
  std::filesystem::create_directories(argv[1]);
  tg::manual_seed(argc > 2 ? std::stoull(argv[2]) : 0);
  constexpr int64_t kTimes = 201, kSegment = 11, kBatch = 32, kSteps = 2500;
  constexpr double kDt = 0.1;
  Field field{tg::nn::Linear(2, 50), tg::nn::Tanh(), tg::nn::Linear(50, 2)};
  tg::nn::to(field, tg::kFloat64);
  const tg::NamedTensors parameters = tg::nn::parameters(field);

  // z' = A z with A = [[-0.1, 1], [-1, -0.1]], for three turns.
  const Tensor t = kDt * tg::arange(0, kTimes, 1, tg::kFloat64), radius = 2 * tg::exp(-0.1 * t);
  const Tensor spiral = tg::stack({radius * tg::cos(t), -radius * tg::sin(t)}, 1);  // [kTimes, 2]
  const Tensor segments = tg::unfold(spiral, 0, kSegment, 1).permute({2, 0, 1});    // [kSegment, starts, 2]

  tg::optim::Adam adam(parameters, {.lr = 1e-2});
  const tg::optim::Schedule rate = tg::optim::WarmupCosine{.lr = 1e-2, .warmup = 10, .total = kSteps};
  tg::train::Progress progress(tg::train::Progress::style_here(), 0, kSteps, "points");
  for (int64_t step = 1; step <= kSteps; ++step) {
    const Tensor batch = tg::index_select(segments, 1, tg::randint(0, segments.size(1), {kBatch}));
    const auto [loss, grads] = Fit{field, batch, kDt, 1}.by_adjoint();
    adam.set_lr(rate(step));
    adam.step(grads);
    progress.step({.step = step, .loss = loss, .lr = adam.lr(), .tokens = kBatch * kSegment});
  }
  progress.finish();

  double off = 0;
  for (const int64_t steps : {1, 2, 4, 8}) {
    const Fit fit{field, segments, kDt, steps};
    off = difference(fit.by_adjoint().grads, fit.through_solver().grads, parameters);
    std::printf("%2lld steps per point: adjoint gradients and those through the steps differ by %.1e\n",
                static_cast<long long>(steps), off);
  }
  const Tensor learned = trajectory(field, spiral[0], kTimes, kDt, 1);
  const double error = tg::mean(tg::norm(learned - spiral, 2, {1})).item();
  std::printf("mean distance from the spiral: %.4f (target: 0.05)\n", error);

  using Mark = tg::drawing::Series::Mark;
  const tg::drawing::LineChart chart{
      .title = "The spiral and the learned trajectory",
      .series = {series("data", spiral, Mark::dots), series("learned", learned, Mark::line)},
      .equal = true,
      .width = 480,
      .height = 480};
  tg::train::replace_file(std::string(argv[1]) + "/spiral.svg", tg::drawing::svg_file(draw(chart)));
  return error <= 0.05 && off <= 1e-6 ? 0 : 1;
}
