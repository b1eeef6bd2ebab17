// fuse: an elementwise formula of your own, in plain C++, as one operation.
//
//   const Tensor y = fuse([](auto u, auto u_x) { return where(u > 0, u * u_x, tanh(u) - 0.5 * u_x); }, u, u_x);
//
// The formula is called once per fuse, with a Symbol for each tensor, and what it does is written down as a small
// program. Kernels of the library, for all instruction sets, run the program on pieces that fit into the L1 cache, so
// memory is read and written once. Derivatives are programs, too, to any order.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace tapegrad {

enum class Gelu;  // functions.h
class SymbolGraph;
class FusedProgram;
struct FuseAction;

/// The functions of one tensor that formulas may call; functions.h describes them.
inline constexpr std::string_view kSymbolFunctions[] = {
    "exp",        "expm1", "exp2",       "log",         "log1p",     "log2",        "log10",    "square",
    "reciprocal", "sqrt",  "rsqrt",      "abs",         "sign",      "floor",       "ceil",     "round",
    "trunc",      "sin",   "cos",        "tan",         "asin",      "acos",        "atan",     "sinh",
    "cosh",       "asinh", "acosh",      "atanh",       "tanh",      "erf",         "sinc",     "sigmoid",
    "relu",       "silu",  "gelu",       "gelu_tanh",   "logit",     "log_sigmoid", "softplus", "mish",
    "elu",        "selu",  "leaky_relu", "hardsigmoid", "hardswish", "softsign"};
/// One of them; an unknown name does not compile.
struct SymbolFunction {
  consteval SymbolFunction(const char* name) {  // NOLINT: names convert
    while (kSymbolFunctions[place] != name) ++place;
  }
  std::size_t place = 0;  ///< in kSymbolFunctions
};
enum class SymbolArithmetic : uint8_t { add, sub, mul, div, maximum, minimum, atan2 };  ///< functions of two numbers
enum class SymbolOrder : uint8_t { less, less_equal, equal };                           ///< comparisons of two numbers

class SymbolCondition;

/// One element of a tensor, or a number, in a formula. Arithmetic, comparisons, and the functions of tensors of the
/// same names work on it; they are found by its type, so a formula calls them without a namespace. It ends with the
/// call of its formula: Error if it is kept and used later.
class Symbol {
 public:
  Symbol(double number) : number_(number) {}  // NOLINT: numbers convert

  friend Symbol operator+(const Symbol& a, const Symbol& b) { return combine(SymbolArithmetic::add, a, b); }
  friend Symbol operator-(const Symbol& a, const Symbol& b) { return combine(SymbolArithmetic::sub, a, b); }
  friend Symbol operator*(const Symbol& a, const Symbol& b) { return combine(SymbolArithmetic::mul, a, b); }
  friend Symbol operator/(const Symbol& a, const Symbol& b) { return combine(SymbolArithmetic::div, a, b); }
  friend Symbol operator-(const Symbol& x) { return negative(x); }
  friend Symbol operator+(const Symbol& x) { return x; }
  /// *this and x, combined; of formulas only, no tensor changes.
  Symbol& operator+=(const Symbol& x) { return *this = *this + x; }
  Symbol& operator-=(const Symbol& x) { return *this = *this - x; }
  Symbol& operator*=(const Symbol& x) { return *this = *this * x; }
  Symbol& operator/=(const Symbol& x) { return *this = *this / x; }

  friend SymbolCondition operator<(const Symbol& a, const Symbol& b);
  friend SymbolCondition operator<=(const Symbol& a, const Symbol& b);
  friend SymbolCondition operator>(const Symbol& a, const Symbol& b);
  friend SymbolCondition operator>=(const Symbol& a, const Symbol& b);
  friend SymbolCondition operator==(const Symbol& a, const Symbol& b);
  friend SymbolCondition operator!=(const Symbol& a, const Symbol& b);

  /// NaN if either is NaN.
  friend Symbol minimum(const Symbol& a, const Symbol& b) { return combine(SymbolArithmetic::minimum, a, b); }
  friend Symbol maximum(const Symbol& a, const Symbol& b) { return combine(SymbolArithmetic::maximum, a, b); }
  friend Symbol min(const Symbol& a, const Symbol& b) { return minimum(a, b); }
  friend Symbol max(const Symbol& a, const Symbol& b) { return maximum(a, b); }
  /// As clamp of a tensor with numbers.
  friend Symbol clamp(const Symbol& x, std::optional<double> low, std::optional<double> high) {
    return limit(x, low, high);
  }
  friend Symbol pow(const Symbol& a, const Symbol& b) { return power(a, b); }
  friend Symbol atan2(const Symbol& y, const Symbol& x) { return combine(SymbolArithmetic::atan2, y, x); }

