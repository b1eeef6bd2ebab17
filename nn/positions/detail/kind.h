// What the file of a positional encoding includes: the definition of position_kind, and checks that encodings share.
#pragma once

#include <tapegrad/nn/position_kind.h>

#include <cstdint>
#include <string_view>

namespace tapegrad::nn {

template <class Kind>
const PositionKind& position_kind() {
  static const Kind kind;
  return kind;
}

namespace detail {

inline constexpr std::string_view kPositions = "positions";  // in errors

// Returns `dim`, the size of a vector. Error unless it is positive.
int64_t checked_dim(int64_t dim);
// An option that is a size; 0: the width of the model.
inline Setting size_setting(std::string_view name, std::string_view help) {
  return {.name = name, .help = help, .limits = kNotNegative, .special = "0: the width of the model"};
}
inline int64_t size_or(int64_t size, int64_t dim) { return size > 0 ? size : dim; }
// Error "[positions] expected causal positions with a cache, got others".
void require_causal(bool causal, const KVCache* cache);
// [max_positions, dim]. Error unless both are positive.
Shape table_shape(int64_t max_positions, int64_t dim);
// Error for positions beyond a table.
void require_within(int64_t length, int64_t max_positions);
// x with zeros at padding; x with `width` - 1 rows more for a convolution: zeros, or the cache's earlier tokens.
Tensor without_padding(const Tensor& x, const Tensor& mask);
Tensor with_surroundings(const Tensor& x, int64_t width, bool causal, KVCache* cache);
// x [B, W, C] convolved with `weight` [O, C / groups, width] -> [B, T, O].
Tensor convolved(const Tensor& x, const Tensor& weight, int64_t groups);

}  // namespace detail
}  // namespace tapegrad::nn
