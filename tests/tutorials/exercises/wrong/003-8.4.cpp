// expected: 003-8.4: wrong. rates with a warm-up of 3 steps, number 1: expected 0.0481, got 0.0000
#include <tapegrad/tapegrad.h>

#include <algorithm>
#include <cmath>

// The first step is 0.
struct NoamOpt {
  int64_t d_model;
  double factor;
  int64_t warmup;
  int64_t step = 0;

  double rate() {
    const double s = static_cast<double>(step++);
    return factor * std::pow(d_model, -0.5) * std::min(std::pow(s, -0.5), s * std::pow(warmup, -1.5));
  }
};
