// Derivatives along lines: a few steps where these agree with backward, many where they do not.
#include <fmt/format.h>
#include <tapegrad/autograd/derivatives/internal/differences.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/nn/certify/detail/along.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace tapegrad::nn::detail {
namespace {

using tapegrad::detail::Line;
using tapegrad::detail::Slope;

constexpr double kFewestDigits = 3;  // where differences show fewer, they decide nothing

Line line_at(const std::function<double(double)>& f, double terms, double top, int levels) {
  Line line{.top = top, .small = std::ldexp(1.0, -22), .middle = f(0), .near = 1, .beside = terms};
  line.largest = std::abs(line.middle);
  for (int level = 0; level < levels; ++level) {
    const double h = std::ldexp(top, -level);
    line.above.push_back(f(h));
    line.below.push_back(f(-h));
    const double change = std::abs(line.above.back() - line.middle) + std::abs(line.below.back() - line.middle);
    if (std::isfinite(change) && h >= line.small) line.steepest = std::max(line.steepest, change / h);
  }
  return line;
}

// The rounding error of a sum of products.
double rounding_of_sum(double terms) { return 16 * kEps * terms; }

bool agrees(const Measured& m) { return m.gap() <= m.error + rounding_of_sum(m.terms); }

// The step whose slope has the smallest error. Half a step leaves a sixteenth of the truncation error.
void measure(Measured& m, const std::function<double(double)>& f, const Steps& steps) {
  const double rounding = steps.rounding > 0 ? steps.rounding : rounding_of(f);
  std::vector<double> above, below, slopes;
  for (int k = steps.first; k <= steps.last; ++k) {
    const double h = std::ldexp(1.0, -k);
    above.push_back(f(h));
    below.push_back(f(-h));
    if (above.size() < 2) continue;
    const std::size_t i = above.size() - 1;
    slopes.push_back((8 * (above[i] - below[i]) - (above[i - 1] - below[i - 1])) / (12 * h));
  }
  m.error = INFINITY;
  for (std::size_t i = 1; i < slopes.size(); ++i) {
    const double h = std::ldexp(1.0, -(steps.first + 1 + static_cast<int>(i)));
    double change = std::abs(slopes[i] - slopes[i - 1]);
    if (i > 1) change = std::max(change, std::abs(slopes[i - 1] - slopes[i - 2]) / 8);
    const double error = 0.5 * change + 4 * rounding / h;
    if (error < m.error) m.error = error, m.numerical = slopes[i];
  }
}

void look_closer(Measured& m, const std::function<double(double)>& f) {
  constexpr double kTop = 8;
  constexpr int kLevels = 46;
  const Line line = line_at(f, m.terms, kTop, kLevels);
  const Slope slope = slope_of(line, 1);
  m.numerical = slope.value;
  m.error = slope.error;
  const double low = std::min(slope.below, slope.above) - slope.of_sides,
               high = std::max(slope.below, slope.above) + slope.of_sides;
  if (agrees(m)) return;
  m.verdict = Verdict::unknown;
  if (slope.broken && m.analytic >= low && m.analytic <= high) {
    m.reason = fmt::format("at a kink: slopes {:.6g} and {:.6g}", slope.below, slope.above);
    return;
  }
  if (is_one_of_several(line, m.analytic)) {
    m.reason = "differences with other steps agree";
    return;
  }
  const auto by = [&](double part) { return slope_of(line_at(f, m.terms, part * kTop, kLevels), 1); };
  if (const std::optional<double> other = tapegrad::detail::contradicting(slope, by)) {
    m.reason = fmt::format("differences contradict each other: {:.6g} and {:.6g}", slope.value, *other);
  } else {
    m.verdict = Verdict::wrong;
  }
}

// Decimal digits, of at most 16.
double digits_of(double error, double size) {
  return size > 0 ? std::clamp(-fixed::log(std::max(error, kEps * size) / size) / 2.302585092994046, 0.0, 16.0) : 0;
}

}  // namespace

double Measured::gap() const { return std::abs(analytic - numerical); }

bool Measured::would_find(double wrong) const {
  return verdict == Verdict::right && std::abs(wrong - numerical) > error + rounding_of_sum(terms);
}

double rounding_of(const std::function<double(double)>& f) {
  const double middle = f(0);
  double rounding = kEps * std::abs(middle), above = 0, below = 0;
  for (const double h : {0x1p-17, 0x1p-18, 0x1p-19}) {
    const double a = f(h), b = f(-h);
    if (h < 0x1p-17) {
      rounding = std::max({rounding, std::abs(above - 2 * a + 2 * b - below) / std::sqrt(10.0),
                           std::abs(above - 4 * a + 6 * middle - 4 * b + below) / std::sqrt(70.0)});
    }
    above = a, below = b;
  }
  return rounding;
}

Measured along(const std::function<double(double)>& f, double analytic, double terms, const Steps& steps) {
  Measured m{.analytic = analytic, .terms = terms};
  measure(m, f, steps);
  if (!std::isfinite(analytic) || !std::isfinite(m.numerical)) {
    m.verdict = std::isfinite(m.numerical) ? Verdict::wrong : Verdict::unknown;
    if (m.verdict == Verdict::unknown) m.reason = "the loss is not finite nearby";
    return m;
  }
  const bool zero = terms == 0 && std::abs(m.numerical) <= m.error;
  if (zero) return m;
  if (!agrees(m)) look_closer(m, f);
  const double size = std::max(std::abs(m.numerical), 1e-3 * terms);
  if (m.verdict == Verdict::right && digits_of(m.error, size) < kFewestDigits) {
    m.verdict = Verdict::unknown;
    m.reason = "differences show fewer than three digits";
  }
  return m;
}

CertificateLine line_of(std::string what, const Measured& m) {
  CertificateLine line{std::move(what), fmt::format("analytic {:.12g}, numerical {:.12g}", m.analytic, m.numerical),
                       fmt::format("{:.1e}", m.error + rounding_of_sum(m.terms)), m.verdict};
  line.most_digits = digits_of(m.error + rounding_of_sum(m.terms), std::abs(m.numerical));
  line.digits = std::min(line.most_digits, digits_of(m.gap(), std::abs(m.numerical)));
  if (!m.reason.empty()) line.found += " (" + m.reason + ")";
  return line;
}

}  // namespace tapegrad::nn::detail
