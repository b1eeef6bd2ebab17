// The inner loops of the optimisers: one pass over memory each, on n elements that stand side by side.
#pragma once

#include <cstdint>

namespace tapegrad::optim {

struct AdamStep {
  double beta1, beta2, eps;
  double step_size;   // lr / (1 - beta1^t)
  double bias2_sqrt;  // sqrt(1 - beta2^t)
  double l2 = 0;      // added to the gradient, times the parameter
  double shrink = 1;  // the parameter is multiplied by it first
};
void adam_update(int64_t n, float* p, float* m, float* v, const float* g, const AdamStep& step);
void adam_update(int64_t n, double* p, double* m, double* v, const double* g, const AdamStep& step);

struct SgdStep {
  double lr, momentum, dampening, l2;
  bool nesterov;
  bool first;  // the buffer holds nothing yet
};
// `buffer` is nullptr without momentum.
void sgd_update(int64_t n, float* p, float* buffer, const float* g, const SgdStep& step);
void sgd_update(int64_t n, double* p, double* buffer, const double* g, const SgdStep& step);

// Sums in double; the order depends on n alone.
double sum_of_squares(int64_t n, const float* x);
double sum_of_squares(int64_t n, const double* x);
// x *= factor.
void scale(int64_t n, float* x, double factor);
void scale(int64_t n, double* x, double factor);
// x is cut to [-limit, limit]; NaN stays.
void cut(int64_t n, float* x, double limit);
void cut(int64_t n, double* x, double limit);

}  // namespace tapegrad::optim
