// The loop of all elementwise operations: broadcasting, strides and threads, around a kernel for contiguous rows.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <initializer_list>
#include <span>

namespace tapegrad {

/// y[i] = f(x0[i], x1[i], ...) for n contiguous elements; x holds one pointer per operand.
using MapKernel = void (*)(const void* const* x, void* y, int64_t n, const void* context);

inline constexpr int kMaxOperands = 12;

/// Whether memory bandwidth limits a kernel (light), or it computes for about as long (heavy).
enum class MapWork : bool { light, heavy };

/// Fills y (fresh, contiguous) from operands that broadcast to its shape. An operand with another layout than y is read
/// through a small buffer in the L1 cache. Results of light work that no cache can hold are stored past the caches. The
/// kernel may run on several threads; the division into pieces depends only on y's size. Error for operands in
/// bfloat16, float16, uint8 or int32, in which no kernel computes.
void map(const Tensor& y, std::span<const Tensor* const> operands, MapKernel kernel, const void* context = nullptr,
         MapWork work = MapWork::heavy);
inline void map(const Tensor& y, std::initializer_list<const Tensor*> operands, MapKernel kernel,
                const void* context = nullptr, MapWork work = MapWork::heavy) {
  map(y, std::span(operands.begin(), operands.size()), kernel, context, work);
}
/// The same for a kernel that moves or converts elements: operands may have any type.
void map_any_type(const Tensor& y, std::span<const Tensor* const> operands, MapKernel kernel,
                  const void* context = nullptr, MapWork work = MapWork::heavy);
inline void map_any_type(const Tensor& y, std::initializer_list<const Tensor*> operands, MapKernel kernel,
                         const void* context = nullptr, MapWork work = MapWork::heavy) {
  map_any_type(y, std::span(operands.begin(), operands.size()), kernel, context, work);
}

}  // namespace tapegrad
