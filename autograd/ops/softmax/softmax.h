// Softmax and its logarithm; of floating tensors.
#pragma once

#include <tapegrad/autograd/tensor.h>

namespace tapegrad {

/// exp(x) / sum(exp(x)) along an axis; zeros, with gradient 0, where all of x is -inf.
Tensor softmax(const Tensor& x, int64_t axis = -1);
/// The logarithm of softmax; -inf, with gradient 0, where all of x is -inf.
Tensor log_softmax(const Tensor& x, int64_t axis = -1);
/// softmax and log_softmax of x.to(dtype).
inline Tensor softmax(const Tensor& x, int64_t axis, DType dtype) { return softmax(x.to(dtype), axis); }
inline Tensor log_softmax(const Tensor& x, int64_t axis, DType dtype) { return log_softmax(x.to(dtype), axis); }

}  // namespace tapegrad
