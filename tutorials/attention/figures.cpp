// Figures of attention maps, in float64.
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tutorials/attention/figures.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace tapegrad::tasks {
namespace {

constexpr double kExplained = 0.9;  // the tutorial's "explain 0.9"
constexpr int kUpdates = 12;        // of a Hopfield network

Tensor in_double(const Tensor& x) { return x.detach().to(kFloat64).contiguous(); }

// -sum p log p over the last axis; 0 log 0 is 0.
Tensor entropy_of(const Tensor& p) { return -sum(where(p > 0, p * log(where(p > 0, p, 1.0)), 0.0), {-1}); }

// Cosines and sines of 2 pi m k / n, [n, n].
Tensor waves(int64_t n, double (*wave)(double)) {
  std::vector<double> out;
  for (int64_t m = 0; m < n; ++m)
    for (int64_t k = 0; k < n; ++k)
      out.push_back(wave(2 * std::numbers::pi * static_cast<double>(m * k % n) / static_cast<double>(n)));
  return tensor(out, {n, n});
}

// Whether frequency k is at most a quarter of the highest one, n / 2.
bool is_low(int64_t k, int64_t n) { return 8 * std::min(k, n - k) <= n; }

}  // namespace

std::vector<double> singular_values(const Tensor& x) {
  if (x.dim() != 2) fail("singular_values", "expected a matrix, got " + str(x.shape()));
  if (!all_finite(x)) fail("singular_values", "expected finite numbers (did the training of the model diverge?)");
  return svdvals(in_double(x)).to_vector<double>();
}

Tensor power_spectrum(const Tensor& x) {
  const Tensor a = in_double(x);
  const auto cosine = [](double t) { return fixed::cos(t); };
  const auto sine = [](double t) { return fixed::sin(t); };
  const Tensor row_cos = waves(a.size(0), cosine), row_sin = waves(a.size(0), sine);
  const Tensor column_cos = waves(a.size(1), cosine), column_sin = waves(a.size(1), sine);
  const Tensor by_cos = matmul(row_cos, a), by_sin = matmul(row_sin, a);
  const Tensor real = matmul(by_cos, column_cos) - matmul(by_sin, column_sin);
  const Tensor imaginary = matmul(by_cos, column_sin) + matmul(by_sin, column_cos);
  return square(real) + square(imaginary);
}

MapFigures figures_of(const Tensor& weights) {
  if (weights.dim() != 2 || weights.numel() == 0)
    fail("attention_figures", "expected weights [T, S], got " + str(weights.shape()));
  const Tensor a = in_double(weights);
  const int64_t rows = a.size(0), columns = a.size(1), n = std::min(rows, columns);
  MapFigures out;
  out.singular_values = singular_values(a);
  double total = 0, squares = 0;
  for (const double s : out.singular_values) total += s, squares += s * s;
  const double rounding = std::numeric_limits<float>::epsilon() * static_cast<double>(std::max(rows, columns));
  double held = 0, spread = 0;
  for (std::size_t i = 0; i < out.singular_values.size(); ++i) {
    const double s = out.singular_values[i];
    if (s > rounding * out.singular_values[0]) ++out.rank;
    if (held < kExplained * squares) ++out.for_most;
    held += s * s;
    if (static_cast<int64_t>(i) < std::max<int64_t>(1, n / 10)) out.first_tenth = held / squares;
    if (s > 0) spread -= s / total * fixed::log(s / total);
  }
  out.effective_rank = fixed::exp(spread);

  out.entropy = mean(entropy_of(a)).item();
  out.information = entropy_of(mean(a, {0})).item() - out.entropy;

  const std::vector<double> power = power_spectrum(a).to_vector<double>();
  double low = 0, all_power = 0, cells = 0, far = 0;
  const std::vector<double> w = a.to_vector<double>();
  for (int64_t k = 0; k < rows; ++k) {
    for (int64_t l = 0; l < columns; ++l) {
      const auto at = static_cast<std::size_t>(k * columns + l);
      const bool both_low = is_low(k, rows) && is_low(l, columns);
      all_power += power[at];
      low += both_low ? power[at] : 0;
      cells += both_low ? 1 : 0;
      far += w[at] * static_cast<double>(std::abs(k - l));
    }
  }
  out.low_frequencies = low / all_power;
  out.low_if_flat = cells / static_cast<double>(rows * columns);
  out.distance = far / static_cast<double>(rows);
  return out;
}

HopfieldFigures hopfield_figures(const Tensor& queries, const Tensor& keys, const Tensor& seen) {
  const Tensor k = in_double(keys);
  const double beta = 1 / std::sqrt(static_cast<double>(k.size(1)));
  const Tensor patterns = sum(seen.to(kFloat64), {1});
  const Tensor longest =
      amax(where(seen, sum(square(k), {1}).unsqueeze(0).expand(seen.shape()), 0.0), {1});  // |key|^2 among those seen
  const auto scores_of = [&](const Tensor& state) {
    return masked_fill(matmul(state, k.t()) * beta, !seen, -std::numeric_limits<double>::infinity());
  };
  const auto energy_of = [&](const Tensor& state, const Tensor& scores) {  // [T]
    return (log(patterns) - logsumexp(scores, {1})) / beta + (sum(square(state), {1}) + longest) / 2.0;
  };

  Tensor state = in_double(queries);
  std::vector<Tensor> states{state}, energies;
  for (int i = 0; i <= kUpdates; ++i) {
    const Tensor scores = scores_of(state);
    energies.push_back(energy_of(state, scores));
    if (i == kUpdates) break;
    state = matmul(softmax(scores, -1), k);
    states.push_back(state);
  }

  HopfieldFigures out;
  Tensor falls = ones({state.size(0)}, kBool), nears = falls;
  const Tensor room = 1e-9 * (1 + abs(energies[0]));
  const auto to_end = [&](std::size_t i) { return norm(states[i] - state, 2, {1}); };
  for (std::size_t i = 0; i < energies.size(); ++i) {
    out.energies.push_back(mean(energies[i]).item());
    if (i == 0) continue;
    falls = logical_and(falls, energies[i] <= energies[i - 1] + room);
    nears = logical_and(nears, to_end(i) <= to_end(i - 1) + room);
  }
  out.energy_falls = mean(falls.to(kFloat64)).item();
  out.distance_falls = mean(nears.to(kFloat64)).item();
  if (states.size() > 1) out.step = mean(to_end(states.size() - 2)).item();
  return out;
}

PairDistances pair_distances(const Tensor& queries, const Tensor& keys, const Tensor& weights, const Tensor& seen) {
  const Tensor q = in_double(queries), k = in_double(keys), w = in_double(weights);
  const Tensor squares =
      sum(square(q), {1}, true) + sum(square(k), {1}).unsqueeze(0) - 2 * matmul(q, k.t());  // |q - k|^2
  const Tensor distances = sqrt(maximum(squares, 0.0)), pairs = seen.to(kFloat64);
  return {.all = (sum(distances * pairs) / sum(pairs)).item(), .attended = (sum(distances * w) / sum(w)).item()};
}

}  // namespace tapegrad::tasks
