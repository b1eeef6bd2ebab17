// The cases of operations: how each is called, on which inputs it is checked, what random programs may do with it, and
// its name in PyTorch. One table, which is read by `tapegrad gradcheck` and by the tests of equal bits, golden values,
// random programs and docs/from_pytorch.md.
//
// A file of this folder has the cases of a family; a new operation is an entry in one of them.
#pragma once

#include <tapegrad/autograd/gradcheck.h>
#include <tapegrad/checks/cases/call.h>
#include <tapegrad/checks/cases/rule.h>

#include <concepts>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

using Function = std::function<Tensor(std::span<const Tensor>)>;

// One call of an operation. Inputs are float64 (or indices and masks) and stay away from kinks and ties by more than
// two steps of the differences.
struct OpSample {
  std::string label;
  std::vector<Tensor> inputs;
  Function f;
  GradcheckOptions options = {};
  bool published = true;     // is part of the self-test, whose hashes are published
  bool per_example = false;  // the result's first axis is examples, and so is that of the first of several inputs
};

struct OpSamples {
  std::string op;  // Op::name
  std::vector<OpSample> samples = {};
};

// A call on float32 inputs that are divided among threads.
struct LargeSample {
  std::string op;
  std::vector<Tensor> inputs;
  Function f;
};

// Where a function is used in random programs: everywhere, or between the bounds of its samples.
enum class Domain { everything, between };

// A function of one tensor, elementwise.
struct Unary {
  std::string pytorch;        // "torch.exp". (Functions that PyTorch does not have take call, samples and rule.)
  double low = -2, high = 2;  // of the samples
  Domain domain = Domain::everything;
  std::vector<double> kinks = {};  // of random programs
  bool steps = false;              // constant between jumps, which are at whole or half numbers
  bool zero_gradient = false;      // constant where it is smooth
  std::string op = {};             // that it records, if it has another name
};

using UnaryFunction = std::function<Tensor(const Tensor&)>;
using BinaryFunction = std::function<Tensor(const Tensor&, const Tensor&)>;
using ReductionFunction = Tensor (*)(const Tensor&, const Axes&, Flag keepdim);

class CaseTable {
 public:
  // What it is filled with: inputs for gradients, or large ones.
  enum class Size { small, large };
  explicit CaseTable(Size size) : size_(size) {}
  bool large() const { return size_ == Size::large; }

  // --- names and calls ---

  // An operation as PyTorch's golden values and random programs call it. `op`: that it records, if it has another name.
  void call(const std::string& name, OpCall f, const std::string& op = {});
  template <std::invocable<const Inputs&, const json&> F>
  void call(const std::string& name, F f, const std::string& op = {}) {
    call(name, OpCall([f](const Inputs& x, const json& args) { return outputs(f(x, args)); }), op);
  }
  template <class R, class... A>
  void call(const std::string& name, R (*f)(A...), std::string_view attributes = {}, const std::string& op = {}) {
    call(name, call_of(f, attributes), op);
  }
  // The same, and a rule of random programs (call.h: rule_of). All attributes are drawn, unless `drawn` is given.
  template <class R, class... A>
  void function(const std::string& name, R (*f)(A...), std::string_view attributes, const std::string& pytorch,
                DrawRule draw, Smooth smooth = {}, std::size_t drawn = 99) {
    call(name, call_of(f, attributes));
    rules.push_back(rule_of(name, f, attributes, pytorch, std::move(draw), std::move(smooth), drawn));
  }
  // The same for f(x, axis), which golden values also call with the type of the result.
  void along_axis(const std::string& name, Tensor (*f)(const Tensor&, int64_t),
                  Tensor (*in_type)(const Tensor&, int64_t, DType));
  // `smooth`: whether the operands are far from kinks; without it the operation has none.
  void rule(std::string cpp, std::string python, DrawRule draw, Smooth smooth,
            std::function<Tensor(const Arguments&)> run);
  void rule(std::string cpp, std::string python, DrawRule draw, std::function<Tensor(const Arguments&)> run) {
    rule(std::move(cpp), std::move(python), std::move(draw), {}, std::move(run));
  }

  void rule(Formula formula, std::string python, DrawRule draw, Smooth smooth = {}) {
    rule(std::move(formula.cpp), std::move(python), std::move(draw), std::move(smooth), std::move(formula.run));
  }

  // --- inputs ---

  // A sample of an Op, by a function, or by the call of an operation, whose first result is checked.
  void add(std::string_view op, std::string_view label, std::vector<Tensor> inputs, Function f,
           GradcheckOptions options = {});
  void add(std::string_view name, std::string_view label, std::vector<Tensor> inputs, const json& attributes = kNone,
           GradcheckOptions options = {});
  // A sample that only gradient checks use.
  void add_check(std::string_view op, std::string_view label, std::vector<Tensor> inputs, Function f,
                 GradcheckOptions options = {});
  // Such a sample whose gradients per example are compared with those of each example, too.
  void add_per_example(std::string_view op, std::string_view label, std::vector<Tensor> inputs, Function f);
  // The same with large inputs.
  void add_large(std::string_view op, std::vector<Tensor> inputs, Function f);
  void add_large(std::string_view name, std::vector<Tensor> inputs, const json& attributes = kNone);

