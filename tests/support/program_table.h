// Shared by the tables of operations for random programs: tests for kinks, and how operands are drawn.
#pragma once

#include <tapegrad/autograd/ops.h>
#include <tapegrad/tests/support/programs.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

namespace tapegrad::tests {

using A = Arguments;
using D = Draw;
using DrawRule = std::function<bool(const Draw&, Call&)>;
using Smooth = std::function<bool(const Arguments&)>;

inline constexpr double kMargin = 0.02;  // much more than an input is moved

// --- far from kinks ---

inline bool away_from(const Tensor& x, std::initializer_list<double> points) {
  const std::vector<double> values = x.detach().to(kFloat64).to_vector<double>();
  return std::all_of(values.begin(), values.end(), [&](double v) {
    return std::all_of(points.begin(), points.end(), [&](double p) { return std::abs(v - p) > kMargin; });
  });
}

inline bool all_apart(const Tensor& x) {
  std::vector<double> values = x.detach().to(kFloat64).to_vector<double>();
  std::sort(values.begin(), values.end());
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (values[i] - values[i - 1] < kMargin) return false;
  }
  return true;
}

inline Smooth first_away_from(std::initializer_list<double> points) {
  return [points = std::vector<double>(points)](const A& a) {
    return std::all_of(points.begin(), points.end(), [&](double p) { return away_from(a.t[0], {p}); });
  };
}
inline const Smooth kApart = [](const A& a) { return all_apart(a.t[0]); };
inline const Smooth kFirstTwoDiffer = [](const A& a) { return away_from(a.t[0] - a.t[1], {0}); };

// --- what is drawn ---

inline bool broadcast(const Shape& a, const Shape& b) {
  for (int i = 1; i <= std::min(a.rank(), b.rank()); ++i) {
    const int64_t m = a[a.rank() - i], n = b[b.rank() - i];
    if (m != n && m != 1 && n != 1) return false;
  }
  return true;
}

inline bool any_value(const D& d, Call& c) { return d.operand(c); }
inline bool not_empty(const D& d, Call& c) {
  return d.operand(c, [](const Tensor& x) { return x.numel() > 0; });
}
inline bool pair(const D& d, Call& c) {
  if (!d.operand(c)) return false;
  const Shape shape = d.last(c).shape();
  return d.operand(c, [&](const Tensor& x) { return broadcast(shape, x.shape()); });
}
inline bool three(const D& d, Call& c) {
  return pair(d, c) && d.operand(c, [&](const Tensor& x) {
    return broadcast(d.value(c.t[0]).shape(), x.shape()) && broadcast(d.value(c.t[1]).shape(), x.shape());
  });
}
// {i0}: an axis.
inline bool with_axis(const D& d, Call& c) {
  if (!d.operand(c, [](const Tensor& x) { return x.dim() > 0; })) return false;
  c.i = {d.axis(d.last(c))};
  return true;
}
inline bool with_filled_axis(const D& d, Call& c) { return with_axis(d, c) && d.last(c).numel() > 0; }
inline bool with_long_axis(const D& d, Call& c) { return with_filled_axis(d, c) && d.last(c).size(c.i[0]) > 1; }
// {i0}: 0 or 1 for keepdim, after the axis.
inline bool with_axis_and_flag(const D& d, Call& c) {
  if (!with_filled_axis(d, c)) return false;
  c.i.push_back(d.below(2));
  return true;
}
// A matrix, or several.
inline bool matrices(const D& d, Call& c) {
  return d.operand(c, [](const Tensor& x) { return x.dim() >= 2; });
}
inline bool square_matrices(const D& d, Call& c) {
  return d.operand(c, [](const Tensor& x) { return x.dim() >= 2 && x.size(-1) == x.size(-2) && x.numel() > 0; });
}
inline DrawRule sized(int64_t low, int64_t high) {
  return [=](const D& d, Call& c) {
    return d.operand(c, [&](const Tensor& x) { return x.numel() >= low && x.numel() <= high; });
  };
}
inline DrawRule and_number(DrawRule first, double low, double high) {
  return [=](const D& d, Call& c) {
    if (!first(d, c)) return false;
    c.d.push_back(d.number(low, high));
    return true;
  };
}
// {t0}, and a second operand of the same shape.
inline bool twins(const D& d, Call& c) {
  if (!not_empty(d, c)) return false;
  const Shape shape = d.last(c).shape();
  return d.operand(c, [&](const Tensor& x) { return x.shape() == shape; });
}

// --- the table ---

inline std::string replaced(std::string form, std::string_view part, std::string_view by) {
  for (std::size_t at = 0; (at = form.find(part, at)) != std::string::npos; at += by.size())
    form.replace(at, part.size(), by);
  return form;
}

class Table {
 public:
  std::vector<Rule> rules;

  void add(std::string cpp, std::string python, DrawRule draw, std::function<Tensor(const A&)> run,
           Smooth smooth = {}) {
    rules.push_back({std::move(cpp), std::move(python), std::move(draw), std::move(run), std::move(smooth)});
  }

  // A function of one tensor with one name; `before` maps its argument, X, into the function's domain.
  struct Before {
    const char *cpp, *python;
    Tensor (*run)(const Tensor&);
  };
  void unary(const std::string& name, Tensor (*f)(const Tensor&), const Before& before, Smooth smooth = {},
             std::string python = {}) {
    if (python.empty()) python = "torch." + name;
    add(
        name + "(" + replaced(before.cpp, "X", "{t0}") + ")", python + "(" + replaced(before.python, "X", "{t0}") + ")",
        any_value, [f, run = before.run](const A& a) { return f(run(a.t[0])); }, std::move(smooth));
  }
};

void add_elementwise(Table& table);
void add_pairs(Table& table);
void add_reductions(Table& table);
void add_shapes(Table& table);
void add_indexing(Table& table);
void add_products(Table& table);
void add_linalg(Table& table);
void add_norms_and_losses(Table& table);
void add_images(Table& table);
void add_layers(Table& table);

}  // namespace tapegrad::tests
