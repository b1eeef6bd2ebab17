// Matrix products: matmul with broadcast leading axes, and its forms with fixed axes.
#include <tapegrad/autograd/detail/op_timer.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/matrices.h>
#include <tapegrad/autograd/ops/detail/rounded.h>
#include <tapegrad/autograd/ops/product/detail/one_matrix.h>

#include <algorithm>

namespace tapegrad {
namespace {

const RuledOp kMatmul{"matmul", RowRule::product};

template <class T>
MatrixView<T> result(const Tensor& y) {
  return {y.mutable_data<T>(), y.strides()[-2], y.strides()[-1]};
}

// The product of each matrix of a batch; y is fresh, with the leading axes that those of a and b broadcast to.
template <class T>
void multiply_batch(const Tensor& a, const Tensor& b, bool narrow, const Tensor& y) {
  const int64_t m = y.size(-2), n = y.size(-1), k = a.size(-1);
  if (y.dim() == 2) return multiply_matrices<T>(a, b, narrow, result<T>(y));
  const Shape batch = leading_axes(y);
  const Offsets from_a = matrix_starts(a, batch), from_b = matrix_starts(b, batch), from_y = matrix_starts(y, batch);
  const auto offsets = [&](int64_t i) -> BatchOffset {
    const auto at = static_cast<std::size_t>(i);
    return {from_a[at], from_b[at], from_y[at]};
  };
  if constexpr (std::is_same_v<T, float>) {
    if (narrow) {
      return batched_rounded_gemm(batch.numel(), m, n, k, rounded_view(a), rounded_view(b), false, result<T>(y),
                                  offsets);
    }
  }
  batched_gemm<T>(batch.numel(), m, n, k, T{1}, matrix_view<T>(a), matrix_view<T>(b), T{0}, result<T>(y), offsets);
}

[[noreturn]] void fail_product(std::string_view where, std::string_view wanted, const Tensor& a, const Tensor& b) {
  fail(where, "expected {}, got {} and {}", wanted, a.shape(), b.shape());
}

// a' b + a b', of those that are given.
[[gnu::cold]] Tensor tangent_of(const Tensor& a, const Tensor& b, bool narrow, std::span<const Tensor> t) {
  if (!t[1].defined()) return matmul_of(t[0], b, narrow);
  const Tensor y = matmul_of(a, t[1], narrow);
  return t[0].defined() ? add(y, matmul_of(t[0], b, narrow)) : y;
}

}  // namespace

Tensor matmul_of(const Tensor& left, const Tensor& right, bool narrow) {
  const OpTimer timer(kMatmul, {left, right});
  const int64_t k = left.size(-1);
  require(k == right.size(-2), kMatmul, "inner sizes differ: {} @ {} ({} against {})", left.shape(), right.shape(), k,
          right.size(-2));
  const bool wants_a = needs_grad(left), wants_b = needs_grad(right);
  const Tensor a = narrow && wants_b ? rounded(left) : left, b = narrow && wants_a ? rounded(right) : right;
  const DType dtype = narrow ? kFloat32 : a.dtype();
  const bool one_matrix = b.dim() == 2;  // then a's leading axes are just more rows
  Tensor y;
  if (one_matrix) {
    y = Tensor::empty(with_size(a.shape(), -1, b.size(-1)), dtype);
    with_floating_type(dtype, [&](auto t) {
      multiply_batch<decltype(t)>(rows_of(a.detach()), b, narrow,
                                  y.view({y.numel() / std::max<int64_t>(1, y.size(-1)), y.size(-1)}, {y.size(-1), 1}));
    });
  } else {
    const Shape batch = broadcast(kMatmul.name, leading_axes(a), leading_axes(b));
    y = Tensor::empty(with_axes(batch, {a.size(-2), b.size(-1)}), dtype);
    with_floating_type(dtype, [&](auto t) { multiply_batch<decltype(t)>(a, b, narrow, y); });
  }
  if (!wants_a && !wants_b) return y;
  return record(kMatmul, y, {a, b},
                [a = kept_if(wants_b, a), b = kept_if(wants_a, b), one_matrix, narrow](
                    const Tensor& dy, const BackwardPass& pass) -> Grads {
                  if (pass.is_forward()) return tangent_of(a, b, narrow, pass.tangents);
                  Tensor da, db;
                  if (b.defined() && pass.wants(0)) da = matmul_of(dy, b.t(), narrow);
                  if (!a.defined() || !pass.wants(1)) return {da, db};
                  if (one_matrix && pass.examples > 0 && has_rows_of(a, pass.examples)) {
                    db = products_by_example(a, dy, pass.examples, narrow);
                  } else {
                    db = one_matrix ? matmul_of(rows_of(a).t(), rows_of(dy), narrow) : matmul_of(a.t(), dy, narrow);
                  }
                  return {da, db};
                });
}

Tensor products_by_example(const Tensor& a, const Tensor& b, int64_t examples, bool narrow) {
  const Tensor x = rows_by_example(a, examples), y = rows_by_example(b, examples);
  return x.size(1) != 1 || narrow ? matmul_of(x.t(), y, narrow) : outer_products(x, y);
}

Tensor matmul(const Tensor& a, const Tensor& b) {
  require_floating(kMatmul.name, {&a, &b});
  require(a.dim() != 0 && b.dim() != 0, kMatmul,
          "expected operands with at least one axis, got {} @ {} (use * for scalars)", a.shape(), b.shape());
  Tensor y = matmul_of(a.dim() == 1 ? a.unsqueeze(0) : a, b.dim() == 1 ? b.unsqueeze(1) : b, multiplies_rounded(a, b));
  if (b.dim() == 1) y = y.squeeze(-1);
  return a.dim() == 1 ? y.squeeze(b.dim() == 1 ? -1 : -2) : y;
}

Tensor bmm(const Tensor& a, const Tensor& b) {
  if (a.dim() != 3 || b.dim() != 3 || a.size(0) != b.size(0) || a.size(2) != b.size(1)) {
    fail_product("bmm", "[B, m, k] and [B, k, n]", a, b);
  }
  return matmul(a, b);
}

Tensor mv(const Tensor& a, const Tensor& b) {
  if (a.dim() != 2 || b.dim() != 1 || a.size(1) != b.size(0)) fail_product("mv", "[m, n] and [n]", a, b);
  return matmul(a, b);
}

Tensor dot(const Tensor& a, const Tensor& b) {
  if (a.dim() != 1 || !(a.shape() == b.shape())) fail_product("dot", "[n] and [n]", a, b);
  return matmul(a, b);
}

Tensor outer(const Tensor& a, const Tensor& b) {
  if (a.dim() != 1 || b.dim() != 1) fail_product("outer", "[m] and [n]", a, b);
  return a.unsqueeze(1) * b;
}

}  // namespace tapegrad
