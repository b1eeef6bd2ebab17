// Activation checkpointing: intermediate results are computed again in backward instead of being kept.
#pragma once

#include <tapegrad/autograd/inplace_function.h>
#include <tapegrad/autograd/tensor.h>

#include <vector>

namespace tapegrad::nn {

using Recomputed = InplaceFunction<Tensor(const Tensor& x)>;

// f(x), of which a tape keeps x alone: backward runs f once more, with the default generator set back to where it
// stood, so that dropout drops the same. The gradients are the same bits. `parameters` are the leaves that f uses; what
// f refers to must outlive the tape. Cannot be differentiated twice. Chen et al. 2016.
Tensor recompute(const Tensor& x, const std::vector<Tensor>& parameters, Recomputed f);

}  // namespace tapegrad::nn
