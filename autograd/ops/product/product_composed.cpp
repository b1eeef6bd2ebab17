// Products that are made of recorded operations: addmm, baddbmm, cross, kron. Values of cross that no gradient needs
// are computed in one pass.
//
// build: -Os
#include <fmt/format.h>
#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/parallel.h>

#include <algorithm>

namespace tapegrad {
namespace {

constexpr std::string_view kAddmm = "addmm";
constexpr std::string_view kBaddbmm = "baddbmm";
constexpr std::string_view kCross = "cross";
constexpr std::string_view kKron = "kron";
constexpr int64_t kVectors = 2048;  // for one thread to multiply at a time

// beta x + alpha a b, where a and b have `rank` axes.
Tensor add_product(std::string_view where, const Tensor& x, const Tensor& a, const Tensor& b, int rank,
                   const AddProductOptions& options) {
  require_floating(where, {&x, &a, &b});
  const bool fits = a.dim() == rank && b.dim() == rank && a.size(-1) == b.size(-2) &&
                    a.size(0) == (rank == 3 ? b.size(0) : a.size(0));
  if (!fits) {
    fail(where, fmt::format("expected {}, got {} and {}", rank == 2 ? "[m, k] and [k, n]" : "[B, m, k] and [B, k, n]",
                            str(a.shape()), str(b.shape())));
  }
  Shape shape = a.shape();
  shape[-1] = b.size(-1);
  if (!broadcasts_to(x.shape(), shape)) {
    fail(where, fmt::format("expected x that broadcasts to {}, got {}", str(shape), str(x.shape())));
  }
  Tensor y = matmul(a, b);
  if (options.alpha != 1) y = y * options.alpha;
  if (options.beta == 0) return y;
  return (options.beta == 1 ? x : x * options.beta) + y;
}

// Whether the axis that counts -axis from the end has three elements.
bool is_of_vectors(const Tensor& x, int axis) { return x.dim() >= -axis && x.size(axis) == 3; }

// cross along the last axis, in one pass over memory. Not recorded.
Tensor cross_of_rows(const Tensor& a, const Tensor& b, const Shape& shape) {
  const Tensor y = Tensor::empty(shape, a.dtype());
  const Tensor left = a.detach().expand(shape).contiguous(), right = b.detach().expand(shape).contiguous();
  with_floating_type(a.dtype(), [&](auto t) {
    using T = decltype(t);
    const T *const u = left.data<T>(), *const v = right.data<T>();
    T* const to = y.mutable_data<T>();
    parallel_for(shape.numel() / 3, kVectors, [=](int64_t begin, int64_t end) {
      for (int64_t i = 3 * begin; i < 3 * end; i += 3) {
        to[i] = u[i + 1] * v[i + 2] - u[i + 2] * v[i + 1];
        to[i + 1] = u[i + 2] * v[i] - u[i] * v[i + 2];
        to[i + 2] = u[i] * v[i + 1] - u[i + 1] * v[i];
      }
    });
  });
  return y;
}

}  // namespace

Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b, const AddProductOptions& options) {
  return add_product(kAddmm, x, a, b, 2, options);
}

Tensor baddbmm(const Tensor& x, const Tensor& a, const Tensor& b, const AddProductOptions& options) {
  return add_product(kBaddbmm, x, a, b, 3, options);
}

Tensor cross(const Tensor& a, const Tensor& b, int64_t axis) {
  const Shape shape = broadcast(kCross, a.shape(), b.shape());
  const int i = normal_axis(kCross, axis, shape) - shape.rank();
  if (!is_of_vectors(a, i) || !is_of_vectors(b, i)) {
    fail(kCross, fmt::format("expected 3 elements along axis {}, got {} and {}", i, str(a.shape()), str(b.shape())));
  }
  if (i == -1 && a.dtype() == b.dtype() && is_floating(a.dtype()) && !needs_grad(a) && !needs_grad(b)) {
    return cross_of_rows(a, b, shape);
  }
  // y[0] = a[1] b[2] - a[2] b[1], and so on around
  return roll(a, -1, i) * roll(b, 1, i) - roll(a, 1, i) * roll(b, -1, i);
}

Tensor kron(const Tensor& a, const Tensor& b) {
  const int rank = std::max(a.dim(), b.dim());
  if (2 * rank > kMaxRank) {
    fail(kKron, fmt::format("expected at most {} axes, got {} and {}", kMaxRank / 2, str(a.shape()), str(b.shape())));
  }
  Shape of_a, of_b, shape;
  for (int i = -rank; i < 0; ++i) {
    const int64_t m = i < -a.dim() ? 1 : a.size(i), n = i < -b.dim() ? 1 : b.size(i);
    of_a.push_back(m);
    of_a.push_back(1);
    of_b.push_back(1);
    of_b.push_back(n);
    shape.push_back(m * n);
  }
  return (a.reshape(of_a) * b.reshape(of_b)).reshape(shape);
}

}  // namespace tapegrad