  friend Symbol exp(const Symbol& x) { return call("exp", x); }
  friend Symbol expm1(const Symbol& x) { return call("expm1", x); }
  friend Symbol exp2(const Symbol& x) { return call("exp2", x); }
  friend Symbol log(const Symbol& x) { return call("log", x); }
  friend Symbol log1p(const Symbol& x) { return call("log1p", x); }
  friend Symbol log2(const Symbol& x) { return call("log2", x); }
  friend Symbol log10(const Symbol& x) { return call("log10", x); }
  friend Symbol square(const Symbol& x) { return call("square", x); }
  friend Symbol reciprocal(const Symbol& x) { return call("reciprocal", x); }
  friend Symbol sqrt(const Symbol& x) { return call("sqrt", x); }
  friend Symbol rsqrt(const Symbol& x) { return call("rsqrt", x); }
  friend Symbol abs(const Symbol& x) { return call("abs", x); }
  friend Symbol sign(const Symbol& x) { return call("sign", x); }
  friend Symbol floor(const Symbol& x) { return call("floor", x); }
  friend Symbol ceil(const Symbol& x) { return call("ceil", x); }
  friend Symbol round(const Symbol& x) { return call("round", x); }
  friend Symbol trunc(const Symbol& x) { return call("trunc", x); }
  friend Symbol sin(const Symbol& x) { return call("sin", x); }
  friend Symbol cos(const Symbol& x) { return call("cos", x); }
  friend Symbol tan(const Symbol& x) { return call("tan", x); }
  friend Symbol asin(const Symbol& x) { return call("asin", x); }
  friend Symbol acos(const Symbol& x) { return call("acos", x); }
  friend Symbol atan(const Symbol& x) { return call("atan", x); }
  friend Symbol sinh(const Symbol& x) { return call("sinh", x); }
  friend Symbol cosh(const Symbol& x) { return call("cosh", x); }
  friend Symbol asinh(const Symbol& x) { return call("asinh", x); }
  friend Symbol acosh(const Symbol& x) { return call("acosh", x); }
  friend Symbol atanh(const Symbol& x) { return call("atanh", x); }
  friend Symbol tanh(const Symbol& x) { return call("tanh", x); }
  friend Symbol erf(const Symbol& x) { return call("erf", x); }
  friend Symbol sinc(const Symbol& x) { return call("sinc", x); }
  friend Symbol sigmoid(const Symbol& x) { return call("sigmoid", x); }
  friend Symbol relu(const Symbol& x) { return call("relu", x); }
  friend Symbol silu(const Symbol& x) { return call("silu", x); }
  friend Symbol gelu(const Symbol& x) { return call("gelu", x); }
  friend Symbol gelu(const Symbol& x, Gelu form) {
    return call(form == Gelu{} ? SymbolFunction("gelu") : SymbolFunction("gelu_tanh"), x);
  }
  friend Symbol logit(const Symbol& x) { return call("logit", x); }
  friend Symbol log_sigmoid(const Symbol& x) { return call("log_sigmoid", x); }
  friend Symbol softplus(const Symbol& x) { return call("softplus", x, 1, 20); }
  friend Symbol mish(const Symbol& x) { return call("mish", x); }
  friend Symbol elu(const Symbol& x) { return call("elu", x, 1); }
  friend Symbol selu(const Symbol& x) { return call("selu", x); }
  friend Symbol leaky_relu(const Symbol& x) { return call("leaky_relu", x, 0.01); }
  friend Symbol hardsigmoid(const Symbol& x) { return call("hardsigmoid", x); }
  friend Symbol hardswish(const Symbol& x) { return call("hardswish", x); }
  friend Symbol softsign(const Symbol& x) { return call("softsign", x); }

 private:
  friend SymbolGraph;
  Symbol(SymbolGraph* graph, uint32_t use, int32_t term) : graph_(graph), use_(use), term_(term) {}
  static Symbol combine(SymbolArithmetic with, const Symbol& a, const Symbol& b);
  static Symbol limit(const Symbol& x, std::optional<double> low, std::optional<double> high);
  static Symbol negative(const Symbol& x);
  static Symbol power(const Symbol& a, const Symbol& b);
  static Symbol call(SymbolFunction f, const Symbol& x, double s0 = 0, double s1 = 0);

  SymbolGraph* graph_ = nullptr;  // nullptr: a number. A FusedMemory owns it, beyond the call of the formula
  uint32_t use_ = 0;              // of the graph, that of the call
  int32_t term_ = 0;
  double number_ = 0;
};

/// A comparison in a formula, for where(). It has no value in C++: `if` and `?:` do not work on it.
class SymbolCondition {
 public:
  explicit operator bool() const = delete;  // write where(condition, a, b)

  friend SymbolCondition operator&&(const SymbolCondition& a, const SymbolCondition& b) {
    return is_one(a.select(b.select(1, 0), 0));
  }
  friend SymbolCondition operator||(const SymbolCondition& a, const SymbolCondition& b) {
    return is_one(a.select(1, b.select(1, 0)));
  }
  friend SymbolCondition operator!(SymbolCondition a) {
    a.negated_ = !a.negated_;
    return a;
  }
  /// a where the condition holds, b elsewhere.
  friend Symbol where(const SymbolCondition& condition, const Symbol& a, const Symbol& b) {
    return condition.select(a, b);
  }

