// Which of many finite differences to believe, and how far.
#include <tapegrad/autograd/derivatives/internal/differences.h>

#include <algorithm>
#include <limits>
#include <span>

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
  // change to the next smaller steps, and to all smaller ones whose rounding errors leave a slope to be seen: from
  // afar, a function may be another one, or a quick oscillation look flat.
  std::vector<Slope> slopes() const {
    std::vector<Slope> all(static_cast<std::size_t>(count_), {.value = NAN, .error = INFINITY});
    double noise = -1;
    for (int j = count_ - 1; j > 0; --j) {
      const double a1 = at(f_.above, j), a2 = at(f_.above, j - 1), b1 = at(f_.below, j), b2 = at(f_.below, j - 1);
      const double value = (8 * (a1 - b1) - (a2 - b2)) / (12 * step(j));
      const bool constant = a1 == a2 && a1 == b1 && b1 == b2;
      if (!std::isfinite(value) || (constant && step(j) < f_.small)) continue;  // constant: one step of rounding errors
      for (int i = noise < 0 ? std::max(1, j - kSmallest) : j; i <= j; ++i) noise = std::max(noise, noise_at(i));
      // A constant may be 1 + something too small to be seen.
      const double rounding =
          kEpsilon * std::max({std::abs(a1), std::abs(b1), f_.largest, f_.cancelling, constant ? 1.0 : 0.0});
      const double unsure = 4 * (noise + rounding) / step(j);
      double error = unsure;
      for (int i = j + 1; i < std::min(j + 7, count_); ++i) {
        const double smaller = all[static_cast<std::size_t>(i)].value;
        if (std::isfinite(smaller)) error = std::max(error, 2 * std::abs(value - smaller));
      }
      for (int i = j + 1; i < count_; ++i) {
        const Slope& smaller = all[static_cast<std::size_t>(i)];
        if (smaller.rounding <= 0.5 * std::abs(smaller.value))
          error = std::max(error, 2 * std::abs(value - smaller.value) - smaller.rounding);
      }
      all[static_cast<std::size_t>(j)] = {.value = value, .error = error, .rounding = unsure};
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
        found.of_sides = room;
        found.below = left(j);
        found.above = right(j);
      }
      found.broken = true;
    }
  }

 private:
  static constexpr int kSmallest = 8;  // steps whose rounding errors are taken together
  static double at(const std::vector<double>& values, int j) { return values[static_cast<std::size_t>(j)]; }
  double step(int j) const { return std::ldexp(f_.top, -j); }
  // The size of third and fourth differences, as if they were rounding errors of one value; 0 where they are not
  // finite.
  double noise_at(int j) const {
    const double a1 = at(f_.above, j), a2 = at(f_.above, j - 1), b1 = at(f_.below, j), b2 = at(f_.below, j - 1);
    const double third = std::abs(a2 - 2 * a1 + 2 * b1 - b2),
                 fourth = std::abs(a2 - 4 * a1 + 6 * f_.middle - 4 * b1 + b2);
    return std::isfinite(third + fourth) ? std::max(third / std::sqrt(10.0), fourth / std::sqrt(70.0)) : 0;
  }
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

Slope smallest_error(std::span<const Slope> all) { return *std::ranges::min_element(all, {}, &Slope::error); }

// By the steps that are not far.
Slope nearest(const Line& f, const std::vector<Slope>& all) {
  std::size_t first = 0;
  for (double step = f.top; step > 2 * f.near && first + 1 < all.size(); step /= 2) ++first;
  return smallest_error(std::span(all).subspan(first));
}

bool contradicts(const Slope& a, const Slope& b) { return std::abs(a.value - b.value) > a.error + b.error; }

// The slope of the smallest error; among the steps that are not far if these know it well enough next to the others.
Slope best_of(const Line& f, const std::vector<Slope>& all) {
  const Slope near = nearest(f, all);
  return near.error <= 1e-7 * f.beside ? near : smallest_error(all);
}

}  // namespace

Slope slope_of(const Line& f, double scale) {
  const Levels levels(f);
  const Slope slope = best_of(f, levels.slopes());
  if (slope.error <= 1e-5 * std::abs(slope.value) + 1e-6 * f.largest / scale) return slope;
  Slope sides = slope;
  levels.find_break(sides);
  // What the point shows from farther away may be no break from nearby.
  const auto [low, high] = std::minmax(sides.below, sides.above);
  const double apart = std::max({low - slope.value, slope.value - high, 0.0});
  return sides.broken && apart <= slope.error + sides.of_sides ? sides : slope;
}

namespace {

// Whether this is the derivative of the best one of four steps or more in succession that agree, each known to a
// twentieth.
bool is_of_a_run(const std::vector<Slope>& all, double derivative) {
  const auto is_sure = [&](std::size_t i) { return all[i].rounding <= 0.05 * std::abs(all[i].value); };
  const auto apart = [&](std::size_t i) { return std::abs(all[i].value - all[i - 1].value); };
  for (std::size_t first = 1, end = 2; first < all.size(); first = end++) {
    if (!is_sure(first)) continue;
    while (end < all.size() && is_sure(end) && apart(end) <= all[end].rounding + all[end - 1].rounding) ++end;
    if (end - first < 4) continue;
    std::size_t best = first;
    for (std::size_t i = first; i < end; ++i)
      if (all[i].rounding < all[best].rounding) best = i;
    double error = all[best].rounding;
    if (best > first) error = std::max(error, apart(best));
    if (best + 1 < end) error = std::max(error, apart(best + 1));
    if (std::abs(derivative - all[best].value) <= error) return true;
  }
  return false;
}

// Whether six steps in succession give this derivative to more than six digits: rounding errors do not, however large
// they may be next to what the function is computed from.
bool is_of_a_long_run(const std::vector<Slope>& all, double derivative) {
  int run = 0;
  for (const Slope& s : all) {
    run = std::abs(s.value - derivative) <= 3e-7 * std::abs(derivative) ? run + 1 : 0;
    if (run == 6) return derivative != 0;
  }
  return false;
}

}  // namespace

bool is_one_of_several(const Line& f, double derivative) {
  const std::vector<Slope> all = Levels(f).slopes();
  if (is_of_a_run(all, derivative) || is_of_a_long_run(all, derivative)) return true;
  const Slope best = smallest_error(all), near = nearest(f, all);
  const auto agrees = [&](const Slope& s, double least) {
    return std::abs(derivative - s.value) <= s.error && s.error <= least && contradicts(best, s);
  };
  if (agrees(near, 0.5 * f.beside)) return true;
  // Of what f may be the small remainder is not known.
  const bool tiny = std::abs(derivative) * f.near <= 64 * kEpsilon;
  if ((tiny || near.error <= 0.02 * f.beside) && std::abs(derivative - near.value) <= 2 * near.error) return true;
  return std::ranges::any_of(all, [&](const Slope& s) { return agrees(s, 0.1 * std::abs(derivative)); });
}

std::optional<double> contradicting(const Slope& slope, const std::function<Slope(double part)>& by) {
  for (const double part : {0.625, 0.875}) {
    const Slope other = by(part);
    if (contradicts(other, slope)) return other.value;
  }
  return {};
}

}  // namespace tapegrad::detail
