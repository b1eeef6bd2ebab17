// Gradient checkpointing: intermediate results are computed again in backward instead of being kept.
#pragma once

#include <tapegrad/autograd/inplace_function.h>
#include <tapegrad/autograd/op.h>

namespace tapegrad::nn {

/// The function that recompute() runs twice: the same result for the same x, apart from random numbers.
using Recomputed = InplaceFunction<Tensor(const Tensor& x)>;

/// f(x), without keeping f's intermediate results: backward runs f once more, with the same random numbers (dropout
/// drops the same elements), and leaves generators as they are. Values and gradients are bit-identical to f(x) itself,
/// with one exception: if a tensor is used both inside and outside f, the parts of its gradient are added in another
/// order. f may use any other tensors and parameters: the tape finds the leaves and recorded tensors among them, and
/// they get their gradients, too. Objects that f refers to must outlive the tape, and f must compute the same both
/// times; backward raises an Error if f samples more or fewer random numbers than before. Cannot be differentiated
/// twice. Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016.
///
/// f may also read leaves without recording, for example as w.detach(). Optimizer::step(tape, loss) therefore updates
/// no parameter before backward has run f for the last time. With Reads::inputs, f promises to read leaves only through
/// recorded operations, and each parameter is updated as soon as its gradient is complete. Custom operations and hooks
/// in f keep their own Reads.
Tensor recompute(const Tensor& x, Recomputed f, Reads reads = Reads::anything);

}  // namespace tapegrad::nn
