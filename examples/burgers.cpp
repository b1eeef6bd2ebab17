// A physics-informed network for Burgers' equation, whose solution turns a sine into a shock:
//
//   u_t + u u_x = nu u_xx,  nu = 0.01 / pi,  -1 <= x <= 1,  0 <= t <= 1,  u(x, 0) = -sin(pi x),  u(+-1, t) = 0
//
//   burgers OUT [SEED]   writes burgers.svg into the folder OUT; fails above a relative L2 error of 0.05
//
// The network learns from the equation only; the exact solution (Cole, Hopf) is used for the test. Raissi, Perdikaris,
// Karniadakis 2019.
#include <tapegrad/tapegrad.h>
#include <tapegrad/train.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numbers>
#include <string>
#include <vector>

namespace tg = tapegrad;
using tg::Tensor;

constexpr double kPi = std::numbers::pi, kNu = 0.01 / kPi;

// u(x, t) at points [N]. Initial and boundary conditions hold by construction.
struct Net {
  tg::nn::Linear in{2, 32}, out{32, 1};
  tg::nn::List<tg::nn::Linear> hidden = tg::nn::repeat<tg::nn::Linear>(3, 32, 32);
  Tensor operator()(const Tensor& x, const Tensor& t) const {
    Tensor h = tg::tanh(in(tg::stack({x, 2 * t - 1}, 1)));
    for (const auto& layer : hidden) h = tg::tanh(layer(h));
    return t * (1 - tg::square(x)) * out(h).squeeze(-1) - tg::sin(kPi * x);
  }
  void visit(auto&& field) {
    field("in", in);
    field("hidden", hidden);
    field("out", out);
  }
};

// The residual of the equation at each point. While a tape records, the derivatives are recorded, so the loss can
// contain them.
Tensor residual(const Net& net, const Tensor& x, const Tensor& t) {
  Tensor u, u_x, u_t;
  const auto slope =
      [&](const Tensor& x) {  // u at a point depends only on that point, so the gradient of the sum has all slopes
        const auto slopes = tg::grad([&](const Tensor& x, const Tensor& t) { return tg::sum(u = net(x, t)); })(x, t);
        u_x = slopes[0];
        u_t = slopes[1];
        return tg::sum(u_x);
      };
  const Tensor u_xx = tg::grad(slope)(x);
  return u_t + u * u_x - kNu * u_xx;
}

// The exact solution: means over the heat kernel, by the trapezoidal rule, x [N] -> [N].
Tensor exact(const Tensor& x, double t) {
  const Tensor s = tg::linspace(-15, 15, 4001, tg::kFloat64);
  const Tensor from = kPi * (x.unsqueeze(1) - std::sqrt(4 * kNu * t) * s);
  const Tensor weight = tg::softmax(-tg::cos(from) / (2 * kPi * kNu) - tg::square(s));
  return -tg::sum(weight * tg::sin(from), {1});
}

// |u - exact| / |exact| over points at four times.
double relative_error(const Net& net) {
  double wrong = 0, whole = 0;
  for (const double t : {0.25, 0.5, 0.75, 1.0}) {
    const Tensor x = tg::linspace(-1, 1, 401, tg::kFloat64), u = exact(x, t);
    wrong += tg::sum(tg::square(net(x, tg::full_like(x, t)) - u)).item();
    whole += tg::sum(tg::square(u)).item();
  }
  return std::sqrt(wrong / whole);
}

tg::drawing::Drawing picture(const Net& net, double t) {
  const Tensor x = tg::linspace(-1, 1, 401, tg::kFloat64), few = x.slice(0, 0, tg::kAll, 10);
  const Tensor u = net(x, tg::full_like(x, t)), true_u = t > 0 ? exact(few, t) : -tg::sin(kPi * few);
  return draw(
      tg::drawing::LineChart{.title = "t = " + tg::drawing::fixed(t, 2),
                             .x_label = "x",
                             .series = {{.name = "network", .x = x.to_vector<double>(), .y = u.to_vector<double>()},
                                        {.name = "exact",
                                         .x = few.to_vector<double>(),
                                         .y = true_u.to_vector<double>(),
                                         .mark = tg::drawing::Series::Mark::dots}},
                             .y_low = -1.1,
                             .y_high = 1.1,
                             .x_low = -1,
                             .x_high = 1,
                             .width = 320,
                             .height = 200});
}

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: burgers OUT [SEED]\n"), 2;
  std::filesystem::create_directories(argv[1]);
  tg::manual_seed(argc > 2 ? std::stoull(argv[2]) : 0);
  Net net;
  tg::nn::to(net, tg::kFloat64);
  constexpr int64_t kAdamSteps = 1000, kRounds = 15, kIterations = 100, kPoints = 1000, kNewPoints = 100;
  tg::train::Progress progress(tg::train::Progress::style_here(), 0, kAdamSteps + kRounds * kIterations, "points");
  Tensor x, t;  // the points of the loss
  const auto evaluate = [&] {
    tg::Tape tape;
    const Tensor loss = tg::mean(tg::square(residual(net, x, t)));
    return tg::optim::Evaluation{loss.item(), tape.backward(loss)};
  };

  tg::optim::Adam adam(tg::nn::parameters(net), {.lr = 2e-3});
  for (int64_t step = 1; step <= kAdamSteps; ++step) {
    x = tg::uniform({kPoints}, -1, 1, tg::kFloat64);
    t = tg::uniform({kPoints}, 0, 1, tg::kFloat64);
    const auto [loss, grads] = evaluate();
    adam.step(grads);
    progress.step({.step = step, .loss = loss, .tokens = kPoints});
  }
  // LBFGS needs fixed points. Each round adds points where the residual is largest, mostly at the shock.
  tg::optim::LBFGS lbfgs(tg::nn::parameters(net),
                         {.max_iterations = kIterations / 4, .history_size = 50, .strong_wolfe = true});
  for (int64_t round = 0; round < kRounds; ++round) {
    const Tensor new_x = tg::uniform({4 * kPoints}, -1, 1, tg::kFloat64);
    const Tensor new_t = tg::uniform({4 * kPoints}, 0, 1, tg::kFloat64);
    const Tensor chosen = tg::multinomial(tg::abs(residual(net, new_x, new_t)), kNewPoints);
    x = tg::cat({x, tg::index_select(new_x, 0, chosen)});
    t = tg::cat({t, tg::index_select(new_t, 0, chosen)});
    for (int64_t quarter = 1; quarter <= 4; ++quarter) {
      const double loss = lbfgs.step(evaluate);
      progress.step({.step = kAdamSteps + round * kIterations + quarter * kIterations / 4,
                     .loss = loss,
                     .tokens = kIterations / 4 * x.size(0)});
    }
  }
  progress.finish();

  const double error = relative_error(net);
  std::printf("relative L2 error: %.4f (target: 0.05)\n", error);
  std::vector<tg::drawing::Drawing> pictures;
  for (const double time : {0.0, 0.25, 0.5, 0.75}) pictures.push_back(picture(net, time));
  tg::train::replace_file(std::string(argv[1]) + "/burgers.svg", tg::drawing::svg_file(tg::drawing::grid(pictures, 2)));
  return error <= 0.05 ? 0 : 1;
}
