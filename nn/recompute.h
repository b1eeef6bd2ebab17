// Activation checkpointing: intermediate results are computed again in backward instead of being kept.
#pragma once

#include <tapegrad/autograd/inplace_function.h>
#include <tapegrad/autograd/tensor.h>

namespace tapegrad::nn {

using Recomputed = InplaceFunction<Tensor(const Tensor& x)>;

/// f(x), without keeping f's intermediate results: backward runs f once more, in which generators give the same draws
/// (dropout drops the same elements) and are left as they are. Values are the same bits as without, gradients too, but
/// for the last bits of a tensor that is used several times, inside and outside of f: its parts are added in another
/// order.
/// f may use any other tensors and parameters: the tape finds the leaves and recorded tensors among them, and they get
/// their gradients, too. What f refers to must outlive the tape, and f must compute the same both times. Cannot be
/// differentiated twice. Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016.
Tensor recompute(const Tensor& x, Recomputed f);

}  // namespace tapegrad::nn
