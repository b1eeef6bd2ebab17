// Which of many finite differences to believe, and how far.
// build: -Os
#include <tapegrad/autograd/derivatives/detail/differences.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tapegrad::detail {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// Levels are numbered from the largest step. Level j has the points x +- h and x +- 2h.
class Levels {
 public:
  explicit Levels(const Line& f) : f_(f), count_(static_cast<int>(f.above.size())) {}

  // The difference of every level, with its error. Third and fourth differences consist of rounding errors where the
  // step is small, and of what the step is too long for where it is large. A level's error takes the largest ones of
  // this level and of all smaller steps (that two of them are small by chance means nothing), and is no less than the
  // change to the next smaller steps.
  std::vector<Slope> slopes() const {
    std::vector<Slope> all(static_cast<std::size_t>(count_), {.value = NAN, .error = INFINITY});
    double noise = 0;
    for (int j = count_ - 1; j > 0; --j) {
      const double a1 = at(f_.above, j), a2 = at(f_.above, j - 1), b1 = at(f_.below, j), b2 = at(f_.below, j - 1);
      const double value = (8 * (a1 - b1) - (a2 - b2)) / (12 * step(j));
      const bool constant = a1 == a2 && a1 == b1 && b1 == b2;
      if (!std::isfinite(value) || (constant && step(j) < f_.small)) continue;  // constant: one step of rounding errors
      const double third = a2 - 2 * a1 + 2 * b1 - b2, fourth = a2 - 4 * a1 + 6 * f_.middle - 4 * b1 + b2;
      noise = std::max({noise, std::abs(third) / std::sqrt(10.0), std::abs(fourth) / std::sqrt(70.0)});
      // A constant may be 1 + something too small to be seen.
      const double rounding = kEpsilon * std::max({std::abs(a1), std::abs(b1), f_.largest, constant ? 1.0 : 0.0});
      double error = 4 * (noise + rounding) / step(j);
      for (int i = j + 1; i < std::min(j + 7, count_); ++i) {
        const double smaller = all[static_cast<std::size_t>(i)].value;
        if (std::isfinite(smaller)) error = std::max(error, 2 * std::abs(value - smaller));
      }
      all[static_cast<std::size_t>(j)] = {.value = value, .error = error};
    }
    return all;
  }

  // A kink: the slopes of the two sides, without the point itself, stay apart as the step shrinks (those of a smooth
  // function approach each other). A jump: f(x + h) - f(x - h) keeps a part that the slopes do not explain. Looks at
  // the smallest steps whose rounding errors allow it, and then for the step that knows the slopes best.
  void find_break(Slope& found) const {
    const double noise = side_noise();
    double room = INFINITY;
    for (int j = count_ - 1; j > 4; --j) {
      const double error = 4 * noise / step(j);
      const bool kink = lasts(apart(j), apart(j - 2), apart(j - 4), 8 * error);
      if (!kink && !lasts(jump(j), jump(j - 2), jump(j - 4), 24 * noise)) {
        if (found.broken) return;
        continue;
      }
      const double change = std::abs(right(j) - right(j - 2)) + std::abs(left(j) - left(j - 2));
      if (!found.broken || error + change < room) {
        room = error + change;
        found.error = room;
        found.below = left(j);
        found.above = right(j);
      }
      found.broken = true;
    }
  }

 private:
  static double at(const std::vector<double>& values, int j) { return values[static_cast<std::size_t>(j)]; }
  double step(int j) const { return std::ldexp(f_.top, -j); }
  double right(int j) const { return (at(f_.above, j - 1) - at(f_.above, j)) / step(j); }
  double left(int j) const { return (at(f_.below, j) - at(f_.below, j - 1)) / step(j); }
  double apart(int j) const { return right(j) - left(j); }
  double jump(int j) const { return at(f_.above, j) - at(f_.below, j) - step(j) * (right(j) + left(j)); }

  static bool lasts(double near, double far, double farther, double least) {
    const auto alike = [](double a, double b) { return std::abs(a) > 0.6 * std::abs(b); };
    return std::abs(near) > least && alike(near, far) && alike(far, near) && alike(far, farther) && alike(farther, far);
  }

  // The rounding error of one value, from small steps, each side by itself: a break at x is none of its sides.
  double side_noise() const {
    double noise = kEpsilon * f_.largest;
    for (int j = count_ - 2; j > 0 && step(j) < f_.small; --j) {
      const double change = std::max(std::abs(right(j) - right(j + 1)), std::abs(left(j) - left(j + 1))) * step(j);
      if (!std::isfinite(change)) continue;
      noise = std::max({noise, change / std::sqrt(14.0), kEpsilon * std::abs(at(f_.above, j)),
                        kEpsilon * std::abs(at(f_.below, j))});
    }
    return noise;
  }

  const Line& f_;
  const int count_;
};

Slope smallest_error(const std::vector<Slope>& all) { return *std::ranges::min_element(all, {}, &Slope::error); }

}  // namespace

Slope slope_of(const Line& f, double scale) {
  const Levels levels(f);
  const Slope slope = smallest_error(levels.slopes());
  if (slope.error <= 1e-5 * std::abs(slope.value) + 1e-6 * f.largest / scale) return slope;
  Slope sides = slope;
  levels.find_break(sides);
  // What the point shows from farther away may be no break from nearby.
  const auto [low, high] = std::minmax(sides.below, sides.above);
  const double apart = std::max({low - slope.value, slope.value - high, 0.0});
  return sides.broken && apart <= slope.error + sides.error ? sides : slope;
}

bool is_one_of_several(const Line& f, double derivative) {
  const std::vector<Slope> all = Levels(f).slopes();
  const Slope best = smallest_error(all);
  return std::ranges::any_of(all, [&](const Slope& s) {
    return std::abs(derivative - s.value) <= s.error && s.error <= 0.1 * std::abs(derivative) &&
           std::abs(best.value - s.value) > s.error + best.error;
  });
}

}  // namespace tapegrad::detail
