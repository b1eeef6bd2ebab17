// Mixed precision: matrix multiplications in bfloat16, everything else in float32.
#pragma once

#include <tapegrad/autograd/tensor.h>

namespace tapegrad {

/// While one is in scope on this thread, the operands of matrix multiplications of float32 tensors are rounded to
/// bfloat16, and their sums are float32: linear, matmul and the operations built on it (bmm, einsum, ...), and both
/// multiplications of scaled_dot_product_attention, but not the functions of linalg.h. Backward does the same for the
/// operations that were recorded in its scope, wherever backward runs. They keep half as much for backward, and are
/// faster on processors with AVX512_BF16.
///
///     tg::Tape tape;
///     tg::Tensor loss;
///     {
///       const tg::Autocast autocast(tg::kBFloat16);
///       loss = tg::cross_entropy(model(x), y);
///     }
///     adam.step(tape.backward(loss));
///
/// Parameters, their gradients, optimisers and all results stay float32, unlike with PyTorch's torch.autocast, where
/// results of matrix multiplications are bfloat16. A loss scale is not needed. float64 tensors are not affected.
class Autocast : NonCopyable {
 public:
  /// kFloat32 switches an enclosing Autocast off. Error for other types.
  explicit Autocast(DType dtype, bool enabled = true);
  ~Autocast();

  /// The type of matrix multiplications on this thread: kFloat32 without an Autocast.
  static DType dtype();

 private:
  friend Tensor rounded(const Tensor& x);
  // The last tensors that were rounded, by their places on a tape: query, key and value are products with one x.
  struct Rounded {
    const void* tape = nullptr;  // that recorded both
    TapeIndex of;
    Tensor values;
  };
  static constexpr int kRounded = 4;

  Autocast* const outer_;
  const DType dtype_;
  Rounded rounded_[kRounded];
  int next_ = 0;
};

}  // namespace tapegrad
