// What the sections of a certificate share: the model as a function, points, directions, and measurements.
#pragma once

#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/certify/detail/along.h>
#include <tapegrad/nn/certify/detail/objective.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tapegrad::nn::detail {

/// Where a check is made: a point, and a mode of the model.
struct Place {
  std::string name;  // "as given, train"
  const Point& x;
  bool training;
};

class Context {
 public:
  Context(const CertifiedModel& single, const CertifiedModel& wide, const std::vector<Tensor>& batch,
          const CertifyOptions& options);

  const CertifyOptions& options;
  Objective single, wide;  ///< the model in float32 and in float64
  Generator generator;     ///< of directions
  Certificate page;

  /// Every point in every mode.
  std::vector<Place> places() const;
  const std::string& name_of(std::size_t variable) const { return wide.variables()[variable].name; }
  std::vector<CertificateLine>& section(std::string title, std::string about);
  void skip(std::string what) { page.unchecked.push_back(std::move(what)); }

  /// Normal numbers of the size of each variable, or of 0.02 where that is less: a bias begins with 0.
  Point direction(double scale = 1);
  /// x with each element changed by a few units in its last place, so that rounding errors differ.
  Point nearby(const Point& x);

  /// <gradient, v> against differences of the loss.
  Measured measure(const Point& x, const Point& gradient, const Point& v, const Steps& steps = {});
  /// Steps for many directions at one point.
  Steps few_steps(const Point& x, const Point& v);
  /// A wrong gradient is wrong in at least one operation, and a check of each operation by itself is not disturbed by
  /// kinks of others: if all are right, or backward's rounding errors explain the gap, the verdict becomes unknown.
  Measured confirmed(Measured m, const Point& x, const Point& v);
  /// The worst verdict about single operations; wrong if they cannot be checked.
  Verdict of_operations(const Point& x, const Point& v);
  /// Whether rounding errors of `analytic`, a derivative at x, explain what m has found.
  bool is_rounding(const Measured& m, const Point& x, const std::function<double(const Point&)>& analytic);

 private:
  Point point_of(const std::string& name, const NamedTensors& state) const;
  void describe(const CertifiedModel& model, const std::vector<Tensor>& batch);
  std::vector<std::pair<std::string, Point>> points_;
};

/// Whether all tensors are bit-identical.
bool same_bits(const Point& a, const Point& b);
/// The worst and least certain first.
bool worse(const CertificateLine& a, const CertificateLine& b);

// Each of these functions adds a section to the certificate; in their order.

/// Of the loss itself; false if it differs when it is computed again: then nothing else can be checked.
bool loss_section(Context& c);
void directions_section(Context& c);
void taylor_section(Context& c);
void tensors_section(Context& c);
void operations_section(Context& c);
void single_precision_section(Context& c);
void equal_bits_section(Context& c);
void examples_section(Context& c);
void control_section(Context& c);

}  // namespace tapegrad::nn::detail
