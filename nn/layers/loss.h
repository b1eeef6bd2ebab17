// Losses over sequences.
#pragma once

#include <tapegrad/autograd/ops.h>

namespace tapegrad::nn {

using tapegrad::cross_entropy;

/// The loss of tutorial 003 (section 8.5.1, CopyLoss): the sum over all tokens of -log(softmax(outputs) + 1e-10) at the
/// target, divided by the batch size, not by the number of tokens. outputs [B, T, V], target [B, T] int64.
Tensor sequence_loss(const Tensor& outputs, const Tensor& target);

/// The fraction of sequences in which every token is predicted correctly.
double exact_match(const Tensor& outputs, const Tensor& target);

}  // namespace tapegrad::nn
