// Products that are made of recorded operations: addmm, baddbmm, cross, kron.
// build: -Os
#include <fmt/format.h>
#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/ops.h>

#include <algorithm>

namespace tapegrad {
namespace {

constexpr std::string_view kAddmm = "addmm";
constexpr std::string_view kBaddbmm = "baddbmm";
constexpr std::string_view kCross = "cross";
constexpr std::string_view kKron = "kron";

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
