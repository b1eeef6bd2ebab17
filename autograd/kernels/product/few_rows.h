// Products of a few rows with weights that are read once, from memory: what generation spends its time on.
#pragma once

#include <cstdint>
#include <span>

namespace tapegrad {

/// Elements of a row of an int8 weight that share a scale. Rows are padded with zeros to whole groups.
inline constexpr int64_t kInt8Group = 64;
inline constexpr int64_t int8_groups(int64_t columns) {
  return columns / kInt8Group + (columns % kInt8Group > 0 ? 1 : 0);
}

enum class WeightFormat : uint8_t { float32, bfloat16, int8 };

/// A weight W [n, k] with contiguous rows, and where its product goes.
struct StreamedWeight {
  WeightFormat format = WeightFormat::float32;
  int64_t n = 0;
  const void* data = nullptr;     // int8: rows of int8_groups(k) groups
  const float* scales = nullptr;  // int8: [n, int8_groups(k)]
  const float* bias = nullptr;    // [n], or none
  float* c = nullptr;             // [m, n]
};

/// The most rows for which reading W is what takes the time.
inline constexpr int64_t kFewRows = 16;

/// C [m, n] = A [m, k] W^T + bias for each of the weights, in one parallel loop; rows of A are contiguous, m is at most
/// kFewRows. The sums of a row of C do not depend on the other rows: the same bits for every m.
void multiply_few_rows(int64_t m, int64_t k, const float* a, std::span<const StreamedWeight> weights);

/// The same with one weight, which is not float32, for any m: if there are many rows, W is converted to float32.
void multiply_rows(int64_t m, int64_t k, const float* a, const StreamedWeight& weight);

/// Rows of k numbers to int8 and back: w = scale q with q from -127 to 127, and scale the largest |w| of a group / 127.
void round_to_int8(const float* w, int64_t rows, int64_t k, int8_t* q, float* scales);
void widen_int8(const int8_t* q, const float* scales, int64_t rows, int64_t k, float* w);

}  // namespace tapegrad