  // --- families ---

  // A function of one tensor: its call, its rule, and samples of every layout and of large inputs. `samples` has
  // samples only.
  void unary(const std::string& name, UnaryFunction f, const Unary& of);
  void samples(const std::string& op, double low, double high, const GradcheckOptions& options, const UnaryFunction& f);
  void samples(const std::string& op, double low, double high, const UnaryFunction& f) {
    samples(op, low, high, {}, f);
  }
  void samples(const std::string& op, const UnaryFunction& f) { samples(op, -2, 2, {}, f); }
  // A function of two tensors on every way to broadcast. Where each element of the result depends on one side only
  // (maximum), a result must have `at_least` elements for both sides to have a gradient.
  void samples(const std::string& op, const BinaryFunction& f, double low = -2, double high = 2, int64_t at_least = 0);
  // A reduction over every choice of axes. `empty`, `of_one`: whether it is defined on nothing, and on one element.
  void samples(const std::string& op, bool empty, bool of_one,
               const std::function<Tensor(const Tensor&, const Axes&, bool)>& f);
  void reduction(const std::string& name, ReductionFunction f, bool empty, Smooth smooth = {});

  std::vector<OpSamples> ops;
  std::vector<LargeSample> larges;
  std::map<std::string, OpCall> calls;
  std::map<std::string, Unary> unaries;
  std::vector<Rule> rules;

 private:
  OpSamples& of(std::string_view op);
  std::pair<std::string, Function> called(std::string_view name, const json& attributes) const;

  Size size_;
  std::map<std::string, std::string> records_;  // Op::name by name of the call
};

// Both tables are made once. The one of large inputs takes memory.
const CaseTable& op_cases();
CaseTable large_cases();
const std::vector<OpSamples>& op_samples();

// nullptr for a name that no Op has.
const Op* find_op(std::string_view name);
// Operations in Op::all() that the table does not know, and entries of the table that are not an Op. Both must be
// empty.
std::vector<std::string> ops_without_samples();
std::vector<std::string> samples_without_op();

// gradcheck to second order, or to first order and a check that create_graph raises an Error if the Op says so; and the
// demand that the sample records the operation at all. Errors that the sample throws become a report that failed.
GradcheckReport check_sample(std::string_view op, const OpSample& sample);

// --- inputs of samples ---

// Numbers that are all different, spread evenly over (low, high) in an order without pattern.
Tensor spread(const Shape& shape, double low = -2, double high = 2);
// Integers in [0, bound).
Tensor some_ids(const Shape& shape, int64_t bound);
// Truth values of both kinds.
Tensor some_bools(const Shape& shape);

// The layouts of a tensor [a, b]: contiguous, transposed, every second column, reversed rows.
struct LaidOut {
  std::string label;
  Tensor x;
};
std::vector<LaidOut> layouts(int64_t rows, int64_t columns, double low = -2, double high = 2);

// f on [2, 3, 4] in memory of four kinds, and on what is expanded.
void add_cubes(CaseTable& table, std::string_view op, const std::string& label,
               const std::function<Tensor(const Tensor&)>& f);

// query [batch, T, D], key [batch, S, D], value [batch, S, E].
std::vector<Tensor> queries_keys_values(const Shape& batch, int64_t t, int64_t s, int64_t d, int64_t e);

// The gradient of f at x under dy, as a function of dy: for operations that only a backward records.
Tensor pulled_back(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, const Tensor& dy);

// Large inputs: at least two rows of a grain's length; sizes that are not multiples of a vector. float32.
inline constexpr int64_t kRows = 301, kColumns = 1003;
Tensor numbers(const Shape& shape, double low = -2, double high = 2);
Tensor ids(const Shape& shape, int64_t bound);

// --- the families ---

void add_elementwise_cases(CaseTable& table);
void add_special_cases(CaseTable& table);
void add_arithmetic_cases(CaseTable& table);
void add_reduction_cases(CaseTable& table);
void add_order_cases(CaseTable& table);
void add_view_cases(CaseTable& table);
void add_shape_cases(CaseTable& table);
void add_index_cases(CaseTable& table);
void add_segment_cases(CaseTable& table);
void add_product_cases(CaseTable& table);
void add_linalg_cases(CaseTable& table);
void add_norm_cases(CaseTable& table);
void add_loss_cases(CaseTable& table);
void add_pooling_cases(CaseTable& table);
void add_convolution_cases(CaseTable& table);
void add_image_cases(CaseTable& table);
void add_recurrent_cases(CaseTable& table);
void add_attention_cases(CaseTable& table);
void add_long_attention_cases(CaseTable& table);
void add_engine_cases(CaseTable& table);

}  // namespace tapegrad::tasks
