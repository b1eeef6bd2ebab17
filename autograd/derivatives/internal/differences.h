// A derivative by finite differences, with an error that is estimated from the function values themselves.
#pragma once

#include <cmath>
#include <functional>
#include <optional>
#include <vector>

namespace tapegrad::detail {

/// f at x (middle), x + h (above) and x - h (below) for h = top, top/2, top/4, ... NaN where f could not be computed.
struct Line {
  double top = 0;
  double small = 0;  // with smaller steps, differences may be mostly rounding errors
  double middle = 0;
  double largest = 0;     // largest |result| at x that depends on x: the operands of f may be as large
  double cancelling = 0;  // the size of numbers that f may be a difference of
  double near = 0;        // the size of x and of the other elements of its tensor: longer steps may mislead
  double beside = 0;      // largest |derivative| of f with respect to these elements
  double steepest = 0;    // largest (|f(x + h) - f(x)| + |f(x - h) - f(x)|) / h with h >= small
  std::vector<double> above = {}, below = {};
};

struct Slope {
  double value = 0;            // from the step with the smallest error
  double error = 0;            // of value: rounding and truncation, both measured; infinite if no step can be used
  double rounding = INFINITY;  // the part of `error` that is due to rounding
  // Whether f has a kink or a jump at x that its rounding errors do not hide; then `below` and `above` are the slopes
  // of the two sides, with an error of `of_sides`.
  bool broken = false;
  double below = 0, above = 0, of_sides = 0;
};

/// `scale`: the size of x.
Slope slope_of(const Line& f, double scale);

/// Whether the differences of some steps support `derivative` although others contradict it: several consecutive steps,
/// or the steps near x. Rounding errors can look like a smooth function with another slope.
bool is_one_of_several(const Line& f, double derivative);

/// The slope by other steps (`by(part)`: all steps times `part`) if it contradicts `slope` beyond both errors: then
/// neither proves a gradient wrong. Steps that are halves of each other may sample an oscillation at equal phases.
std::optional<double> contradicting(const Slope& slope, const std::function<Slope(double part)>& by);

}  // namespace tapegrad::detail
