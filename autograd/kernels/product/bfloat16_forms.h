// The forms of products in bfloat16, one or two for each kernel family, all with the same bits; only
// bfloat16_product.cpp and tests use them.
//
// Every element of C is one sum in float32. It starts at 0, or at the old C, and takes the pairs of k in order, of each
// pair the odd element first: s = fma(a[2p + 1], b[2p + 1], s), then s = fma(a[2p], b[2p], s). The last pair of an odd
// k has zeros. Each step is rounded to nearest even; denormal operands and results are zeros; NaN is 0x7fc00000. That
// is what the instruction vdpbf16ps does (Intel's manual, volume 2), NaN apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tapegrad::rounded_product {

/// Rows of A or columns of B, to be packed side by side, `width` of them in a strip.
struct Strips {
  const void* from;
  bool narrow;          // bfloat16; otherwise float32, to be rounded
  int64_t lanes;        // rows or columns
  int64_t lane_stride;  // in elements
  int64_t k, k_stride;
  int64_t width;
  float* to;
  int64_t step;  // from one strip to the next
};

/// `rows` rows of memory of `width` bytes that are needed soon: a kernel prefetches lines of them, `at_once` after
/// every kEvery pairs.
struct Lines {
  static constexpr int64_t kEvery = 16;
  const std::byte* at = nullptr;
  int64_t rows = 0, width = 0, step = 0;  // bytes
  int64_t at_once = 0;
  int64_t done = 0;  // bytes of the row at `at`
};

/// C = A B of one sliver and one panel, or C += A B. Rows of C are contiguous.
struct Block {
  int64_t pairs;
  const float* sliver;
  const float* panel;
  float* c;
  int64_t c_rows;
  int64_t rows, cols;  // at most those of the form
  bool add;
  const float* next_c = c;  // where C is written next, prefetched
  Lines* ahead = nullptr;
};

struct Form {
  std::string_view name;
  int64_t rows, cols;  // of C in registers: the width of a sliver and of a panel
  int64_t depth;       // the largest block along k, even: a panel of it stays in the first-level cache
  int64_t words;       // words of 4 bytes that a packed pair takes: 1, or 2 where it is widened to float32

  void (*pack)(const Strips& strips);
  void (*multiply)(const Block& block);

  /// Words of a strip with `width` lanes of at most `depth` elements along k, with what packing may write after it.
  int64_t strip_size(int64_t width) const { return (depth / 2 * words * width + 31) / 16 * 16; }
};

/// Those of the kernel family in use that this processor can run, the fastest first.
const std::vector<const Form*>& forms();

/// One step of the rule above, wherever denormals are kept or zeros.
float step(float a, float b, float sum);

/// The innermost kernel with vdpbf16ps, for 14 x 32 elements of C. has_dot_instruction() must be true.
void multiply_with_dot_instruction(const Block& block);
/// Whether this processor has vdpbf16ps, and computes what its manual says.
bool has_dot_instruction();

}  // namespace tapegrad::rounded_product
