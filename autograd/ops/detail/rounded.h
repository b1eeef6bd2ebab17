// Operands of matmuls in bfloat16: when Autocast rounds them, how backward keeps them, and how kernels read them.
#pragma once

#include <tapegrad/autograd/autocast.h>
#include <tapegrad/autograd/kernels/product/bfloat16_product.h>
#include <tapegrad/autograd/op.h>

namespace tapegrad {

/// x, float32, as backward keeps it: in bfloat16 and x's layout. Recorded: its gradient, float32, is x's. A leaf is
/// returned unchanged, because its float32 values exist anyway.
Tensor rounded(const Tensor& x);
/// Records y, which is x in another type, as the operation `to`.
Tensor record_as_to(const Tensor& x, const Tensor& y);

/// Whether matmuls of a and b are computed in bfloat16.
inline bool multiplies_rounded(const Tensor& a, const Tensor& b) {
  return Autocast::dtype() == kBFloat16 && a.dtype() == kFloat32 && b.dtype() == kFloat32;
}

/// The last two axes of x, float32 or bfloat16, `offset` elements from its start.
inline RoundedView rounded_view(const Tensor& x, int64_t offset = 0) {
  return {static_cast<const std::byte*>(x.raw_data()) + offset * item_size(x.dtype()), x.dtype() == kBFloat16,
          x.strides()[-2], x.strides()[-1]};
}

/// matmul of operands with two axes or more; with `narrow`, of float32 or bfloat16, computed by rounded_gemm.
Tensor matmul_of(const Tensor& a, const Tensor& b, bool narrow);

}  // namespace tapegrad