 private:
  friend SymbolCondition operator<(const Symbol& a, const Symbol& b) { return {SymbolOrder::less, a, b}; }
  friend SymbolCondition operator<=(const Symbol& a, const Symbol& b) { return {SymbolOrder::less_equal, a, b}; }
  friend SymbolCondition operator>(const Symbol& a, const Symbol& b) { return {SymbolOrder::less, b, a}; }
  friend SymbolCondition operator>=(const Symbol& a, const Symbol& b) { return {SymbolOrder::less_equal, b, a}; }
  friend SymbolCondition operator==(const Symbol& a, const Symbol& b) { return {SymbolOrder::equal, a, b}; }
  friend SymbolCondition operator!=(const Symbol& a, const Symbol& b) { return !(a == b); }
  SymbolCondition(SymbolOrder order, const Symbol& a, const Symbol& b) : order_(order), a_(a), b_(b) {}
  static SymbolCondition is_one(const Symbol& x) { return {SymbolOrder::equal, x, 1}; }
  Symbol select(const Symbol& a, const Symbol& b) const;

  SymbolOrder order_;
  bool negated_ = false;
  Symbol a_, b_;
};

/// For fuse(): the program that a type of formula gave last, which is used again if it is the same, and the graphs of
/// its calls, which are used again, too. They are never freed before the program ends, so that a Symbol that outlives
/// its call is recognised.
class FusedMemory {
 public:
  FusedMemory();
  ~FusedMemory();
  /// The program of a formula, made at the first call with these symbols.
  std::shared_ptr<const FusedProgram> program_of(const SymbolGraph& graph, int32_t result, int operands);
  /// An empty graph for one call, and its way back.
  std::unique_ptr<SymbolGraph> take_graph();
  void give_back(std::unique_ptr<SymbolGraph> graph);

 private:
  struct Last;
  std::mutex mutex_;
  std::unique_ptr<Last> last_;
  std::vector<std::unique_ptr<SymbolGraph>> graphs_;  // of no call
};

/// For fuse(): one call of a formula.
class FusedCall : NonCopyable {
 public:
  static constexpr std::size_t kMostTensors = 8;  ///< most tensors of one call

  explicit FusedCall(FusedMemory& memory);
  ~FusedCall();
  /// The formula's argument.
  Symbol argument(const Tensor& x);
  Symbol argument(double number) const { return number; }
  /// The tensor of a formula's result.
  Tensor result(const Symbol& y);

 private:
  FusedMemory& memory_;
  std::unique_ptr<SymbolGraph> graph_;
  std::size_t count_ = 0;
  Tensor tensors_[kMostTensors];
};

namespace detail {
template <class X>
using SymbolOf = Symbol;  // for each argument
}  // namespace detail

/// y[i] = formula(x0[i], x1[i], ...) in one pass over memory, as one operation; tensors broadcast, and an argument may
/// be a number. float32 and float64, of one type; a tensor without axes takes the type of the others. `formula` takes
/// its arguments by value as `auto` and returns a Symbol: arithmetic, comparisons, `where`, `min`, `max`, `pow` and the
/// functions above, called without a namespace, and numbers of C++, which may be captured. Values are bit-identical to
/// the same operations on tensors, with one exception: where the formula has gelu (either form), silu or sigmoid
/// written out, with constants to all digits of a double, it calls them, which is faster and more accurate. One to
/// eight tensors. Error for other types and for shapes that do not broadcast.
///
///   const auto burgers = [nu](auto u, auto u_t, auto u_x, auto u_xx) { return u_t + u * u_x - nu * u_xx; };
///   const Tensor residual = fuse(burgers, u, u_t, u_x, u_xx);
template <class F, class... X>
Tensor fuse(const F& formula, const X&... x) {
  static_assert((std::convertible_to<X, Tensor> || ...), "fuse: expected at least one tensor");
  static_assert((std::size_t{std::convertible_to<X, Tensor>} + ...) <= FusedCall::kMostTensors,
                "fuse: expected at most eight tensors");
  static_assert(
      std::invocable<const F&, const detail::SymbolOf<X>&...>,
      "fuse: expected a formula with an `auto` for each tensor and number: [](auto u, auto v) { return u * v; }");
  static FusedMemory memory;
  FusedCall call(memory);
  const Symbol arguments[] = {call.argument(x)...};  // in order
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    static_assert(std::convertible_to<decltype(formula(arguments[I]...)), Symbol>,
                  "fuse: expected a formula that returns a value of its arguments (or a number)");
    return call.result(formula(arguments[I]...));
  }
  (std::index_sequence_for<X...>());
}

}  // namespace tapegrad
