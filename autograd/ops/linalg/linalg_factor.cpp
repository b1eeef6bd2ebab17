// Factorizations: cholesky, qr; determinants: det, slogdet.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/kernels/linalg/householder.h>
#include <tapegrad/autograd/kernels/linalg/lapack.h>
#include <tapegrad/autograd/kernels/linalg/triangular.h>
#include <tapegrad/autograd/linalg.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/matrices.h>

#include <algorithm>
#include <cmath>
#include <limits>

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
  with_floating_type(a.dtype(), [&]<class T>(T) {
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
  require(mode != QrMode::complete || a.size(-2) <= a.size(-1), kQr,
          "expected m <= n for the gradient of the complete form, got {} (use the reduced form)", a.shape());
  const Qr now = records_backward() ? qr(a, mode) : known;
  return qr_gradient(a, now.q, now.r, dq, dr);
}

Tensor whole(const Tensor& of_matrices) { return of_matrices.unsqueeze(-1).unsqueeze(-1); }

// p_i of [..., k] is the product of all s but s_i; p_ij of [..., k, k] of all but s_i and s_j, and 0 on the diagonal.
Tensor products_without_one(const Tensor& s) {
  PoolVector<Tensor> others;
  for (int64_t i = 0; i < s.size(-1); ++i) {
    others.push_back(prod(s.slice(-1, 0, i), -1) * prod(s.slice(-1, i + 1), -1));
  }
  return stack(std::span<const Tensor>(others), -1);
}
Tensor products_without_two(const Tensor& s) {
  PoolVector<Tensor> rows;
  for (int64_t i = 0; i < s.size(-1); ++i) {
    const Tensor rest = cat({s.slice(-1, 0, i), s.slice(-1, i + 1)}, -1);
    const Tensor row = rest.size(-1) > 0 ? products_without_one(rest) : rest;
    rows.push_back(cat({row.slice(-1, 0, i), zeros_like(s.slice(-1, 0, 1)), row.slice(-1, i)}, -1));
  }
  return stack(std::span<const Tensor>(rows), -2);
}

// The matrix of cofactors, the derivative of det(a), which is a polynomial: right for singular matrices, too. For a = u
// diag(s) vh it is det(u) det(vh) u diag(p) vh with p_i the product of all s but s_i.
Tensor cofactors(const Tensor& a) {
  Svd of;
  Tensor y, sign;
  {
    const PauseRecording pause;
    of = svd(a.detach());
    sign = whole(det(of.u) * det(of.vh));
    y = sign * matmul(of.u * products_without_one(of.s).unsqueeze(-2), of.vh);
  }
  // With h = u^T dy vh^T, and p_ij the product of all s but s_i and s_j:
  // da = det(u) det(vh) u g vh, where g_ii = sum over j of p_ij h_jj and g_ij = -p_ij h_ji
  return record(kDet, y, {a}, [of, sign](const Tensor& dy) -> Grads {
    if (records_backward()) kDet.fail("expected invertible matrices for the third derivative, got a singular one");
    const Tensor h = matmul(matmul(of.u.t(), dy), of.vh.t()), p = products_without_two(of.s);
    const Tensor g = diag_embed(matmul(p, diagonal(h, 0, -2, -1).unsqueeze(-1)).squeeze(-1)) - p * h.t();
    return sign * matmul(matmul(of.u, g), of.vh);
  });
}

// Whether det(a) = y has lost digits, to underflow or overflow, or is 0.
bool out_of_range(const Tensor& y) {
  return with_floating_type(y.dtype(), [&]<class T>(T) {
    const T* const values = y.data<T>();
    return std::any_of(values, values + y.numel(),
                       [](T v) { return std::abs(v) < std::numeric_limits<T>::min() || std::isinf(v); });
  });
}

// Whether a second derivative by way of the inverse would lose half of the digits or more.
bool is_nearly_singular(const Tensor& a, const Tensor& inverted) {
  if (a.numel() == 0) return false;
  const PauseRecording pause;
  const double epsilon =
      a.dtype() == kFloat32 ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
  const Axes axes{-2, -1};
  return any(amax(abs(a), axes) * amax(abs(inverted), axes) * static_cast<double>(a.size(-1)) > 1 / std::sqrt(epsilon));
}

Tensor det_gradient(const Tensor& a, const Tensor& y, const Tensor& dy) {
  const bool finite = all_finite(a);
  if (finite && out_of_range(y)) return whole(dy) * cofactors(a);
  if (!finite && any(y.detach() == 0)) {  // a singular matrix next to one with infinities or NaN
    const Tensor singular = y.detach() == 0, of_matrix = whole(singular), unit = eye(a.size(-1), a.dtype());
    return where(of_matrix, whole(dy) * cofactors(where(of_matrix, a, unit)),
                 det_gradient(where(of_matrix, unit, a), where(singular, 1., y), dy));
  }
  const Tensor inverted = inverse(a);
  if (finite && !all_finite(inverted)) return whole(dy) * cofactors(a);
  if (finite && records_backward() && is_nearly_singular(a, inverted)) return whole(dy) * cofactors(a);
  return whole(dy * y) * inverted.t();
}

// The same of log |det(a)|, infinite for singular matrices.
Tensor slogdet_gradient(const Tensor& a, const Tensor& logs, const Tensor& dy) {
  const Tensor singular = whole(logs.detach() == -std::numeric_limits<double>::infinity());
  if (!any(singular)) return whole(dy) * inverse(a).t();
  const Tensor unit = eye(a.size(-1), a.dtype());
  return whole(dy) * where(singular, cofactors(where(singular, a, unit)) / 0.0, inverse(where(singular, unit, a)).t());
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
  with_floating_type(a.dtype(), [&]<class T>(T) {
    for_each_diagonal<T>(lu, n, [&](int64_t i, const T* diagonal, int64_t step, bool negative) {
      T product = negative ? T(-1) : T(1);
      for (int64_t k = 0; k < n; ++k) product *= diagonal[k * step];
      y.mutable_data<T>()[i] = product;
    });
  });
  return record(kDet, y, {a}, [a, y](const Tensor& dy) -> Grads { return det_gradient(a, y, dy); });
}

SignLogDet slogdet(const Tensor& a) {
  require_square(kSlogdet.name, a);
  const int64_t n = a.size(-1);
  const LuFactors lu = lu_factors(kSlogdet, a);
  const Shape batch = leading_axes(a);
  const Tensor sign = Tensor::empty(batch, a.dtype()), logs = Tensor::empty(batch, a.dtype());
  with_floating_type(a.dtype(), [&]<class T>(T) {
    for_each_diagonal<T>(lu, n, [&](int64_t i, const T* diagonal, int64_t step, bool negative) {
      T product = negative ? T(-1) : T(1), sum = 0;
      for (int64_t k = 0; k < n; ++k) {
        const T pivot = diagonal[k * step];
        product *= pivot > 0 ? T(1) : pivot < 0 ? T(-1) : pivot;  // 0 and NaN stay
        sum += fixed::log(std::abs(pivot));
      }
      sign.mutable_data<T>()[i] = product;
      logs.mutable_data<T>()[i] = sum;
    });
  });
  return {sign,
          record(kSlogdet, logs, {a}, [a, logs](const Tensor& dy) -> Grads { return slogdet_gradient(a, logs, dy); })};
}

Qr qr(const Tensor& a, QrMode mode) {
  require_matrices(kQr.name, a);
  const int64_t m = a.size(-2), n = a.size(-1), least = std::min(m, n);
  const int64_t k = mode == QrMode::complete ? m : least;
  const Shape batch = leading_axes(a);
  const Tensor factors = column_major(a), tau = Tensor::empty(with_axes(batch, {least}), a.dtype());
  const Tensor vectors = Tensor::empty(with_axes(batch, {k, m}), a.dtype());  // q, column by column
  with_floating_type(a.dtype(), [&]<class T>(T) {
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
