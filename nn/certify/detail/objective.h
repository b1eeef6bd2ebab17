// The loss of a model as a function of its parameters and floating inputs.
#pragma once

#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/certify_options.h>
#include <tapegrad/nn/module.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tapegrad::nn::detail {

/// Values of all variables, or a direction; an empty handle in a direction is zero.
using Point = std::vector<Tensor>;

/// The values as leaves, for a tape that records them.
Point leaves_at(const Point& x);
/// x + t v.
Point moved(const Point& x, const Point& v, double t);
/// sum of a_i b_i over everything; and of |a_i b_i|.
double inner(const Point& a, const Point& b);
double inner_size(const Point& a, const Point& b);
/// The Euclidean norm.
double norm_of(const Tensor& x);
/// The square root of the mean square; 0 for no elements.
double rms(const Tensor& x);

class Objective {
 public:
  /// A parameter, or a floating tensor of the batch.
  struct Variable {
    std::string name;
    Parameter* parameter;  // nullptr: of the batch
    std::size_t input;     // index in the batch
  };

  /// Floating tensors of the batch get the type of the model, `dtype`.
  Objective(const CertifiedModel& model, const std::vector<Tensor>& batch, DType dtype, uint64_t seed);

  const std::vector<Variable>& variables() const { return variables_; }
  const Point& start() const { return start_; }
  /// The padding row of an embedding's table: it has no gradient, although the loss may depend on it.
  struct PaddingRow {
    std::size_t variable;
    int64_t row;
  };
  const std::vector<PaddingRow>& padding() const { return padding_; }
  bool has_modes() const { return !modes_.empty(); }
  void set_training(bool training) const;

  double value(const Point& x);
  /// The loss, recorded on the caller's tape; `leaves` come from as_leaf().
  Tensor record(const Point& leaves);
  /// Zeros for variables that take no part in the loss; `has_none`, if given, is set to which these are.
  Point gradient(const Point& x, std::vector<bool>* has_none = nullptr);
  /// v^T H v; Error if an operation cannot be differentiated twice.
  double curvature(const Point& x, const Point& v);
  /// The same loss for a part of the batch: rows [begin, end) of every tensor with as many rows as the first one.
  double value_of_rows(const Point& x, int64_t begin, int64_t end);
  Point gradient_of_rows(const Point& x, int64_t begin, int64_t end);
  /// Rows of the first tensor of the batch; 0 if it has none.
  int64_t rows() const;

 private:
  std::vector<Tensor> batch_at(const Point& x) const;
  Tensor loss_at(const Point& x, std::vector<Tensor> batch);
  Point gradient_with(const Point& x, const std::function<std::vector<Tensor>(std::vector<Tensor>)>& part,
                      std::vector<bool>* has_none);
  std::vector<Tensor> rows_of(std::vector<Tensor> batch, int64_t begin, int64_t end) const;

  const CertifiedModel& model_;
  std::vector<Tensor> batch_;
  const uint64_t seed_;
  std::vector<Variable> variables_;
  Point start_;
  std::vector<PaddingRow> padding_;
  const std::vector<bool*> modes_;
  std::vector<std::pair<Buffer*, Tensor>> buffers_;  // and their values, which each call begins with
};

}  // namespace tapegrad::nn::detail
