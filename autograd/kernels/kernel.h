// Shared by operations: the division of rows among threads, and how every fused kernel is written.
//
// A fused kernel is one function for all element types, compiled once for each instruction set. Its arguments are a
// struct of a DType and untyped pointers, set with designated initialisers; it works on the rows [begin, end):
//
//   #define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/scale.cpp"  // this file
//   #include <tapegrad/autograd/kernels/simd/simd_targets.h>           // compiles it once for each instruction set
//
//   #include <tapegrad/autograd/kernels/kernel.h>
//   #include <tapegrad/autograd/kernels/simd/rows-inl.h>
//
//   #ifndef TAPEGRAD_SCALE_ARGS  // types that all instruction sets share
//   #define TAPEGRAD_SCALE_ARGS
//   namespace tapegrad {
//   struct ScaleArgs {
//     DType dtype;
//     int64_t n;  // elements in a row
//     const void* x;
//     void* y;
//   };
//   }  // namespace tapegrad
//   #endif
//
//   HWY_BEFORE_NAMESPACE();
//   namespace tapegrad::HWY_NAMESPACE {
//   void scale_rows(const ScaleArgs& args, int64_t begin, int64_t end) {
//     with_floating_type(args.dtype, [&]<class T>(T) {
//       ...
//     });
//   }
//   }  // namespace tapegrad::HWY_NAMESPACE
//   HWY_AFTER_NAMESPACE();
//
//   #if HWY_ONCE
//   namespace tapegrad {
//   HWY_EXPORT(scale_rows);
//   ...
//   run_rows(kernel_of(HWY_DISPATCH_TABLE(scale_rows)), {.dtype = ..., .n = n, .x = ..., .y = ...}, rows, n);
//   }  // namespace tapegrad
//   #endif  // HWY_ONCE
//
// A kernel that is not cut into rows has no `begin` and `end`; an elementwise one is a MapKernel (map.h).
#pragma once

#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/detail/pieces.h>
#include <tapegrad/autograd/kernels/processor.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/autograd/tape.h>

#include <algorithm>
#include <string_view>
#include <type_traits>

namespace tapegrad {

// --- rows ---

/// Rows of n elements for one thread to take at a time: about `elements` elements.
constexpr int64_t rows_grain(int64_t n, int64_t elements = 16384) {
  return std::max<int64_t>(1, elements / std::max<int64_t>(n, 1));
}

/// Runs a kernel on `rows` rows of n elements, on several threads.
template <class Args>
void run_rows(void (*kernel)(const Args&, int64_t, int64_t), const std::type_identity_t<Args>& args, int64_t rows,
              int64_t n, int64_t elements = 8192) {
  parallel_for(rows, rows_grain(n, elements), [&](int64_t begin, int64_t end) { kernel(args, begin, end); });
}

/// Whether stores of y go past the caches: none of them would hold it until it is read.
inline bool is_streamed(const Tensor& y) {
  return y.defined() && y.numel() * item_size(y.dtype()) > largest_cache_bytes();
}

// --- operands: an empty handle stays empty ---

/// x, or a contiguous copy that is not recorded.
inline Tensor packed(const Tensor& x) { return !x.defined() || x.is_contiguous() ? x : x.detach().contiguous(); }
/// x, or a contiguous copy that is recorded.
inline Tensor contiguous_or_empty(const Tensor& x) { return x.defined() ? x.contiguous() : Tensor(); }
inline const void* data_or_null(const Tensor& x) { return x.defined() ? x.raw_data() : nullptr; }
inline void* mutable_data_or_null(const Tensor& x) { return x.defined() ? x.mutable_raw_data() : nullptr; }

/// For backward: x if it is wanted, an empty handle otherwise.
inline Tensor kept_if(bool wanted, const Tensor& x) { return wanted ? x : Tensor(); }

// --- axes ---

/// A shape as [outer, size, inner] around one axis.
struct OuterAxisInner {
  int64_t outer = 1, size = 1, inner = 1;
  OuterAxisInner(const Shape& shape, int axis) : size(shape[axis]) {
    for (int i = 0; i < axis; ++i) outer *= shape[i];
    for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  }
};

/// A scalar has one axis for operations along an axis: 0, or -1.
inline bool is_scalar_axis(const Tensor& x, int64_t axis) { return x.dim() == 0 && (axis == 0 || axis == -1); }

/// f(x) along the last axis, for any axis of x: x is transposed before, the results after. f returns a Tensor or a pair
/// of them.
template <class F>
auto along_last_axis(std::string_view where, const Tensor& x, int64_t axis, F f) {
  const auto moved = [](auto y, auto back) {
    if constexpr (std::is_same_v<decltype(y), Tensor>) {
      return back(y);
    } else {
      return decltype(y){back(y.first), back(y.second)};
    }
  };
  if (is_scalar_axis(x, axis)) return moved(f(x.reshape({1})), [](const Tensor& y) { return y.reshape({}); });
  const int i = normal_axis(where, axis, x.shape());
  if (i == x.dim() - 1) return f(x);
  return moved(f(x.transpose(i, -1)), [i](const Tensor& y) { return y.transpose(i, -1); });
}

}  // namespace tapegrad
