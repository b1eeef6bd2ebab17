// A solution of exercise 003-8.4.
#include <tapegrad/tapegrad.h>

#include <algorithm>
#include <cmath>

struct NoamOpt {
  int64_t d_model;
  double factor;
  int64_t warmup;
  int64_t step = 0;

  double rate() {
    const double s = static_cast<double>(++step);
    return factor * std::pow(d_model, -0.5) * std::min(std::pow(s, -0.5), s * std::pow(warmup, -1.5));
  }
};
