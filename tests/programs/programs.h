// Random programs: short compositions of operations on small tensors, which are drawn, run, printed and shrunk.
//
// A program has inputs and steps. A step is a call of a rule, which defines how its arguments are drawn, how it is
// computed, and how it is written in C++ and Python. Programs are drawn by running them: a call whose result is not
// finite, or too close to a kink, is dropped, and another one is drawn. The result of a program is a vector: a weighted
// sum of each unused value, and the sum of each input, so that every input has a gradient.
#pragma once

#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/tensor.h>
#include <tapegrad/checks/cases/rule.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tapegrad::tests {

using tasks::Call;
using tasks::Draw;
using tasks::Rule;

// The rules of all cases (checks/cases).
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
