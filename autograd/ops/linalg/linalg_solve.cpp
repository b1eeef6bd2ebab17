// Systems of equations: solve, triangular_solve, inverse, lstsq; matrix_power.
#include <tapegrad/autograd/autocast.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/kernels/linalg/triangular.h>
#include <tapegrad/autograd/linalg.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/matrices.h>

namespace tapegrad {
namespace {

const Op kSolve{"solve"};
const Op kTriangularSolve{"triangular_solve"};
const Op kInverse{"inverse"};
constexpr std::string_view kLstsq = "lstsq";
constexpr std::string_view kSingular = "expected an invertible matrix, got a singular one";

LuFactors invertible_factors(const Op& op, const Tensor& a) {
  LuFactors lu = lu_factors(op, a);
  if (lu.singular >= 0) fail_matrix(op, kSingular, leading_axes(a), lu.singular);
  return lu;
}

// A fresh copy of b [..., n, k], whose leading axes broadcast with those of a, changed by solve(start, x) for each
// matrix: `start` is where that of a begins, x the n k elements of the copy. Not recorded.
Tensor solved(const Op& op, const Tensor& a, const Tensor& b, int64_t work, auto solve) {
  const int64_t n = b.size(-2), columns = b.size(-1);
  const Shape batch = broadcast(op.name, leading_axes(a), leading_axes(b));
  const Tensor y = with_leading_axes(b.detach(), batch).clone();
  if (y.numel() == 0) return y;
  const Offsets starts = matrix_starts(a, batch);
  with_floating_type(b.dtype(), [&]<class T>(T) {
    for_each_matrix(op, "", batch, work, [&](int64_t i) {
      solve(starts[static_cast<std::size_t>(i)], y.mutable_data<T>() + i * n * columns);
      return true;
    });
  });
  return y;
}

// a^-1 b, or a^-T b, with b [..., n, k]. Not recorded.
Tensor solve_factored(const LuFactors& lu, bool transposed, const Tensor& b) {
  const int64_t n = b.size(-2), columns = b.size(-1);
  return solved(kSolve, lu.factors, b, n * n * columns, [&]<class T>(int64_t start, T* x) {
    solve_lu<T>(transposed, n, columns, lu.factors.data<T>() + start, lu.pivots.data() + start / n, x);
  });
}

// a x = b. Not recorded.
Tensor solve_triangles(const Tensor& a, const Tensor& b, bool upper, bool unit) {
  const int64_t n = b.size(-2), columns = b.size(-1);
  return solved(kTriangularSolve, a, b, n * n * columns / 2, [&]<class T>(int64_t start, T* x) {
    solve_triangle<T>(upper, unit, n, columns, {a.data<T>() + start, a.strides()[-2], a.strides()[-1]}, x);
  });
}

Tensor solve_matrices(const Tensor& a, const Tensor& b) {
  LuFactors lu = invertible_factors(kSolve, a);
  const Tensor y = solve_factored(lu, false, b);
  return record(kSolve, y, {a, b}, [a, y, wants_a = needs_grad(a), lu = std::move(lu)](const Tensor& dy) -> Grads {
    const Tensor db = records_backward() ? solve(a.t(), dy) : solve_factored(lu, true, dy);
    return {wants_a ? -matmul(db, y.t()) : Tensor(), db};
  });
}

}  // namespace

Tensor solve(const Tensor& a, const Tensor& b) {
  require_floating(kSolve.name, {&a, &b});
  require_square(kSolve.name, a);
  const int64_t n = a.size(-1);
  const bool vectors = b.dim() == 1 || b.shape() == with_axes(leading_axes(a), {n});
  if (b.dim() == 0 || b.size(vectors ? -1 : -2) != n) {
    fail(kSolve, "expected b with {} rows for a {}, got {}", n, a.shape(), b.shape());
  }
  broadcast(kSolve.name, leading_axes(a), vectors ? Shape{} : leading_axes(b));
  return vectors ? solve_matrices(a, b.unsqueeze(-1)).squeeze(-1) : solve_matrices(a, b);
}

Tensor triangular_solve(const Tensor& a, const Tensor& b, const TriangularOptions& options) {
  require_floating(kTriangularSolve.name, {&a, &b});
  require_square(kTriangularSolve.name, a);
  const int64_t n = a.size(-1);
  if (b.dim() < 2 || b.size(options.left ? -2 : -1) != n) {
    fail(kTriangularSolve, "expected b with {} {} for a {}, got {}", n, options.left ? "rows" : "columns", a.shape(),
         b.shape());
  }
  const Tensor y = options.left  // x a = b is a^T x^T = b^T
                       ? solve_triangles(a, b, options.upper, options.unitriangular)
                       : transposed_view(solve_triangles(transposed_view(a), transposed_view(b), !options.upper,
                                                         options.unitriangular));
  return record(kTriangularSolve, y, {a, b}, [a, y, options, wants_a = needs_grad(a)](const Tensor& dy) -> Grads {
    const Tensor db = triangular_solve(
        a.t(), dy, {.upper = !options.upper, .left = options.left, .unitriangular = options.unitriangular});
    if (!wants_a) return {Tensor(), db};
    const Tensor whole = -(options.left ? matmul(db, y.t()) : matmul(y.t(), db));
    const int64_t unit = options.unitriangular ? 1 : 0;
    return {options.upper ? triu(whole, unit) : tril(whole, -unit), db};
  });
}

Tensor inverse(const Tensor& a) {
  require_square(kInverse.name, a);
  const LuFactors lu = invertible_factors(kInverse, a);
  const int64_t n = a.size(-1);
  const Tensor y = eye(n, a.dtype()).expand(a.shape()).clone();
  with_floating_type(a.dtype(), [&]<class T>(T) {
    for_each_matrix(kInverse, "", leading_axes(a), n * n * n, [&](int64_t i) {
      solve_lu<T>(false, n, n, lu.factors.data<T>() + i * n * n, lu.pivots.data() + i * n,
                  y.mutable_data<T>() + i * n * n);
      return true;
    });
  });
  // dy = -y da y
  return record(kInverse, y, {a}, [y](const Tensor& dy) -> Grads { return -matmul(matmul(y.t(), dy), y.t()); });
}

Tensor lstsq(const Tensor& a, const Tensor& b) {
  require_floating(kLstsq, {&a, &b});
  require_matrices(kLstsq, a);
  if (b.dim() < 2 || b.size(-2) != a.size(-2)) {
    fail(kLstsq, "expected b with {} rows for a {}, got {}", a.size(-2), a.shape(), b.shape());
  }
  const Autocast in_own_type(kFloat32);
  if (a.size(-2) >= a.size(-1)) {  // a = q r: x = r^-1 q^T b
    const Qr tall = qr(a);
    return triangular_solve(tall.r, matmul(tall.q.t(), b), {.upper = true});
  }
  const Qr wide = qr(a.t());  // a = r^T q^T: x = q r^-T b
  return matmul(wide.q, triangular_solve(wide.r.t(), b, {.upper = false}));
}

Tensor matrix_power(const Tensor& a, int64_t n) {
  require_square("matrix_power", a);
  if (n == 0) return eye(a.size(-1), a.dtype()).expand(a.shape()).clone();
  const Autocast in_own_type(kFloat32);
  Tensor square = n < 0 ? inverse(a) : a, power;
  for (auto rest = n < 0 ? -static_cast<uint64_t>(n) : static_cast<uint64_t>(n); rest != 0; rest >>= 1) {
    if (rest & 1) power = power.defined() ? matmul(power, square) : square;
    if (rest > 1) square = matmul(square, square);
  }
  return power;
}

}  // namespace tapegrad
