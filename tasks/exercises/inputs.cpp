// Tensors that several exercises are checked with.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tasks/exercises/inputs.h>

namespace tapegrad::tasks::exercises {

Tensor sentence() {
  return tensor({{0.43, 0.15, 0.89},    // Your
                 {0.55, 0.87, 0.66},    // journey
                 {0.57, 0.85, 0.64},    // starts
                 {0.22, 0.58, 0.33},    // with
                 {0.77, 0.25, 0.10},    // one
                 {0.05, 0.80, 0.55}});  // step
}

Tensor scores_of_words() {
  return tensor({{0.9, 0.7, 0.3, 0.2}, {0.6, 0.8, 0.9, 0.4}, {0.2, 0.5, 0.7, 0.9}, {0.4, 0.3, 0.8, 0.6}});
}

Tensor numbers_of(const Shape& shape) {
  // i -> (37 i + 11) mod 101: distinct for 101 numbers, and exact in float32 before the last division.
  const Tensor mixed = remainder(arange(shape.numel()) * 37 + 11, 101).to(kFloat32);
  return ((mixed - 50) / 25).reshape(shape);
}

}  // namespace tapegrad::tasks::exercises
