// Products of a few rows with weights that are read once, from memory: most of the time of generation is spent here.
#pragma once

#include <tapegrad/autograd/detail/pieces.h>
#include <tapegrad/autograd/parallel.h>

#include <algorithm>
#include <cstdint>
#include <span>

namespace tapegrad {

struct StreamedWeight;

/// C[:, begin:end] = A W^T + bias for rows [begin, end) of W: A has m rows of k elements, in float32 or as rounded. The
/// sums of a row of C do not depend on the other rows: the same bits for every m.
using MultiplyRows = void (*)(const StreamedWeight& w, int64_t begin, int64_t end, int64_t m, int64_t k, const void* a);

/// Products in integers (integer_rows-inl.h).
struct IntegerKernels {
  int64_t (*rounded_bytes)(int64_t m, int64_t k);
  void (*round)(int64_t m, int64_t k, const float* a, void* to);  // rows of A, contiguous
  MultiplyRows multiply;
};

/// Whether the processor has the instruction vpdpbusd for vectors of 512 bits.
bool has_byte_dot();

/// How the rows of a weight are stored in memory, and the kernels for that.
struct RowsFormat {
  int64_t group = 1;         // elements of a row that are kept together; zeros follow the last ones, to whole groups
  int64_t group_bytes = 0;   // of the values of a group
  int64_t group_scales = 0;  // float32 numbers of a group, apart from its values

  MultiplyRows multiply = nullptr;                 // of float32 rows that are contiguous
  IntegerKernels (*integers)(bool dot) = nullptr;  // instead: of rounded rows, of any number; dot: with the instruction
  /// Rows of k elements to float32, on several threads.
  void (*widen)(const void* data, const float* scales, int64_t rows, int64_t k, float* w) = nullptr;
  /// And from float32; none if tensors of that type are converted as such.
  void (*narrow)(const float* w, int64_t rows, int64_t k, void* data, float* scales) = nullptr;

  int64_t groups(int64_t columns) const { return columns / group + (columns % group > 0 ? 1 : 0); }
  int64_t row_bytes(int64_t columns) const { return groups(columns) * (group_bytes + 4 * group_scales); }
};

extern const RowsFormat kFloat32Rows, kFloat16Rows, kBFloat16Rows;

/// A weight W [n, k] with contiguous rows, and where its product goes.
struct StreamedWeight {
  const RowsFormat* format = nullptr;
  int64_t n = 0;
  const void* data = nullptr;     // [n, groups of k]
  const float* scales = nullptr;  // [n, scales of these groups]
  const float* bias = nullptr;    // [n], or none
  float* c = nullptr;             // [m, n]

  void store(int64_t row, int64_t column, float sum) const {
    c[row * n + column] = bias == nullptr ? sum : sum + bias[column];
  }
};

/// The largest number of rows for which most of the time is spent on reading W.
inline constexpr int64_t kFewRows = 16;

/// C [m, n] = A [m, k] W^T + bias for each of the weights, in one parallel loop; rows of A are contiguous, m is at most
/// kFewRows, or the weights are integers. The same bits for every m and any number of threads.
void multiply_few_rows(int64_t m, int64_t k, const float* a, std::span<const StreamedWeight> weights);

/// The same with one weight, which is not float32, for any m: if there are many rows, W is converted to float32
/// unless it is integers.
void multiply_rows(int64_t m, int64_t k, const float* a, const StreamedWeight& weight);

/// Calls f(group, offset, count) for each group of the rows of a matrix [rows, k]: its number, the offset of its first
/// element in the matrix, and its elements. On several threads.
void for_each_group(int64_t rows, int64_t k, int64_t group, const auto& f) {
  constexpr int64_t kElements = 64 << 10;  // for one thread to take at a time
  const int64_t groups = pieces_of(k, group);
  parallel_for(rows, std::max<int64_t>(1, kElements / (k + 1)), [&](int64_t begin, int64_t end) {
    for (int64_t at = begin * groups; at < end * groups; ++at) {
      const int64_t first = at % groups * group;
      f(at, at / groups * k + first, std::min(group, k - first));
    }
  });
}

}  // namespace tapegrad
