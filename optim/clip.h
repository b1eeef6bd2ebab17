// Clipping of gradients, between backward and step.
#pragma once

#include <tapegrad/autograd/tape.h>
#include <tapegrad/optim/optimizer.h>

namespace tapegrad::optim {

/// Scales the gradients of all leaves by max_norm / (norm + 1e-6) if that is below 1, as PyTorch does. Returns the norm
/// of all of them before scaling. Error unless max_norm > 0, and if the norm is not finite.
double clip_grad_norm(Gradients& grads, double max_norm);
/// The same for the parameters of an optimiser: where it ignores gradients of other leaves (Optimizer::allow_unknown),
/// they are removed first, and do not count.
double clip_grad_norm(Gradients& grads, double max_norm, const Optimizer& optimizer);

/// Clamps every element to [-limit, limit]. Error unless limit > 0.
void clip_grad_value(Gradients& grads, double limit);

}  // namespace tapegrad::optim
