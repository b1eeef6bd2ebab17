// Random programs: short compositions of operations on small tensors, which are drawn, run, printed and shrunk.
//
// A program has inputs and steps. A step is a call of a rule, which defines how its arguments are drawn, how it is
// computed, and how it is written in C++ and Python. Programs are drawn by running them: a call whose result is not
// finite, or too close to a kink, is dropped, and another one is drawn. The result of a program is a vector: a weighted
// sum of each unused value, and the sum of each input, so that every input has a gradient.
#pragma once

#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/autograd/tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace tapegrad::tests {

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

struct Rule {
  std::string cpp, python;  // with {t0} {i0} {d0} {l0} {c0}, and {T} for the element type
  std::function<bool(const Draw&, Call&)> draw;
  std::function<Tensor(const Arguments&)> run;
  /// Whether all operands are far from kinks; empty: the operation has no kinks.
  std::function<bool(const Arguments&)> smooth;
};
const std::vector<Rule>& rules();

/// An input: its values in row-major order, and its layout.
struct ProgramInput {
  enum class Layout { contiguous, transposed, gaps, backwards };
  Shape shape;
  std::vector<double> values;
  Layout layout = Layout::contiguous;
  Tensor tensor(DType type) const;
};

/// The result of a call, of values by index.
Tensor computed(const Call& call, std::span<const Tensor> values, DType type);
/// sum(v w) with weights that do not cancel.
Tensor weighted_sum(const Tensor& v);

struct Program {
  uint64_t seed = 0;
  int64_t number = 0;
  std::vector<ProgramInput> inputs;
  std::vector<Call> steps;
  std::vector<int> results;  // the values that are summed

  std::vector<Tensor> tensors(DType type) const;
  Tensor operator()(std::span<const Tensor> inputs) const;
  /// All values, inputs first.
  std::vector<Tensor> values(std::span<const Tensor> inputs) const;
  std::string cpp() const;
  std::string python() const;  // a function body that leaves `inputs` and `y`
};

/// Draws a program of 3 to 10 operations from rules() and `more`.
Program draw_program(uint64_t seed, int64_t number, std::span<const Rule> more = {});
/// The first fault of a program, or "": gradients to second order, float32 against float64, equal bits for different
/// numbers of threads.
std::string fault_of(const Program& program);
/// The first parameter that has other bits after steps which update parameters in backward than after steps which
/// update them at its end, or "" (program_updates.cpp). The inputs are parameters, and so are further leaves, of sizes
/// on both sides of those at which updates begin and are cut; some share memory, or are used twice. Steps of the
/// program run as they are, as custom operations, under hooks or by recomputation, most of which read a parameter that
/// is not among their inputs. `custom_reads`: what the custom operations say of that.
std::string update_fault_of(const Program& program, Reads custom_reads = Reads::anything);
/// The program reduced as far as possible while it still has a fault.
Program shrunk(Program program);

}  // namespace tapegrad::tests
