// Matrix products whose operands are rounded to bfloat16 and whose sums are float32.
#pragma once

#include <tapegrad/autograd/kernels/product/bfloat16_forms.h>
#include <tapegrad/autograd/kernels/product/blas.h>

#include <cstdint>

namespace tapegrad {

/// An operand: element (i, j) is data[i * row_stride + j * col_stride], in bfloat16, or in float32 that the product
/// rounds (to nearest, ties to even).
struct RoundedView {
  const void* data = nullptr;
  bool narrow = false;  // bfloat16
  int64_t row_stride = 0, col_stride = 0;
};

/// C = A B, or C += A B, with A [m, k], B [k, n], C [m, n]. The elements of C must be distinct. Every element is summed
/// in one order (bfloat16_forms.h): the same bits for any number of threads, in every kernel family, and for A and B
/// exchanged.
void rounded_gemm(int64_t m, int64_t n, int64_t k, RoundedView a, RoundedView b, bool add, MatrixView<float> c,
                  Epilogue done = {});

/// The same for each index of a batch, as batched_gemm.
void batched_rounded_gemm(int64_t batch, int64_t m, int64_t n, int64_t k, RoundedView a, RoundedView b, bool add,
                          MatrixView<float> c, BatchOffsets offsets);

namespace rounded_product {
/// rounded_gemm in one form.
void multiply(const Form& form, int64_t m, int64_t n, int64_t k, RoundedView a, RoundedView b, bool add,
              MatrixView<float> c, Epilogue done = {});
}  // namespace rounded_product

}  // namespace tapegrad
