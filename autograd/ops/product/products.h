// Matrix multiplication, and sums of products by subscripts.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <initializer_list>
#include <span>
#include <string_view>

namespace tapegrad {

// --- matrix multiplication (autograd/ops/product/matmul.cpp): float32 or float64 ---

/// a [..., m, k] @ b [..., k, n] -> [..., m, n]; leading axes broadcast. A vector on either side is treated as in
/// NumPy. Error for scalars, for different types, and for different inner sizes.
Tensor matmul(const Tensor& a, const Tensor& b);
/// x [..., in], weight [out, in], bias [out] or empty -> x weight^T + bias, [..., out]. The weight may be bfloat16 or
/// float16 if x is float32 and needs no gradient.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});
/// a [B, m, k] @ b [B, k, n] -> [B, m, n], with exactly these axes.
Tensor bmm(const Tensor& a, const Tensor& b);
/// a [m, n] @ b [n] -> [m].
Tensor mv(const Tensor& a, const Tensor& b);
/// The sum of a * b, a scalar; a and b are [n].
Tensor dot(const Tensor& a, const Tensor& b);
/// a [m], b [n] -> [m, n] with elements a[i] * b[j]. The types of mul.
Tensor outer(const Tensor& a, const Tensor& b);

// --- sums and products that are made of these (autograd/ops/product/product_composed.cpp) ---

struct AddProductOptions {
  double beta = 1;   ///< the factor of x; with 0, x is not read, so that its NaN has no effect and it gets no gradient
  double alpha = 1;  ///< the factor of the product
};
/// beta x + alpha a b: a [m, k], b [k, n], and x that broadcasts to [m, n]. float32 or float64, the same for all.
Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b, const AddProductOptions& options = {});
/// The same for batches: a [B, m, k], b [B, k, n], and x that broadcasts to [B, m, n].
Tensor baddbmm(const Tensor& x, const Tensor& a, const Tensor& b, const AddProductOptions& options = {});
/// The cross product of vectors of three elements along an axis, which counts from the end of the shape that a and b
/// broadcast to. The types of mul, without bool.
Tensor cross(const Tensor& a, const Tensor& b, int64_t axis = -1);
/// The Kronecker product: each element of a times all of b; axis i of the result is a.size(i) * b.size(i) long. Missing
/// leading axes count as 1; at most 4 axes. The types of mul.
Tensor kron(const Tensor& a, const Tensor& b);

// --- sums of products (autograd/ops/product/einsum.cpp): float32, float64 or int64, the same for all operands ---

/// Sums of products by subscripts, as in torch.einsum: "bthd,bshd->bhts". An operand has one letter per axis. Axes with
/// the same letter have the same size, or size 1, which broadcasts. Letters that are not in the output are summed.
/// "..." matches any other axes, which broadcast. Without "->" the output has the axes of "...", then the letters that
/// occur once, in ASCII order. A letter that occurs twice in one operand takes the diagonal. Spaces are ignored.
/// Operands are multiplied in pairs, in the order with the fewest multiplications (for nine or more operands: the
/// cheapest pair first). The result may be a view with permuted axes.
Tensor einsum(std::string_view equation, std::span<const Tensor> operands);
Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands);
/// Sums over the last `count` axes of a and the first `count` of b, which have equal sizes -> [other axes of a, other
/// axes of b].
Tensor tensordot(const Tensor& a, const Tensor& b, int64_t count = 2);
/// Sums over axis axes_a[i] of a and axis axes_b[i] of b for each i. Their sizes are equal, or 1, which broadcasts.
Tensor tensordot(const Tensor& a, const Tensor& b, const Axes& axes_a, const Axes& axes_b);

}  // namespace tapegrad
