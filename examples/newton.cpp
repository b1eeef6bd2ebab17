// Logistic regression by three methods: gradient descent, LBFGS, and Newton-CG, which solves H d = -g by conjugate
// gradients on Hessian-vector products and never forms H.
//
//   newton OUT [SEED]   writes newton.svg into the folder OUT; fails unless the gradient of Newton-CG falls below 1e-8
//                       within 15 iterations, and that of LBFGS within 800 evaluations
//
// Nocedal, Wright 2006, chapter 7.1.
#include <tapegrad/tapegrad.h>
#include <tapegrad/train.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>

namespace tg = tapegrad;
using tg::Tensor;

constexpr int64_t kExamples = 5000, kFeatures = 100, kBudget = 800;
constexpr double kTarget = 1e-8;

// Features of very different scales: the condition number of the Hessian is several thousand.
struct Problem {
  Tensor x = tg::randn({kExamples, kFeatures}, tg::kFloat64) *
             tg::pow(tg::scalar(10, tg::kFloat64), tg::linspace(0.5, -1.5, kFeatures, tg::kFloat64));
  Tensor y = tg::bernoulli(tg::sigmoid(tg::mv(x, tg::randn({kFeatures}, tg::kFloat64))));
  Tensor operator()(const Tensor& w) const {
    return tg::binary_cross_entropy_with_logits(tg::mv(x, w), y) + 0.5e-3 * tg::sum(tg::square(w));
  }
};

double inner(const Tensor& a, const Tensor& b) { return tg::dot(a, b).item(); }

// A method's gradient norms over its cost, in gradient evaluations. A Hessian-vector product costs about two.
struct Record {
  tg::drawing::Series series;
  tg::train::Progress& progress;
  double cost = 0;
  void add(double evaluations, double loss, const Tensor& gradient) {
    cost += evaluations;
    series.add(cost, std::sqrt(inner(gradient, gradient)));
    progress.step({.step = int64_t(cost), .loss = loss, .tokens = int64_t(evaluations) * kExamples});
  }
  bool reached() const { return !series.y.empty() && series.y.back() < kTarget; }
};

void gradient_descent(const Problem& problem, Record& record) {
  Tensor w = tg::zeros({kFeatures}, tg::kFloat64);
  // 1 / L: the Hessian is at most x^T x / (4 N), and the largest feature has variance 10.
  const double step = 4 / (10 * 1.1);
  while (!record.reached() && record.cost < kBudget) {
    const auto [loss, g] = tg::value_and_grad(problem)(w);
    w = w - step * g;
    record.add(1, loss.item(), g);
  }
}

void lbfgs(const Problem& problem, Record& record) {
  const Tensor w = tg::zeros({kFeatures}, tg::kFloat64).as_leaf();
  tg::optim::LBFGS optimizer(
      {{"w", w}},
      {.max_iterations = 1, .max_evaluations = 25, .tolerance_grad = 0, .tolerance_change = 0, .strong_wolfe = true});
  while (!record.reached() && record.cost < kBudget) {
    optimizer.step([&] {
      tg::Tape tape;
      const Tensor loss = problem(w);
      tg::optim::Evaluation found{loss.item(), tape.backward(loss)};
      record.add(1, found.loss, found.grads[w]);
      return found;
    });
  }
}

// d with H d = -g, up to a residual of `tolerance` |g|.
Tensor newton_direction(const Problem& problem, const Tensor& w, const Tensor& g, double tolerance, int64_t& products) {
  Tensor d = tg::zeros_like(g), r = -g, p = r;
  double rr = inner(r, r);
  const double enough = tolerance * tolerance * rr;
  for (products = 0; rr > enough && products < 2 * kFeatures; ++products) {
    const Tensor hp = tg::hvp(problem, w, p).product;
    const double alpha = rr / inner(p, hp);
    d = d + alpha * p;
    r = r - alpha * hp;
    const double before = std::exchange(rr, inner(r, r));
    p = r + rr / before * p;
  }
  return d;
}

int newton(const Problem& problem, Record& record) {
  Tensor w = tg::zeros({kFeatures}, tg::kFloat64);
  auto here = tg::value_and_grad(problem)(w);
  record.add(1, here.value.item(), here.grad);
  int iterations = 0;
  for (; !record.reached() && record.cost < kBudget; ++iterations) {
    const Tensor& g = here.grad;
    const double loss = here.value.item(), tolerance = std::min(0.5, std::sqrt(inner(g, g)));
    int64_t products = 0;
    const Tensor d = newton_direction(problem, w, g, tolerance, products);
    // Halved until the loss falls by a fraction of the decrease predicted by its slope, or is unchanged.
    double length = 1;
    while (problem(w + length * d).item() > loss + 1e-4 * length * inner(g, d) + 1e-15) length /= 2;
    w = w + length * d;
    here = tg::value_and_grad(problem)(w);
    record.add(1 + 2 * double(products), here.value.item(), here.grad);
  }
  return iterations;
}

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: newton OUT [SEED]\n"), 2;
  std::filesystem::create_directories(argv[1]);
  tg::manual_seed(argc > 2 ? std::stoull(argv[2]) : 0);
  const Problem problem;
  tg::train::Progress progress(tg::train::Progress::style_here(), 0, kBudget, "examples");
  Record descent{{.name = "gradient descent"}, progress}, quasi{{.name = "LBFGS"}, progress},
      exact{{.name = "Newton-CG"}, progress};
  gradient_descent(problem, descent);
  lbfgs(problem, quasi);
  const int iterations = newton(problem, exact);
  progress.finish();
  for (const Record* r : {&descent, &quasi, &exact}) {
    std::printf("%-16s |gradient| %.1e at a cost of %.0f gradients\n", r->series.name.c_str(), r->series.y.back(),
                r->cost);
  }
  std::printf("Newton-CG: %d iterations (target: 1e-8 within 15)\n", iterations);
  tg::train::replace_file(std::string(argv[1]) + "/newton.svg",
                          tg::drawing::svg_file(draw(tg::drawing::LineChart{
                              .title = "Logistic regression: |gradient|",
                              .x_label = "cost in gradients (a Hessian-vector product counts as two)",
                              .y_label = "|gradient|",
                              .series = {descent.series, quasi.series, exact.series},
                              .log_y = true})));
  return exact.reached() && iterations <= 15 && quasi.reached() ? 0 : 1;
}
