// Limited-memory BFGS: a quasi-Newton method for deterministic losses.
#pragma once

#include <tapegrad/autograd/gradients.h>
#include <tapegrad/autograd/named_tensor.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string_view>

namespace tapegrad::optim {

struct LBFGSOptions {
  double lr = 1;                             ///< step length; with strong_wolfe, the first that the line search tries
  int64_t max_iterations = 20;               ///< per call of step()
  std::optional<int64_t> max_evaluations{};  ///< per call of step(); default: 5/4 of max_iterations
  double tolerance_grad = 1e-7;              ///< stop when no element of the gradient is larger
  double tolerance_change = 1e-9;            ///< stop when the loss, or every parameter, changes by less
  int64_t history_size = 100;                ///< number of stored pairs of parameter and gradient changes
  bool strong_wolfe = false;                 ///< line search for a point that meets the strong Wolfe conditions
};

/// A loss and its gradients.
struct Evaluation {
  double loss;      ///< what is minimised
  Gradients grads;  ///< of all parameters
};

/// Minimises a loss over all parameters together. Each iteration moves along an approximation of -H^-1 g computed from
/// the last steps; the loss must be the same function throughout a call. Computed as in PyTorch, except at points where
/// the loss or its gradient is not finite: there, the line search takes a shorter step. Nocedal, Wright 2006, chapters
/// 3 and 7.
///
///   optim::LBFGS lbfgs(nn::parameters(model), {.strong_wolfe = true});
///   for (int i = 0; i < 20; ++i) {
///     double loss = lbfgs.step([&] {
///       Tape tape;
///       Tensor loss = mse_loss(model(x), y);
///       return optim::Evaluation{loss.item(), tape.backward(loss)};
///     });
///   }
class LBFGS {
 public:
  /// Error for no parameters, for one that is not a leaf, for different types, and for options out of range.
  explicit LBFGS(NamedTensors parameters, LBFGSOptions options = {});

  /// Runs at most max_iterations iterations. Returns the loss before the first one. A parameter without a gradient
  /// keeps its value. Error if the loss or a gradient is not finite at the start, after a step of fixed length (after
  /// the last step of a call: in the next call), or at every point of the first line search. The parameters then have
  /// the values of the last point where both were finite. If a later line search finds no finite point, the call ends
  /// without an Error.
  double step(const std::function<Evaluation()>& evaluate);

  /// LBFGSOptions::lr. set_lr: Error for a negative rate.
  double lr() const { return options_.lr; }
  void set_lr(double lr);
  int64_t iterations() const { return iterations_; }    ///< in all calls of step()
  int64_t evaluations() const { return evaluations_; }  ///< of the loss, in all calls of step()

  /// What an exact continuation needs in addition to the parameters. load_state: Error with the name of a missing
  /// or mis-shaped entry; nothing is changed then.
  NamedTensors state() const;
  void load_state(const NamedTensors& state);

 private:
  struct Point {
    double loss;      // infinite where it or the gradient is not finite
    Tensor gradient;  // of all parameters, as one vector
  };
  struct Trial {
    double t;  // distance along the direction
    Point point;
    double slope;  // of the loss in the direction
  };
  Point evaluate(const std::function<Evaluation()>& f);
  Point evaluate_at(const Tensor& row, const Tensor& good, const std::function<Evaluation()>& f);
  Point start(const std::function<Evaluation()>& f);
  void move(Point& now, const std::function<Evaluation()>* f);
  [[noreturn]] void fail_at(const Tensor& good, std::string_view where);
  Tensor values() const;
  void set_values(const Tensor& row);
  void remember(const Tensor& gradient);
  Tensor newton_direction(const Tensor& gradient) const;
  Trial search(const std::function<Evaluation()>& f, const Trial& start, double t, int64_t most);

  struct Step {
    Tensor y, s;     // change of the gradient, and of the parameters
    double inverse;  // 1 / <y, s>
  };
  NamedTensors parameters_;
  LBFGSOptions options_;
  int64_t numel_ = 0;
  int64_t iterations_ = 0, evaluations_ = 0;
  std::deque<Step> history_;
  Tensor direction_, last_gradient_;  // of the last iteration, as one vector
  double t_ = 0;                      // distance that it moved along direction_
  bool found_finite_ = false;         // the last line search has evaluated a point with finite values
  Tensor before_;                     // the values before a step of fixed length whose end was not evaluated
  double scale_ = 1;                  // of the first approximation of the inverse Hessian
};

}  // namespace tapegrad::optim
