// The sections about derivatives: of the loss along lines, of each tensor, of each operation.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/certify/detail/context.h>
#include <tapegrad/nn/certify/detail/each_operation.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace tapegrad::nn::detail {
namespace {

Point restricted(const Point& v, std::size_t tensor, int64_t begin, int64_t end) {
  Point part(v.size());
  std::vector<double> values = v[tensor].flatten().to_vector<double>();
  for (std::size_t i = 0; i < values.size(); ++i)
    if (static_cast<int64_t>(i) < begin || static_cast<int64_t>(i) >= end) values[i] = 0;
  part[tensor] = from_data(values.data(), v[tensor].numel(), v[tensor].shape(), kFloat64);
  return part;
}

// Which element is wrong: of the tensor whose part of the derivative differs most, then of its halves.
void find_element(Context& c, std::vector<CertificateLine>& lines, const Point& x, const Point& gradient,
                  const Point& v) {
  std::size_t tensor = 0;
  double most = -1;
  const Steps steps = c.few_steps(x, v);
  const auto part = [&](std::size_t i, int64_t begin, int64_t end) {
    if (begin >= end) return 0.0;
    const Measured m = c.measure(x, gradient, restricted(v, i, begin, end), steps);
    return m.verdict == Verdict::wrong ? m.gap() : 0;
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double gap = part(i, 0, v[i].numel());
    if (gap > most) tensor = i, most = gap;
  }
  int64_t begin = 0, end = v[tensor].numel();
  while (end - begin > 1) {
    const int64_t middle = (begin + end) / 2;
    (part(tensor, begin, middle) >= part(tensor, middle, end) ? end : begin) = middle;
  }
  const Point one = restricted(v, tensor, begin, end);
  const double move = one[tensor].flatten().to_vector<double>()[static_cast<std::size_t>(begin)];
  Measured m = c.measure(x, gradient, one);
  CertificateLine line = line_of(fmt::format("  most of it: element {} of {}", begin, c.name_of(tensor)), m);
  line.found = fmt::format("analytic {:.12g}, numerical {:.12g}", m.analytic / move, m.numerical / move);
  lines.push_back(std::move(line));
}

void keep_numbers(Context& c, const Point& x, const Point& v, const Point& gradient, const Measured& m) {
  for (std::size_t i = 0; i < x.size(); ++i)
    for (const auto& [kind, at] : {std::pair{"x", &x}, {"v", &v}, {"gradient", &gradient}})
      c.page.numbers.push_back({fmt::format("{}.{}", kind, c.name_of(i)), (*at)[i]});
  c.page.numbers.push_back({"loss", scalar(c.wide.value(x), kFloat64)});
  c.page.numbers.push_back({"analytic", scalar(m.analytic, kFloat64)});
  c.page.numbers.push_back({"numerical", scalar(m.numerical, kFloat64)});
}

CertificateLine order_line(std::string what, const std::vector<double>& remainders, double middle, const Measured& m) {
  const double noise = 1e4 * 2.2e-16 * std::max(std::abs(middle), 1e-3);
  std::string table;
  std::optional<double> order;
  for (std::size_t i = 0; i < remainders.size() && std::abs(remainders[i]) >= noise; ++i) {
    if (i > 0) order = fixed::log(std::abs(remainders[i - 1] / remainders[i])) / 0.6931471805599453;
    table += fmt::format("{}{:.1e}", i > 0 ? " " : "", remainders[i]);
  }
  CertificateLine line = line_of(std::move(what), m);
  const std::string numbers = m.verdict == Verdict::right ? "" : "; " + line.found;
  line.found = (order ? fmt::format("order {:.3f}: {}", *order, table) : "remainders below rounding errors") + numbers;
  return line;
}

}  // namespace

bool loss_section(Context& c) {
  std::vector<CertificateLine>& lines = c.section("The loss", "computed twice, with the same random numbers");
  for (const Place& place : c.places()) {
    c.wide.set_training(place.training);
    const double first = c.wide.value(place.x), second = c.wide.value(place.x);
    const bool equal = first == second || (std::isnan(first) && std::isnan(second));
    lines.push_back({place.name,
                     equal ? fmt::format("{:.9g}", first) : fmt::format("{:.17g}, then {:.17g}", first, second), "",
                     equal ? Verdict::right : Verdict::wrong});
  }
  return c.page.ok();
}

void directions_section(Context& c) {
  std::vector<CertificateLine>& lines = c.section(
      "Directional derivatives", "the gradient times a random direction, against differences whose error is measured");
  bool found_element = false;
  for (const Place& place : c.places()) {
    c.wide.set_training(place.training);
    const Point gradient = c.wide.gradient(place.x);
    if (!same_bits(gradient, c.wide.gradient(place.x)))
      lines.push_back({place.name, "another gradient when it is computed again", "", Verdict::wrong});
    for (int64_t i = 1; i <= c.options.directions; ++i) {
      const Point v = c.direction();
      const Measured m = c.confirmed(c.measure(place.x, gradient, v), place.x, v);
      lines.push_back(line_of(fmt::format("{}, direction {}", place.name, i), m));
      if (c.page.numbers.empty()) keep_numbers(c, place.x, v, gradient, m);
      if (m.verdict == Verdict::wrong && !std::exchange(found_element, true))
        find_element(c, lines, place.x, gradient, v);
    }
  }
}

