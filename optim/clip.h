// Clipping of gradients, between backward and step.
#pragma once

#include <tapegrad/autograd/random.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/optim/optimizer.h>

#include <vector>

namespace tapegrad::optim {

/// Scales the gradients of all leaves by max_norm / (norm + 1e-6) if that is below 1, as PyTorch does. Returns the norm
/// of all of them before scaling. Error unless max_norm > 0, and if the norm is not finite.
double clip_grad_norm(Gradients& grads, double max_norm);
/// The same for the parameters of an optimiser. Gradients of other leaves that it ignores (Optimizer::ignore) are
/// removed first, and do not count.
double clip_grad_norm(Gradients& grads, double max_norm, const Optimizer& optimizer);

/// For gradients per example (per_example.h), each [B, ...]. Scales the gradients of each example by max_norm / (norm +
/// 1e-6) if that is below 1; the norm is taken over all leaves. Then replaces each gradient by its sum over the
/// examples, in its leaf's shape. Returns the norms before scaling. This is the clipping of DP-SGD, Abadi et al. 2016.
/// Error unless max_norm > 0, if gradients have different numbers of examples, and if a norm is not finite.
std::vector<double> clip_per_example(Gradients& grads, double max_norm);
/// Adds independent normal noise of this standard deviation to every element of the gradients of leaves. It comes from
/// `generator`, or from the global one; neither is a cryptographic source of randomness. Error unless std >= 0.
void add_noise(Gradients& grads, double std, Generator* generator = nullptr);

/// Clamps every element to [-limit, limit]. Error unless limit > 0.
void clip_grad_value(Gradients& grads, double limit);

}  // namespace tapegrad::optim
