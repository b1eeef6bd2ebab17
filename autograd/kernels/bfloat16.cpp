// bfloat16: conversions of many values.
#include <tapegrad/autograd/kernels/bfloat16.h>
#include <tapegrad/autograd/parallel.h>

namespace tapegrad {
namespace {

constexpr int64_t kGrain = 32768;  // elements for one thread to convert at a time

}  // namespace

void widen_bfloat16(const uint16_t* x, int64_t n, float* y) {
  parallel_for(n, kGrain, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = widen_bfloat16(x[i]);
  });
}

void round_to_bfloat16(const float* x, int64_t n, uint16_t* y) {
  parallel_for(n, kGrain, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = round_to_bfloat16(x[i]);
  });
}

}  // namespace tapegrad
