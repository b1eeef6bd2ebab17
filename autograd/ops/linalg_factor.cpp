// Factorizations: cholesky, qr; determinants: det, slogdet.
#include <fmt/format.h>
#include <tapegrad/autograd/kernels/householder.h>
#include <tapegrad/autograd/kernels/lapack.h>
#include <tapegrad/autograd/kernels/triangular.h>
#include <tapegrad/autograd/linalg.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/matrices.h>

#include <cmath>

namespace tapegrad {
namespace {

const Op kCholesky{"cholesky"};
const Op kQr{"qr"};
const Op kDet{"det"};
const Op kSlogdet{"slogdet"};

constexpr int64_t kFew = 32 * 32;  // up to this number of elements our own qr is faster than LAPACK

Tensor lower_factor(const Tensor& a) {
  const int64_t n = a.size(-1);
  const Tensor factors = a.clone();
  with_floating_type(a.dtype(), [&](auto t) {
    using T = decltype(t);
    for_each_matrix(kCholesky, "expected a positive definite matrix, got one that is not", leading_axes(a),
                    n * n * n / 6,
                    [&](int64_t i) { return factor_cholesky<T>(n, factors.mutable_data<T>() + i * n * n); });
  });
  const Tensor y = tril(factors);
  return record(kCholesky, y, {a}, [y](const Tensor& dy) -> Grads {
    // da = (s + s^T) / 2 with s = y^-T p y^-1, p the lower triangle of y^T dy with half of its diagonal
    const Tensor product = matmul(y.t(), dy);
    const Tensor p = (tril(product) + tril(product, -1)) * 0.5;
    const Tensor left = triangular_solve(y.t(), p, {.upper = true});
    const Tensor s = triangular_solve(y, left, {.upper = false, .left = false});
    return (s + s.t()) * 0.5;
  });
}

// The gradient of a = q r for m <= n or k == n, from those of q and r; one may be missing. Walter, Lehmann, Lamour
// 2012.
Tensor qr_gradient(const Tensor& a, const Tensor& q, const Tensor& r, const Tensor& dq, const Tensor& dr) {
  const int64_t m = a.size(-2), n = a.size(-1);
  if (m < n) {  // a = [x, z] = q [u, v]: x and q have the gradient of u, and v = q^T z
    const Tensor u = r.slice(-1, 0, m), z = a.slice(-1, m);
    if (!dr.defined()) return cat({qr_gradient(q, q, u, dq, dr), zeros_like(z)}, -1);
    const Tensor dv = dr.slice(-1, m), through_v = matmul(z, dv.t());
    return cat({qr_gradient(q, q, u, dq.defined() ? dq + through_v : through_v, dr.slice(-1, 0, m)), matmul(q, dv)},
               -1);
  }
  Tensor inner;
  if (dr.defined()) inner = matmul(r, dr.t());
  if (dq.defined()) inner = inner.defined() ? inner - matmul(dq.t(), q) : -matmul(dq.t(), q);
  const Tensor symmetric = tril(inner) + tril(inner, -1).t();
  const Tensor whole = dq.defined() ? dq + matmul(q, symmetric) : matmul(q, symmetric);
  return triangular_solve(r.t(), whole, {.upper = false, .left = false});
}

// The gradient of qr(a) from that of q or of r.
Grads qr_backward(const Tensor& a, QrMode mode, const Qr& known, const Tensor& dq, const Tensor& dr) {
  if (mode == QrMode::complete && a.size(-2) > a.size(-1)) {
    kQr.fail(fmt::format("expected m <= n for the gradient of the complete form, got {} (use the reduced form)",
                         str(a.shape())));
  }
  const Qr now = records_backward() ? qr(a, mode) : known;
  return qr_gradient(a, now.q, now.r, dq, dr);
}

// The derivative of det(a) is the matrix of cofactors. For a = u diag(s) vh it is det(u) det(vh) u diag(p) vh, where
// p_i is the product of all s but s_i: right for singular matrices, too. Not recorded.
Tensor cofactors(const Tensor& a) {
  const PauseRecording pause;
  const Svd of = svd(a.detach());
  const int64_t k = of.s.size(-1);
  PoolVector<Tensor> others;
  for (int64_t i = 0; i < k; ++i) {
    others.push_back(prod(of.s.slice(-1, 0, i), -1) * prod(of.s.slice(-1, i + 1), -1));
  }
  const Tensor p = stack(std::span<const Tensor>(others), -1) * (det(of.u) * det(of.vh)).unsqueeze(-1);
  return matmul(of.u * p.unsqueeze(-2), of.vh);
}

// Calls f(i, diagonal, step, negative) with the pivots of each matrix, and whether the number of row exchanges is odd.
template <class T, class F>
void for_each_diagonal(const LuFactors& lu, int64_t n, F f) {
  const int64_t count = count_matrices(lu.factors);
  for (int64_t i = 0; i < count; ++i) {
    bool negative = false;
    for (int64_t k = 0; k < n; ++k) negative ^= lu.pivots[static_cast<std::size_t>(i * n + k)] != k;
    f(i, lu.factors.data<T>() + i * n * n, n + 1, negative);
  }
}

}  // namespace

Tensor cholesky(const Tensor& a, bool upper) {
  require_square(kCholesky.name, a);
  return upper ? lower_factor(a.t()).t() : lower_factor(a);
}

Tensor det(const Tensor& a) {
  require_square(kDet.name, a);
  const int64_t n = a.size(-1);
  const LuFactors lu = lu_factors(kDet, a);
  const Tensor y = Tensor::empty(leading_axes(a), a.dtype());
  with_floating_type(a.dtype(), [&](auto t) {
    using T = decltype(t);
    for_each_diagonal<T>(lu, n, [&](int64_t i, const T* diagonal, int64_t step, bool negative) {
      T product = negative ? T(-1) : T(1);
      for (int64_t k = 0; k < n; ++k) product *= diagonal[k * step];
      y.mutable_data<T>()[i] = product;
    });
  });
  return record(kDet, y, {a}, [a, y](const Tensor& dy) -> Grads {
    const auto whole = [](const Tensor& x) { return x.unsqueeze(-1).unsqueeze(-1); };
    if (!any(y.detach() == 0)) return whole(dy * y) * inverse(a).t();
    if (records_backward()) kDet.fail("expected invertible matrices for the second derivative, got a singular one");
    return whole(dy) * cofactors(a);
  });
}

SignLogDet slogdet(const Tensor& a) {
  require_square(kSlogdet.name, a);
  const int64_t n = a.size(-1);
  const LuFactors lu = lu_factors(kSlogdet, a);
  const Shape batch = leading_axes(a);
  const Tensor sign = Tensor::empty(batch, a.dtype()), logs = Tensor::empty(batch, a.dtype());
  with_floating_type(a.dtype(), [&](auto t) {
    using T = decltype(t);
    for_each_diagonal<T>(lu, n, [&](int64_t i, const T* diagonal, int64_t step, bool negative) {
      T product = negative ? T(-1) : T(1), sum = 0;
      for (int64_t k = 0; k < n; ++k) {
        const T pivot = diagonal[k * step];
        product *= pivot > 0 ? T(1) : pivot < 0 ? T(-1) : pivot;  // 0 and NaN stay
        sum += std::log(std::abs(pivot));
      }
      sign.mutable_data<T>()[i] = product;
      logs.mutable_data<T>()[i] = sum;
    });
  });
  return {sign, record(kSlogdet, logs, {a},
                       [a](const Tensor& dy) -> Grads { return dy.unsqueeze(-1).unsqueeze(-1) * inverse(a).t(); })};
}

Qr qr(const Tensor& a, QrMode mode) {
  require_matrices(kQr.name, a);
  const int64_t m = a.size(-2), n = a.size(-1), least = std::min(m, n);
  const int64_t k = mode == QrMode::complete ? m : least;
  const Shape batch = leading_axes(a);
  const Tensor factors = column_major(a), tau = Tensor::empty(with_axes(batch, {least}), a.dtype());
  const Tensor vectors = Tensor::empty(with_axes(batch, {k, m}), a.dtype());  // q, column by column
  with_floating_type(a.dtype(), [&](auto t) {
    using T = decltype(t);
    for_each_matrix(kQr, "", batch, m * n * least, [&](int64_t i) {
      T* const from = factors.mutable_data<T>() + i * m * n;
      T* const of_q = vectors.mutable_data<T>() + i * k * m;
      T* const scales = tau.mutable_data<T>() + i * least;
      const auto rows = static_cast<int>(m), count = static_cast<int>(least);
      const bool few = m * n <= kFew;
      few ? small::qr(m, n, from, scales) : lapack::qr(rows, static_cast<int>(n), from, scales);
      std::copy_n(from, least * m, of_q);
      few ? small::qr_vectors(m, k, least, of_q, scales)
          : lapack::qr_vectors(rows, static_cast<int>(k), count, of_q, scales);
      return true;
    });
  });
  const Tensor r = triu(transposed_view(factors).slice(-2, 0, k)), q = transposed_view(vectors);
  const Qr known{q.detach(), r.detach()};
  return {
      record(kQr, q, {a}, [a, mode, known](const Tensor& dq) { return qr_backward(a, mode, known, dq, Tensor()); }),
      record(kQr, r, {a}, [a, mode, known](const Tensor& dr) { return qr_backward(a, mode, known, Tensor(), dr); })};
}

}  // namespace tapegrad
