// Eigenvalues of symmetric matrices and singular values: eigh, eigvalsh, svd, svdvals, pinv.
#include <tapegrad/autograd/autocast.h>
#include <tapegrad/autograd/kernels/linalg/lapack.h>
#include <tapegrad/autograd/kernels/linalg/small_eigen.h>
#include <tapegrad/autograd/kernels/linalg/small_svd.h>
#include <tapegrad/autograd/linalg.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/matrices.h>

#include <cmath>
#include <limits>

namespace tapegrad {
namespace {

const Op kEigh{"eigh"};
const Op kEigvalsh{"eigvalsh"};
const Op kSvd{"svd"};
const Op kSvdvals{"svdvals"};
const Op kPinv{"pinv"};
constexpr std::string_view kFailed =
    "expected a matrix for which the algorithm converges, got one with NaN or infinity, "
    "or with too many equal or nearly equal values";

template <class T>
bool finite(const T* x, int64_t n) {
  return std::all_of(x, x + n, [](T value) { return std::isfinite(value); });
}

// Whether the squares of all elements are far from overflow, and that of the largest from underflow.
template <class T>
bool moderate(const T* x, int64_t n) {
  double largest = 0;
  for (int64_t i = 0; i < n; ++i) largest = std::max(largest, static_cast<double>(std::abs(x[i])));
  return largest < 1e100 && (largest == 0 || largest > 1e-100);
}

template <class T>
bool eigen_of_one(bool vectors, int64_t n, T* a, T* values) {
  if (!finite(a, n * n)) return false;
  const bool ours = n <= small::kMostEigen && moderate(a, n * n);
  return ours ? small::SymmetricEigen()(vectors, n, a, values)
              : lapack::symmetric_eigen(vectors, static_cast<int>(n), a, values);
}

template <class T>
bool svd_of_one(lapack::SvdParts parts, int64_t m, int64_t n, T* a, T* s, T* u, T* vt) {
  if (!finite(a, m * n)) return false;
  const bool vectors = parts != lapack::SvdParts::values, reduced = parts != lapack::SvdParts::full || m == n;
  const int64_t most = vectors ? small::kMostSvd : small::kMostSvdValues;
  const bool ours = std::max(m, n) <= most && reduced && moderate(a, m * n);
  return (ours && small::JacobiSvd()(vectors, m, n, a, s, u, vt)) ||
         lapack::svd(parts, static_cast<int>(m), static_cast<int>(n), a, s, u, vt);
}

// The eigenvalues, and if requested the eigenvectors. Not recorded.
Eigh eigen(const Op& op, const Tensor& a, bool vectors) {
  require_square(op.name, a);
  const int64_t n = a.size(-1);
  const Tensor memory = tril(a.detach());  // by rows; column by column it is the transpose, whose upper triangle counts
  const Tensor values = Tensor::empty(with_axes(leading_axes(a), {n}), a.dtype());
  with_floating_type(a.dtype(), [&]<class T>(T) {
    for_each_matrix(op, kFailed, leading_axes(a), 4 * n * n * n, [&](int64_t i) {
      T* const matrix = memory.mutable_data<T>() + i * n * n;
      return n == 0 || eigen_of_one(vectors, n, matrix, values.mutable_data<T>() + i * n);
    });
  });
  return {values, vectors ? transposed_view(memory) : Tensor()};
}

// v diag(dvalues) v^T
Tensor eigenvalue_gradient(const Tensor& vectors, const Tensor& dvalues) {
  return matmul(vectors * dvalues.unsqueeze(-2), vectors.t());
}

// x with its diagonal replaced by `value`; x [..., n, n].
Tensor with_diagonal(const Tensor& x, double value) { return masked_fill(x, eye(x.size(-1), x.dtype()) == 1, value); }

// [i, j] = x[j] - x[i], and 1 on the diagonal.
Tensor differences(const Tensor& x) { return with_diagonal(x.unsqueeze(-2) - x.unsqueeze(-1), 1); }

// a = u diag(s) vh. Not recorded.
Svd decompose(const Op& op, const Tensor& a, lapack::SvdParts parts) {
  require_matrices(op.name, a);
  const int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
  const bool full = parts == lapack::SvdParts::full, vectors = parts != lapack::SvdParts::values;
  const int64_t columns = full ? m : k, rows = full ? n : k;
  const Shape batch = leading_axes(a);
  const Tensor memory = a.clone();  // by rows; column by column it is a^T = vh^T diag(s) u^T
  Svd y;
  y.s = Tensor::empty(with_axes(batch, {k}), a.dtype());
  if (vectors) {
    y.u = Tensor::empty(with_axes(batch, {m, columns}), a.dtype());
    y.vh = Tensor::empty(with_axes(batch, {rows, n}), a.dtype());
    if (full && k == 0) {
      y.u = eye(m, a.dtype()).expand(y.u.shape()).clone();
      y.vh = eye(n, a.dtype()).expand(y.vh.shape()).clone();
    }
  }
  with_floating_type(a.dtype(), [&]<class T>(T) {
    for_each_matrix(op, kFailed, batch, 4 * m * n * k, [&](int64_t i) {
      T* const matrix = memory.mutable_data<T>() + i * m * n;
      T unused = 0;
      return k == 0 || svd_of_one(parts, n, m, matrix, y.s.mutable_data<T>() + i * k,
                                  vectors ? y.vh.mutable_data<T>() + i * rows * n : &unused,
                                  vectors ? y.u.mutable_data<T>() + i * m * columns : &unused);
    });
  });
  return y;
}

// The first k columns of u and rows of vh.
Svd reduced(const Svd& of) {
  const int64_t k = of.s.size(-1);
  return {of.u.slice(-1, 0, k), of.s, of.vh.slice(-2, 0, k)};
}

// x - x^T over s_j^2 - s_i^2
Tensor antisymmetric_quotient(const Tensor& x, const Tensor& s) {
  return with_diagonal(x - x.t(), 0) / differences(s * s);
}

// The gradients of a from that of u, of s and of vh: Townsend 2016, Differentiating the singular value decomposition.
Tensor gradient_of_u(const Svd& of, const Tensor& du) {
  const Tensor product = matmul(of.u.t(), du);
  const Tensor inside = matmul(of.u, antisymmetric_quotient(product, of.s) * of.s.unsqueeze(-2));
  if (of.u.size(-2) == of.u.size(-1)) return matmul(inside, of.vh);
  return matmul(inside + (du - matmul(of.u, product)) / of.s.unsqueeze(-2), of.vh);
}
Tensor gradient_of_s(const Svd& of, const Tensor& ds) { return matmul(of.u * ds.unsqueeze(-2), of.vh); }
Tensor gradient_of_vh(const Svd& of, const Tensor& dvh) {
  const Tensor product = matmul(of.vh, dvh.t());
  const Tensor inside = matmul(of.s.unsqueeze(-1) * antisymmetric_quotient(product, of.s), of.vh);
  if (of.vh.size(-2) == of.vh.size(-1)) return matmul(of.u, inside);
  return matmul(of.u, inside + (dvh - matmul(product.t(), of.vh)) / of.s.unsqueeze(-1));
}

}  // namespace

Eigh eigh(const Tensor& a) {
  const Eigh y = eigen(kEigh, a, true);
  const Eigh known{y.values.detach(), y.vectors.detach()};
  const auto now = [a, known] { return records_backward() ? eigh(a) : known; };
  return {
      record(kEigh, y.values, {a}, [now](const Tensor& dy) -> Grads { return eigenvalue_gradient(now().vectors, dy); }),
      record(kEigh, y.vectors, {a}, [now](const Tensor& dy) -> Grads {
        const auto [values, vectors] = now();
        const Tensor inner = with_diagonal(matmul(vectors.t(), dy), 0) / differences(values);
        return matmul(matmul(vectors, (inner + inner.t()) * 0.5), vectors.t());
      })};
}

// Forward computes the values alone, in the same way with a tape as without; backward computes the vectors.
Tensor eigvalsh(const Tensor& a) {
  const Eigh y = eigen(kEigvalsh, a, false);
  return record(kEigvalsh, y.values, {a},
                [a](const Tensor& dy) -> Grads { return eigenvalue_gradient(eigh(a).vectors, dy); });
}

Svd svd(const Tensor& a, bool full_matrices) {
  const Svd y = decompose(kSvd, a, full_matrices ? lapack::SvdParts::full : lapack::SvdParts::reduced);
  const Svd known = reduced({y.u.detach(), y.s.detach(), y.vh.detach()});
  const auto now = [a, known, full_matrices] {  // the full form's vectors can have other signs
    return records_backward() ? reduced(svd(a, full_matrices)) : known;
  };
  const int64_t k = y.s.size(-1);
  return {
      record(kSvd, y.u, {a}, [now, k](const Tensor& dy) -> Grads { return gradient_of_u(now(), dy.slice(-1, 0, k)); }),
      record(kSvd, y.s, {a}, [now](const Tensor& dy) -> Grads { return gradient_of_s(now(), dy); }),
      record(kSvd, y.vh, {a},
             [now, k](const Tensor& dy) -> Grads { return gradient_of_vh(now(), dy.slice(-2, 0, k)); })};
}

Tensor svdvals(const Tensor& a) {  // as eigvalsh
  const Svd y = decompose(kSvdvals, a, lapack::SvdParts::values);
  return record(kSvdvals, y.s, {a}, [a](const Tensor& dy) -> Grads { return gradient_of_s(svd(a), dy); });
}

Tensor pinv(const Tensor& a, double rcond) {
  require_matrices(kPinv.name, a);
  const Tensor y = detail::unrecorded([&] {
    const Autocast in_own_type(kFloat32);
    const Svd of = decompose(kPinv, a, lapack::SvdParts::reduced);
    const double epsilon =
        a.dtype() == kFloat32 ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
    const double limit = rcond < 0 ? static_cast<double>(std::max(a.size(-2), a.size(-1))) * epsilon : rcond;
    const Tensor counts = of.s > of.s.slice(-1, 0, 1) * limit;
    return matmul(of.vh.t() * where(counts, 1 / of.s, 0).unsqueeze(-2), of.u.t());
  });
  return record(kPinv, y, {a}, [a, y](const Tensor& dy) -> Grads {
    // da = -y^T dy y^T + (1 - a y) dy^T y y^T + y^T y dy^T (1 - y a)
    const Tensor turned = dy.t(), left = matmul(y, turned), right = matmul(turned, y);
    return -matmul(matmul(y.t(), dy), y.t()) + matmul(matmul(turned - matmul(a, left), y), y.t()) +
           matmul(y.t(), matmul(y, turned - matmul(right, a)));
  });
}

}  // namespace tapegrad
