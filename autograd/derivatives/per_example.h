// Gradients per example: of every loss of a batch, from one forward and one backward pass.
//
//   Tape tape;
//   const Tensor losses = cross_entropy(model(x), y, {.reduction = Reduction::none});           // [B]
//   Gradients grads = tape.backward(losses, {.per_example = true});                    // of each leaf, [B, ...]
//
// A step of differentially private training (DP-SGD, Abadi et al. 2016) clips them, adds them up and adds noise:
//
//   optim::clip_per_example(grads, max_norm);                                          // of each leaf, its own shape
//   optim::add_noise(grads, noise_multiplier * max_norm, &generator);
//   grads *= 1.0 / batch_size;
//   optimizer.step(grads);
//
// grads[w][b] is the gradient of losses[b] for w. A parameter that is used several times gets the sum over all uses.
//
// How it works. Rows belong to examples by their order: the first axis of a result that depends on the batch is B, or a
// multiple of B with the rows of an example next to each other (tokens of [B, T, C] as [B * T, C]). Where such a result
// meets a parameter, the parameter's gradient is not summed over the first axis. This is so in linear, matmul (with one
// matrix on the right; thus also in einsum where it is such a product), embedding, layer_norm, layer_norm_std,
// rms_norm, group_norm, instance_norm, convolutions and their transposes; in all operations where a parameter without
// the axis of the batch is broadcast to it (bias, scale, learned positions); and in operations on parameters alone (a
// sum of weights, a transpose, a low-rank product), which run once per example. Every other operation on a parameter,
// such as batch_norm_training or a recurrent layer, throws an Error that names it. A custom operation can compute
// gradients per example, too (BackwardPass::examples).
//
// Where another axis also has B elements, it could be that of the examples (time before batch). Operations of usual
// networks are known to keep examples apart; with others, backward runs twice: an Error if a gradient has parts of
// several losses.
//
// Batches of one example or none have no such limits. Memory is needed for B gradients of each parameter.
#pragma once

#include <tapegrad/autograd/tape.h>

namespace tapegrad {

/// Error if losses [B] of this tape do not have gradients per example: if the loss of an example depends on other
/// examples, or if rows are in another order (time before batch, for example). Runs backward with per_example twice and
/// keeps the tape: call it for the first batch, before the real backward.
void require_separate_examples(Tape& tape, const Tensor& losses);

}  // namespace tapegrad
