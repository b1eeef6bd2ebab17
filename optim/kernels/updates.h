// The inner loops of the optimisers: each makes one pass over elements [begin, end) of contiguous tensors.
#pragma once

#include <tapegrad/autograd/dtype.h>

#include <cstdint>

namespace tapegrad::optim {

struct AdamStep {
  DType dtype;  // of all tensors
  void *p, *m, *v;
  void* v_max = nullptr;  // AMSGrad: the largest v so far
  const void* g;
  double beta1, beta2, eps;
  double step_size;   // lr / (1 - beta1^t)
  double bias2_sqrt;  // sqrt(1 - beta2^t)
  double l2 = 0;      // times the parameter, added to the gradient
  double shrink = 1;  // the parameter is multiplied by it first
};
void adam_update(const AdamStep& step, int64_t begin, int64_t end);

struct SgdStep {
  DType dtype;
  void* p;
  void* buffer;  // nullptr without momentum
  const void* g;
  double lr, momentum, dampening, l2;
  bool nesterov;
  bool first;  // the buffer has no value yet
};
void sgd_update(const SgdStep& step, int64_t begin, int64_t end);

// NAdam and RAdam: p -= (grad_rate g + m_rate m) / (sqrt(v / bias2) + eps), or p -= m_rate m if not `adaptive`.
struct AdaptiveStep {
  DType dtype;
  void *p, *m, *v;
  const void* g;
  double beta1, beta2, eps, l2;
  double grad_rate = 0, m_rate = 0;
  double bias2 = 1;
  bool adaptive = true;
};
void adaptive_update(const AdaptiveStep& step, int64_t begin, int64_t end);

struct RmsPropStep {
  DType dtype;
  void *p, *v;
  void* mean;      // nullptr if not centred
  void* momentum;  // nullptr without momentum
  const void* g;
  double lr, alpha, eps, decay, l2;  // decay: the momentum's
};
void rmsprop_update(const RmsPropStep& step, int64_t begin, int64_t end);

struct AdagradStep {
  DType dtype;
  void *p, *sum;
  const void* g;
  double lr, eps, l2;
};
void adagrad_update(const AdagradStep& step, int64_t begin, int64_t end);

struct AdamaxStep {
  DType dtype;
  void *p, *m, *u;
  const void* g;
  double beta1, beta2, eps, l2;
  double rate;  // lr / (1 - beta1^t)
};
void adamax_update(const AdamaxStep& step, int64_t begin, int64_t end);

struct AdadeltaStep {
  DType dtype;
  void *p, *v, *w;
  const void* g;
  double lr, rho, eps, l2;
};
void adadelta_update(const AdadeltaStep& step, int64_t begin, int64_t end);

struct LionStep {
  DType dtype;
  void *p, *m;
  const void* g;
  double lr, beta1, beta2, shrink;
};
void lion_update(const LionStep& step, int64_t begin, int64_t end);

// Sums in double; the order depends only on the number of elements.
double sum_of_squares(DType dtype, const void* x, int64_t begin, int64_t end);
// x *= factor.
void scale(DType dtype, void* x, double factor, int64_t begin, int64_t end);
// Clamps x to [-limit, limit]; NaN stays.
void clamp(DType dtype, void* x, double limit, int64_t begin, int64_t end);

}  // namespace tapegrad::optim
