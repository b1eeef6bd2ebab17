// One derivative from values of a function on both sides of a point, with an error that the values themselves show.
#pragma once

#include <cmath>
#include <functional>
#include <optional>
#include <vector>

namespace tapegrad::detail {

/// f at x, and at x + h and x - h for h = top, top/2, top/4, ... NaN where f could not be computed.
struct Line {
  double top = 0;
  double small = 0;  // with smaller steps, differences may be mostly rounding errors
  double middle = 0;
  double largest = 0;     // |value| at x of all results that depend on x: what f is computed from may be as large
  double cancelling = 0;  // the size of numbers that f may be a difference of
  double near = 0;        // the size of x and of the numbers next to it: from farther away, f may be another function
  double beside = 0;      // |derivative| of f by all of these numbers
  double steepest = 0;    // |f(x +- h) - f(x)| / h of the steps that are not small
  std::vector<double> above = {}, below = {};
};

struct Slope {
  double value = 0;            // by the step of the smallest error
  double error = 0;            // of value: rounding and truncation, both measured; infinite if no step can be used
  double rounding = INFINITY;  // the part of it that rounding errors are
  // Whether f has a kink or a jump at x, as far as its rounding errors allow to see; then the slopes of both sides, up
  // to `of_sides`.
  bool broken = false;
  double below = 0, above = 0, of_sides = 0;
};

/// `scale`: the size of x.
Slope slope_of(const Line& f, double scale);

/// Whether some steps give this derivative, and others contradict them: rounding errors that look like a smooth
/// function with another slope. Or many in succession give it, or those that are not far.
bool is_one_of_several(const Line& f, double derivative);

/// A slope by other steps, `by(part)` with all steps times `part`, that contradicts this one beyond the errors that
/// both claim: then neither is a reason to call a gradient wrong. Steps that are all halves of each other may meet a
/// function that oscillates at the same phases.
std::optional<double> contradicting(const Slope& slope, const std::function<Slope(double part)>& by);

}  // namespace tapegrad::detail
