// Inputs and functions on which every operation is checked: one table, for the tests and for `tapegrad gradcheck`.
#pragma once

#include <tapegrad/autograd/gradcheck.h>

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

// One call of an operation. Inputs are float64 (or indices and masks) and stay away from kinks and ties by more than
// two steps of the differences.
struct OpSample {
  std::string label;
  std::vector<Tensor> inputs;
  std::function<Tensor(std::span<const Tensor>)> f;
  GradcheckOptions options = {};
};

// The function of a family of samples, for tests that call it on other inputs: float32 or float64, in [low, high], of
// any shape.
struct UnaryForm {
  std::function<Tensor(const Tensor&)> f;
  double low, high;
};
struct BinaryForm {
  std::function<Tensor(const Tensor&, const Tensor&)> f;
  double low, high;
};
using ReductionForm = std::function<Tensor(const Tensor&, const Axes&, bool keepdim)>;

struct OpSamples {
  std::string op;  // Op::name
  std::vector<OpSample> samples = {};
  std::vector<UnaryForm> unary = {};
  std::vector<BinaryForm> binary = {};
  std::vector<ReductionForm> reductions = {};
};

// All samples, in the order of the operations' families. A new Op needs samples in one of the files op_samples_*.cpp:
// gradcheck runs them; tests/autograd/same_bits.cpp and tests/golden/calls.cpp call their forms.
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

// --- for the files that fill the table ---

class SampleTable {
 public:
  using Function = std::function<Tensor(std::span<const Tensor>)>;
  // The entry of an operation, which is made if it is not there.
  OpSamples& of(std::string_view op);
  void add(std::string_view op, std::string_view label, std::vector<Tensor> inputs, Function f,
           GradcheckOptions options = {});

  std::vector<OpSamples> ops;
};

// Numbers that are all different, spread evenly over (low, high) in an order without pattern.
Tensor spread(const Shape& shape, double low = -2, double high = 2);
// Integers in [0, bound).
Tensor some_ids(const Shape& shape, int64_t bound);
// Truth values of both kinds.
Tensor some_bools(const Shape& shape);

// One function of one tensor on scalars, empty tensors and every layout.
void add_unary(SampleTable& table, std::string_view op, const std::function<Tensor(const Tensor&)>& f, double low = -2,
               double high = 2, const GradcheckOptions& options = {});
// One function of two tensors on every way to broadcast, and on mixed layouts. Where each element of the result depends
// on one side only (maximum), a result must have `at_least` elements for both sides to have a gradient.
void add_binary(SampleTable& table, std::string_view op, const std::function<Tensor(const Tensor&, const Tensor&)>& f,
                double low = -2, double high = 2, int64_t at_least = 0);
// The layouts of a tensor [a, b]: contiguous, transposed, every second column, reversed rows.
struct LaidOut {
  std::string label;
  Tensor x;
};
std::vector<LaidOut> layouts(int64_t rows, int64_t columns, double low = -2, double high = 2);

// f on [2, 3, 4] in memory of four kinds, and on what is expanded.
void add_cubes(SampleTable& table, std::string_view op, const std::string& label,
               const std::function<Tensor(const Tensor&)>& f);

// The gradient of f at x under dy, as a function of dy: for operations that only a backward records.
Tensor pulled_back(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, const Tensor& dy);

void add_elementwise_samples(SampleTable& table);
void add_function_samples(SampleTable& table);
void add_view_samples(SampleTable& table);
void add_shape_samples(SampleTable& table);
void add_index_samples(SampleTable& table);
void add_scatter_samples(SampleTable& table);
void add_reduction_samples(SampleTable& table);
void add_product_samples(SampleTable& table);
void add_loss_samples(SampleTable& table);
void add_pooling_samples(SampleTable& table);
void add_convolution_samples(SampleTable& table);
void add_recurrent_samples(SampleTable& table);
void add_linalg_samples(SampleTable& table);
void add_window_samples(SampleTable& table);
void add_long_attention_samples(SampleTable& table);
void add_convolution_samples(SampleTable& table);

}  // namespace tapegrad::tasks