// log2 of how much smaller the remainder is after half the step: 2 for a right gradient, 3 with a right Hessian. The
// verdict is that of differences: of f, and of its gradient.
void taylor_section(Context& c) {
  std::vector<CertificateLine>& lines =
      c.section("Taylor remainders", "f(x + hv) - f(x) - h<g, v>, and the same less h^2 v'Hv / 2: their orders in h");
  const Place place = c.places().front();
  c.wide.set_training(place.training);
  const Point v = c.direction(), gradient = c.wide.gradient(place.x);
  const Measured slope = c.confirmed(c.measure(place.x, gradient, v), place.x, v);
  std::optional<Measured> curvature;
  try {
    const double analytic = c.wide.curvature(place.x, v);
    curvature = along([&](double t) { return inner(c.wide.gradient(moved(place.x, v, t)), v); }, analytic,
                      std::abs(analytic), {.first = 5, .last = 9});
    // Where the slope jumps everywhere, its differences have hardly a digit, and are no reason to call a Hessian wrong.
    const bool vague = curvature->error > 1e-3 * std::abs(curvature->numerical);
    if (curvature->verdict == Verdict::wrong &&
        (vague || c.of_operations(place.x, v) == Verdict::unknown ||
         c.is_rounding(*curvature, place.x, [&](const Point& y) { return c.wide.curvature(y, v); }))) {
      curvature->verdict = Verdict::unknown;
      curvature->reason = "kinks or rounding errors";
    }
  } catch (const Error& error) {
    c.page.unchecked.push_back(fmt::format("second order: {}", error.what()));
  }
  std::vector<double> first, second;
  const double middle = c.wide.value(place.x);
  for (int k = 3; k <= 9; ++k) {
    const double h = std::ldexp(1.0, -k), change = c.wide.value(moved(place.x, v, h)) - middle - h * slope.analytic;
    first.push_back(change);
    second.push_back(change - h * h / 2 * (curvature ? curvature->analytic : 0));
  }
  lines.push_back(order_line("gradient", first, middle, slope));
  if (curvature) lines.push_back(order_line("Hessian product", second, middle, *curvature));
}

void tensors_section(Context& c) {
  std::vector<CertificateLine>& lines =
      c.section("Each tensor", "the derivative when it alone moves, the norm of its gradient, its zeros");
  const Place place = c.places().back();
  c.wide.set_training(place.training);
  std::vector<bool> has_none;
  const Point gradient = c.wide.gradient(place.x, &has_none), v = c.direction();
  const Steps steps = c.few_steps(place.x, v);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    Point alone(v.size());
    alone[i] = v[i];
    const Measured m = c.confirmed(c.measure(place.x, gradient, alone, steps), place.x, alone);
    CertificateLine line = line_of(c.name_of(i), m);
    const double zeros = 1 - sum(ne(gradient[i], 0).to(kFloat64), {}).item<double>() /
                                 std::max<double>(1, static_cast<double>(gradient[i].numel()));
    const double size = norm_of(gradient[i]);
    line.found = fmt::format("norm {:.3g}", size);
    if (m.verdict == Verdict::wrong)
      line.found += fmt::format(", analytic {:.12g}, numerical {:.12g}", m.analytic, m.numerical);
    if (!m.reason.empty()) line.found += ", " + m.reason;
    if (size == 0 && gradient[i].numel() > 0) {
      line.found += has_none[i] ? ", DETACHED: it took no part in the loss" : ", DEAD: its gradient is zero";
      line.verdict = std::max(line.verdict, Verdict::unknown);
    } else if (zeros > 0.5) {
      line.found += fmt::format(", {:.0f} % zeros", 100 * zeros);
    }
    lines.push_back(std::move(line));
  }
  std::ranges::stable_sort(lines, worse);
}

void operations_section(Context& c) {
  const Place place = c.places().front();
  c.wide.set_training(place.training);
  const bool right = c.page.ok();
  CertificateSection found = each_operation(c.wide, place.x, c.direction(), c.options.most_elements, c.page.unchecked);
  for (CertificateLine& line : found.lines) {
    if (!right || line.verdict != Verdict::wrong) continue;  // the whole is right: what is detached here cancels
    line.verdict = Verdict::unknown;
    line.found += " (it uses a detached value that depends on the parameters)";
  }
  c.page.sections.push_back(std::move(found));
}

}  // namespace tapegrad::nn::detail
