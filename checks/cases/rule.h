// What random programs may do with an operation: rules, which draw the arguments of a call, compute it, and write it in
// C++ and Python; and what rules are made of.
#pragma once

#include <tapegrad/autograd/random.h>
#include <tapegrad/autograd/tensor.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

struct Rule;

/// A call of a rule with everything that was drawn for it. In the texts of the rule, {t0} is the first of `t`, and so
/// on.
struct Call {
  const Rule* rule = nullptr;
  std::vector<int> t;                   // operands by index: inputs first, then the results of steps
  std::vector<int64_t> i;               // integers
  std::vector<double> d;                // numbers
  std::vector<std::vector<int64_t>> l;  // lists of integers
  std::vector<Tensor> c;                // int64 tensors
};

/// Draws for a rule, from the values so far.
class Draw {
 public:
  Draw(Generator& generator, std::span<const Tensor> values) : generator_(generator), values_(values) {}
  int64_t below(int64_t n) const;  // in [0, n)
  int64_t between(int64_t low, int64_t high) const { return low + below(high - low + 1); }
  double number(double low, double high) const;  // with two decimals
  Tensor index(const Shape& shape, int64_t size) const;
  const Tensor& value(int k) const { return values_[static_cast<std::size_t>(k)]; }
  /// Adds a value that fits to the operands of the call; newer values are more likely. Returns false if none fits.
  bool operand(Call& call, const std::function<bool(const Tensor&)>& fits) const;
  bool operand(Call& call) const {
    return operand(call, [](const Tensor&) { return true; });
  }
  /// The operand that was drawn last, and a random axis of a tensor, which must have one.
  const Tensor& last(const Call& call) const { return value(call.t.back()); }
  int64_t axis(const Tensor& x) const { return between(-x.dim(), x.dim() - 1); }

 private:
  Generator& generator_;
  std::span<const Tensor> values_;
};

/// A call with its operands, for the rule to compute.
struct Arguments {
  const Call& call;
  std::vector<Tensor> t;
  DType type;
  int64_t i(std::size_t k) const { return call.i[k]; }
  double d(std::size_t k) const { return call.d[k]; }
  const std::vector<int64_t>& l(std::size_t k) const { return call.l[k]; }
  const Tensor& c(std::size_t k) const { return call.c[k]; }
};

/// A formula of Arguments `a` as a function, and as the text of a rule in C++: in it, a.t[0] is {t0}, a.i(0) is {i0}
/// and so on, and a.type is {T}.
struct Formula {
  Formula(std::string code, std::function<Tensor(const Arguments& a)> run);
  std::string cpp;
  std::function<Tensor(const Arguments& a)> run;
};
#define FORMULA(...) \
  ::tapegrad::tasks::Formula(#__VA_ARGS__, [](const ::tapegrad::tasks::Arguments& a) -> Tensor { return __VA_ARGS__; })

using DrawRule = std::function<bool(const Draw&, Call&)>;
using Smooth = std::function<bool(const Arguments&)>;

struct Rule {
  std::string cpp, python;  // with {t0} {i0} {d0} {l0} {c0}, and {T} for the element type
  DrawRule draw;
  std::function<Tensor(const Arguments&)> run;
  Smooth smooth;  // whether all operands are far from kinks; empty: the operation has no kinks
};

// Elements of a value.
inline constexpr int64_t kMostElements = 24;
// Values above this are scaled down before they are operands.
inline constexpr double kLargestOperand = 3;
double largest(const Tensor& x);

// --- far from kinks ---

bool away_from(const Tensor& x, std::span<const double> points);
inline bool away_from(const Tensor& x, std::initializer_list<double> points) {
  return away_from(x, std::span(points.begin(), points.end()));
}
Smooth first_away_from(std::vector<double> points);
// All elements of the first operand differ.
bool apart(const Arguments& a);
// The first operand is nowhere equal to the second.
bool first_two_differ(const Arguments& a);

// --- what is drawn ---

bool broadcast_together(const Shape& a, const Shape& b);
bool any_value(const Draw& d, Call& c);
bool not_empty(const Draw& d, Call& c);
// Two (three) operands that broadcast.
bool pair(const Draw& d, Call& c);
bool three(const Draw& d, Call& c);
// A second operand of the same shape.
bool twins(const Draw& d, Call& c);
// An operand that is no scalar.
bool with_axes(const Draw& d, Call& c);
// {i0}: an axis; of a tensor with elements; of size above 1; and {i1}: 0 or 1 for keepdim.
bool with_axis(const Draw& d, Call& c);
bool with_filled_axis(const Draw& d, Call& c);
bool with_long_axis(const Draw& d, Call& c);
bool with_axis_and_flag(const Draw& d, Call& c);
// A matrix, or several.
bool matrices(const Draw& d, Call& c);
bool square_matrices(const Draw& d, Call& c);
// An operand of `low` to `high` elements, a multiple of a number.
DrawRule sized(int64_t low, int64_t high = kMostElements, int64_t multiple_of = 1);
// What `first` draws, and then what `second` does.
DrawRule both(DrawRule first, DrawRule second);
DrawRule then(DrawRule first, std::function<void(const Draw& d, Call& c)> second);
// What `first` draws, and an operand that fits to its last one.
DrawRule and_operand(DrawRule first, std::function<bool(const Tensor& last, const Tensor& x)> fits);
// {d0}: a number in [low, high], or {iK}: an integer.
DrawRule and_number(DrawRule first, double low, double high);
DrawRule and_integer(DrawRule first, int64_t low, int64_t high);
// An operand for which `fits` is true.
DrawRule operand(std::function<bool(const Tensor&)> fits);

// `text` with another text in the place of every `part`.
std::string replaced(std::string text, std::string_view part, std::string_view by);

}  // namespace tapegrad::tasks
