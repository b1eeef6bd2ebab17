// ALiBi: the distance times a fixed slope per head is subtracted from the scores. Press, Smith, Lewis 2022.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <cstdint>

namespace tapegrad::nn {

/// The slope of every head, [H]: 2^(-8h/H), h = 1 .. H, for a power of two. For other numbers of heads: the slopes of
/// the largest power of two below H, followed by every second slope of the next power.
Tensor alibi_slopes(int64_t heads, DType dtype = kFloat32);
/// -slope * |distance|, [1, H, T, S].
Tensor alibi_bias(int64_t heads, int64_t queries, int64_t keys, int64_t start = 0, DType dtype = kFloat32);

}  // namespace tapegrad::nn
