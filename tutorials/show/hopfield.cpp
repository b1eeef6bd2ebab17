// The topic hopfield (8.2.3, deep dive 3.2): the tutorial's differential equation, solved, and the energy along it.
#include <fmt/format.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tutorials/programs/claims.h>
#include <tapegrad/tutorials/show/show.h>

#include <cmath>
#include <span>
#include <string>
#include <vector>

namespace tapegrad::tasks {
namespace hopfield {
namespace {

using drawing::fixed;

constexpr int64_t kTimes = 101;
constexpr double kEnd = 10;  // in units of tau

// dX/dt = -X + softmax(X W P^T) P W, where the patterns P are fixed, or, in the tutorial's equation, X itself.
struct Network {
  std::string name;
  Tensor start, w;       // [N, C], [C, C]
  Tensor patterns = {};  // [N, C]; undefined: the states are the patterns

  const Tensor& seen_from(const Tensor& x) const { return patterns.defined() ? patterns : x; }
  Tensor scores(const Tensor& x) const { return matmul(matmul(x, w), seen_from(x).t()); }
  Tensor slope(const Tensor& x) const { return matmul(softmax(scores(x)), matmul(seen_from(x), w)) - x; }
  // sum_i |x_i|^2 / 2 - log sum_j exp(x_i W p_j). If the patterns are fixed and W is symmetric, the slope is minus its
  // gradient, and it cannot rise.
  double energy(const Tensor& x) const { return (sum(square(x)) / 2 - sum(logsumexp(scores(x), {-1}))).item(); }
};

struct Solution {
  std::vector<double> times, energies;
  std::vector<double> similarity;  // the mean cosine of two different states
  int64_t rises = 0;               // of the intervals between two times
};

Solution solve(const Network& network) {
  Solution out;
  for (int64_t i = 0; i < kTimes; ++i) out.times.push_back(kEnd * static_cast<double>(i) / (kTimes - 1));
  const nn::OdeSlope slope = [&network](double, const Tensor& x, std::span<const Tensor>) { return network.slope(x); };
  const Tensor path =
      nn::odeint(slope, network.start, {}, out.times, {.solver = nn::OdeSolver::dopri5, .tolerance = 1e-8});
  for (int64_t i = 0; i < kTimes; ++i) {
    out.energies.push_back(network.energy(path[i]));
    out.similarity.push_back(likeness(path[i].unsqueeze(0)));
    if (i == 0) continue;
    const double before = out.energies[static_cast<std::size_t>(i - 1)];
    if (out.energies.back() > before + 1e-6 * (1 + std::abs(before))) ++out.rises;  // more than the solver's error
  }
  return out;
}

std::vector<Network> networks_of(int64_t count, int64_t dim, Generator& generator) {
  const auto width = static_cast<double>(dim);
  const Tensor x = randn({count, dim}, kFloat64, &generator), other = randn({count, dim}, kFloat64, &generator);
  const Tensor g = randn({dim, dim}, kFloat64, &generator), identity = eye(dim, kFloat64);
  return {{.name = said("patterns fixed, W = I"), .start = other, .w = identity, .patterns = x},
          {.name = said("tutorial's, W = I"), .start = x, .w = identity},
          {.name = said("tutorial's, W symmetric"), .start = x, .w = (g + g.t()) / std::sqrt(8 * width)},
          {.name = said("tutorial's, any W"), .start = x, .w = g / std::sqrt(width)}};
}

}  // namespace
}  // namespace hopfield

Exhibit show_hopfield(const ShowRequest& request) {
  using namespace hopfield;
  const int64_t count = request.length.value_or(8), dim = request.dim.value_or(16);
  Generator generator(request.seed.value_or(0));
  Exhibit exhibit{.title = said("Attention as a Hopfield network: the differential equation (8.2.3)"),
                  .text = told("hopfield-1", count, dim, kEnd),
                  .columns = 1};
  Table table({-24, 11, 11, 9, 12}, 2);
  table.row("", said("energy"), said("energy"), said("rises"), said("similarity"), said("similarity"));
  table.row("", said("at first"), said("at last"), said("of {}", kTimes - 1), said("at first"), said("at last"));
  drawing::LineChart energy{
      .title = said("Energy, minus the energy of the start"), .x_label = "t / tau", .y_label = said("energy")};
  drawing::LineChart similarity{
      .title = said("Similarity of the states"), .x_label = "t / tau", .y_label = said("mean cosine")};
  std::string verdicts;
  for (const Network& network : networks_of(count, dim, generator)) {
    const Solution s = solve(network);
    table.row(network.name, fixed(s.energies.front(), 3), fixed(s.energies.back(), 3), s.rises,
              fixed(s.similarity.front(), 3), fixed(s.similarity.back(), 3));
    verdicts += s.rises == 0 ? said("{}: the energy never rises.\n", network.name)
                             : said("{}: the energy rises in {} of {} intervals.\n", network.name, s.rises, kTimes - 1);
    std::vector<double> change;
    for (const double e : s.energies) change.push_back(e - s.energies.front());
    energy.series.push_back({.name = network.name, .x = s.times, .y = change});
    similarity.series.push_back({.name = network.name, .x = s.times, .y = s.similarity});
  }
  exhibit.text += table;
  exhibit.text += "\n" + verdicts + "\n" + told("hopfield-2");
  exhibit.drawings = {draw(energy), draw(similarity)};
  return exhibit;
}

}  // namespace tapegrad::tasks
