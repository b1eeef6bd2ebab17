// A hash of tensors, by which models on two machines can be compared.
#pragma once

#include <tapegrad/autograd/named_tensor.h>

#include <string>

namespace tapegrad {

/// A hash of every bit of the tensors, "3f9c 1c02 8d11 0a7e": 64 bits of XXH3, over the tensors in the order of their
/// names, so that the order of the list does not matter. For each tensor, beginning with h = 0:
/// - `h = XXH3_64bits_withSeed("name float32 [2, 3]", h)`,
/// - `h = XXH3_64bits_withSeed(values, h)`, with the values in row-major order, little-endian.
///
/// Equal tensors have equal hashes; tensors that differ by accident have the same hash with a probability of 2^-64. -0
/// and 0 differ, as do NaNs with different bits. For a model: bits_of(nn::state_dict(model)).
std::string bits_of(const NamedTensors& tensors);

}  // namespace tapegrad
