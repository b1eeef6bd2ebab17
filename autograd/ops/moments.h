// Sums in float64 for the normalisations.
#pragma once

namespace tapegrad {

/// The sum of some numbers, and the sum of their squared differences from the mean.
struct Moments {
  double count = 0;
  double sum = 0;
  double squares = 0;

  double mean() const { return sum / count; }
  double variance() const { return squares / count; }
  /// Joins two sets of numbers. Chan, Golub, LeVeque 1983.
  void add(const Moments& other) {
    if (other.count == 0) return;
    if (count > 0) {
      const double apart = other.mean() - mean();
      squares += other.squares + apart * apart * (count * other.count / (count + other.count));
    } else {
      squares = other.squares;
    }
    count += other.count;
    sum += other.sum;
  }
};

/// The sums for the gradient of a normalisation.
struct GradientSums {
  double dy = 0;
  double dy_x = 0;  // dy times (x - mean)

  void add(const GradientSums& other) {
    dy += other.dy;
    dy_x += other.dy_x;
  }
};

}  // namespace tapegrad
