// The elementwise pass under all elementwise operations: broadcasting, strides, pieces and threads, around a kernel
// that sees contiguous rows only.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <initializer_list>

namespace tapegrad {

// y[i] = f(x0[i], x1[i], ...) for n elements that stand side by side; x holds one pointer an operand.
using MapKernel = void (*)(const void* const* x, void* y, int64_t n, const void* context);

inline constexpr int kMaxOperands = 6;

// Fills y (fresh, contiguous) from operands that broadcast to its shape. An operand that is not laid out as y is read
// through a small buffer in the first-level cache. The cut depends on y's size alone, and the kernel may run on several
// threads.
void map(const Tensor& y, std::initializer_list<const Tensor*> operands, MapKernel kernel,
         const void* context = nullptr);

// Copies x, in row-major order, to y (fresh, contiguous, same element type and number of elements; x broadcasts to y).
void copy_into(const Tensor& y, const Tensor& x);

}  // namespace tapegrad
