// A Jacobian by backward, compared with finite differences entry by entry.
#pragma once

#include <tapegrad/autograd/derivatives/internal/differences.h>
#include <tapegrad/autograd/gradcheck.h>
#include <tapegrad/autograd/random.h>

#include <exception>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::detail {

using Values = std::vector<double>;

bool same_bits(const Values& a, const Values& b);

/// The gradients of the leaves with the indices `wanted`, one after another; zeros for a leaf without a gradient.
Values gradients_in_row(Tape& tape, const Tensor& y, const BackwardOptions& options, std::span<const Tensor> leaves,
                        const std::vector<int>& wanted);

/// The function to check, the point x, and the names of outputs and inputs in error messages.
struct JacobianAt {
  int order;                                                                 // of the derivatives: 1 or 2
  std::function<Tensor(std::span<const Tensor> x)> value;                    // without a tape
  std::function<Tensor(Tape& tape, std::span<const Tensor> leaves)> record;  // on a tape
  std::vector<Tensor> x;
  std::vector<Tensor> packed;  // x, contiguous
  std::vector<int> wanted;     // which inputs are differentiated
  double cancelling;           // size of the terms that may cancel in any derivative
  std::function<std::string(int64_t output)> output_text;
  std::function<std::string(int input, int64_t index)> input_text;
};

class JacobianCheck {
 public:
  JacobianCheck(JacobianAt at, const GradcheckOptions& options, GradcheckReport& report)
      : j_(std::move(at)), options_(options), report_(report) {}

  /// Compares all entries. Returns for each wanted input whether its derivatives are zero everywhere.
  std::vector<bool> run();

 private:
  // Element `index` of an input; its derivatives are column `at` of the Jacobian.
  struct Place {
    int input;
    int64_t index;
    std::size_t at;
  };
  // By differences: the derivatives of all outputs at one place, and their errors if f rounds nothing but its result.
  struct Column {
    Values slope, rounding;
  };

  Values row_by_backward(std::size_t k, Generator* moves = nullptr, double part = 0);
  const Values& noise_of_row(std::size_t k);
  Column column(const Place& place, double h);
  Values evaluate_at(const Place& place, double move);
  std::vector<Line> lines_at(const Place& place, const std::vector<std::size_t>& outputs, double part = 1);
  double value_at(const Place& place) const;
  double scale_at(const Place& place) const;
  double largest_of(int input) const;
  double factors(const Place& place, std::size_t output) const;

  void check_column(const Place& place, const Column& first);
  bool settles(const Place& place, const Column& c, std::size_t k);
  bool accepts(const Place& place, std::size_t k, const Line& line);
  void mismatch(const Place& place, std::size_t k, double analytic, const Slope& slope);
  void note_undecidable(const Place& place, std::size_t k, std::string_view reason);
  void fail_as_unstable();
  void note_error(double error, double slope);
  double tolerance(double slope, double noise) const;
  std::string entry_text(const Place& place, std::size_t k) const;

  JacobianAt j_;
  const GradcheckOptions& options_;
  GradcheckReport& report_;
  std::vector<Values> rows_;  // the Jacobian by backward: [elements of the result, elements of all wanted inputs]
  std::size_t outputs_ = 0;   // elements of the result
  int wrong_columns_ = 0;
  std::map<std::size_t, Values> noise_;  // by row: rounding errors of backward, measured when needed
  double excess_ = 0;                    // error of the reported entry in units of its tolerance
  bool unstable_ = false;
  std::exception_ptr error_;  // the last Error that f threw near the point
};

}  // namespace tapegrad::detail
