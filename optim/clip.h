// Clipping of gradients, between backward and step.
#pragma once

#include <tapegrad/autograd/tape.h>

namespace tapegrad::optim {

// Scales all gradients by max_norm / (norm + 1e-6) where that is below 1. Returns the norm over all of them, before.
// PyTorch's formula. Error unless max_norm > 0, and when the norm is not finite.
double clip_grad_norm(Gradients& grads, double max_norm);

// Clamps every element to [-limit, limit]. Error unless limit > 0.
void clip_grad_value(Gradients& grads, double limit);

}  // namespace tapegrad::optim
