// How arguments of random calls are drawn.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/checks/cases/rule.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::tasks {
namespace {

constexpr double kMargin = 0.02;  // much more than an input is moved

std::vector<double> numbers_of(const Tensor& x) { return x.detach().to(kFloat64).to_vector<double>(); }

}  // namespace

Formula::Formula(std::string code, std::function<Tensor(const Arguments& a)> of)
    : cpp(std::move(code)), run(std::move(of)) {
  cpp = replaced(std::move(cpp), ") .", ").");  // where the source has a line break
  cpp = replaced(std::move(cpp), "a.type", "{T}");
  for (const char k : std::string("0123")) {
    cpp = replaced(std::move(cpp), fmt::format("a.t[{}]", k), fmt::format("{{t{}}}", k));
    for (const char list : std::string("idlc"))
      cpp = replaced(std::move(cpp), fmt::format("a.{}({})", list, k), fmt::format("{{{}{}}}", list, k));
  }
}

bool broadcast_together(const Shape& a, const Shape& b) {
  for (int i = 1; i <= std::min(a.rank(), b.rank()); ++i) {
    const int64_t m = a[a.rank() - i], n = b[b.rank() - i];
    if (m != n && m != 1 && n != 1) return false;
  }
  return true;
}

double largest(const Tensor& x) { return x.numel() == 0 ? 0 : max(abs(x)).item(); }

int64_t Draw::below(int64_t n) const {
  int64_t drawn = 0;
  generator_.randint(&drawn, 1, 0, n);
  return drawn;
}

double Draw::number(double low, double high) const {
  return static_cast<double>(between(std::llround(low * 100), std::llround(high * 100))) / 100;
}

Tensor Draw::index(const Shape& shape, int64_t size) const {
  const Tensor index = Tensor::empty(shape, kInt64);
  for (int64_t k = 0; k < index.numel(); ++k) index.mutable_data<int64_t>()[k] = below(size);
  return index;
}

bool Draw::operand(Call& call, const std::function<bool(const Tensor&)>& fits) const {
  std::vector<int> fit;
  for (int k = 0; k < static_cast<int>(values_.size()); ++k) {
    if (largest(value(k)) <= kLargestOperand && fits(value(k))) fit.push_back(k);
  }
  if (fit.empty()) return false;
  const auto count = static_cast<int64_t>(fit.size());
  call.t.push_back(fit[static_cast<std::size_t>(std::max(below(count), below(count)))]);
  return true;
}

bool away_from(const Tensor& x, std::span<const double> points) {
  const std::vector<double> values = numbers_of(x);
  return std::all_of(values.begin(), values.end(), [&](double v) {
    return std::all_of(points.begin(), points.end(), [&](double p) { return std::abs(v - p) > kMargin; });
  });
}

Smooth first_away_from(std::vector<double> points) {
  return [points = std::move(points)](const Arguments& a) { return away_from(a.t[0], points); };
}

bool apart(const Arguments& a) {
  std::vector<double> values = numbers_of(a.t[0]);
  std::sort(values.begin(), values.end());
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (values[i] - values[i - 1] < kMargin) return false;
  }
  return true;
}

bool first_two_differ(const Arguments& a) { return away_from(a.t[0] - a.t[1], {0}); }

bool any_value(const Draw& d, Call& c) { return d.operand(c); }

bool not_empty(const Draw& d, Call& c) {
  return d.operand(c, [](const Tensor& x) { return x.numel() > 0; });
}

bool pair(const Draw& d, Call& c) {
  if (!d.operand(c)) return false;
  const Shape shape = d.last(c).shape();
  return d.operand(c, [&](const Tensor& x) { return broadcast_together(shape, x.shape()); });
}

bool three(const Draw& d, Call& c) {
  return pair(d, c) && d.operand(c, [&](const Tensor& x) {
    return broadcast_together(d.value(c.t[0]).shape(), x.shape()) &&
           broadcast_together(d.value(c.t[1]).shape(), x.shape());
  });
}

bool twins(const Draw& d, Call& c) {
  if (!not_empty(d, c)) return false;
  const Shape shape = d.last(c).shape();
  return d.operand(c, [&](const Tensor& x) { return x.shape() == shape; });
}

bool with_axes(const Draw& d, Call& c) {
  return d.operand(c, [](const Tensor& x) { return x.dim() > 0; });
}

bool with_axis(const Draw& d, Call& c) {
  if (!with_axes(d, c)) return false;
  c.i = {d.axis(d.last(c))};
  return true;
}

bool with_filled_axis(const Draw& d, Call& c) { return with_axis(d, c) && d.last(c).numel() > 0; }

bool with_long_axis(const Draw& d, Call& c) { return with_filled_axis(d, c) && d.last(c).size(c.i[0]) > 1; }

bool with_axis_and_flag(const Draw& d, Call& c) { return and_integer(with_filled_axis, 0, 1)(d, c); }

bool matrices(const Draw& d, Call& c) {
  return d.operand(c, [](const Tensor& x) { return x.dim() >= 2; });
}

bool square_matrices(const Draw& d, Call& c) {
  return d.operand(c, [](const Tensor& x) { return x.dim() >= 2 && x.size(-1) == x.size(-2) && x.numel() > 0; });
}

DrawRule sized(int64_t low, int64_t high, int64_t multiple_of) {
  return operand(
      [=](const Tensor& x) { return x.numel() >= low && x.numel() <= high && x.numel() % multiple_of == 0; });
}

DrawRule both(DrawRule first, DrawRule second) {
  return [=](const Draw& d, Call& c) { return first(d, c) && second(d, c); };
}

DrawRule then(DrawRule first, std::function<void(const Draw& d, Call& c)> second) {
  return both(std::move(first), [=](const Draw& d, Call& c) { return second(d, c), true; });
}

DrawRule and_operand(DrawRule first, std::function<bool(const Tensor& last, const Tensor& x)> fits) {
  return both(std::move(first), [=](const Draw& d, Call& c) {
    const Tensor last = d.last(c);
    return d.operand(c, [&](const Tensor& x) { return fits(last, x); });
  });
}

DrawRule and_number(DrawRule first, double low, double high) {
  return then(std::move(first), [=](const Draw& d, Call& c) { c.d.push_back(d.number(low, high)); });
}

DrawRule and_integer(DrawRule first, int64_t low, int64_t high) {
  return then(std::move(first), [=](const Draw& d, Call& c) { c.i.push_back(d.between(low, high)); });
}

DrawRule operand(std::function<bool(const Tensor&)> fits) {
  return [fits = std::move(fits)](const Draw& d, Call& c) { return d.operand(c, fits); };
}

std::string replaced(std::string text, std::string_view part, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += by.size())
    text.replace(at, part.size(), by);
  return text;
}

}  // namespace tapegrad::tasks
