// Products that are made of recorded operations: addmm, baddbmm, cross. cross along the last axis is one pass
// over memory, and one more for each gradient.
//
// build: -Os
#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/shapes.h>
#include <tapegrad/autograd/ops/product/detail/one_matrix.h>
#include <tapegrad/autograd/parallel.h>

namespace tapegrad {
namespace {

constexpr int64_t kVectors = 2048;  // for one thread to multiply at a time

const Op kCross{"cross"};

// The same without gradients, if a sum is one block along k: the product is added to beta x in place, in the same bits.
// Otherwise an empty handle.
Tensor add_product_in_place(const Tensor& x, const Tensor& a, const Tensor& b, const Shape& shape,
                            const AddProductOptions& options) {
  const int64_t k = a.size(-1);
  const bool recorded = needs_grad(x) || needs_grad(a) || needs_grad(b);
  if (recorded || x.dtype() != a.dtype() || a.dtype() != b.dtype() || multiplies_rounded(a, b)) return {};
  if (k < 1 || k > kPackedDepth || options.beta == 0 || shape.numel() == 0) return {};
  const Tensor scaled = options.beta == 1 ? x.detach() : x.detach() * options.beta;
  Tensor y = scaled;
  if (options.beta == 1 || !(x.shape() == shape) || !scaled.is_contiguous()) {
    y = Tensor::empty(shape, a.dtype());
    copy_into(y, scaled);
  }
  with_floating_type(a.dtype(), [&]<class T>(T) {
    const auto offsets = [&](int64_t i) -> BatchOffset {
      return {i * a.strides()[0], i * b.strides()[0], i * y.strides()[0]};
    };
    const bool batch = shape.rank() == 3;
    batched_gemm<T>(batch ? shape[0] : 1, shape[-2], shape[-1], k, static_cast<T>(options.alpha), matrix_view<T>(a),
                    matrix_view<T>(b), T{1}, MatrixView<T>{y.mutable_data<T>(), shape[-1], 1}, offsets);
  });
  return y;
}

// beta x + alpha a b, where a and b have `rank` axes.
Tensor add_product(std::string_view where, const Tensor& x, const Tensor& a, const Tensor& b, int rank,
                   const AddProductOptions& options) {
  require_floating(where, {&x, &a, &b});
  const bool fits = a.dim() == rank && b.dim() == rank && a.size(-1) == b.size(-2) &&
                    a.size(0) == (rank == 3 ? b.size(0) : a.size(0));
  require(fits, where, "expected {}, got {} and {}", rank == 2 ? "[m, k] and [k, n]" : "[B, m, k] and [B, k, n]",
          a.shape(), b.shape());
  const Shape shape = with_size(a.shape(), -1, b.size(-1));
  require(broadcasts_to(x.shape(), shape), where, "expected x that broadcasts to {}, got {}", shape, x.shape());
  if (const Tensor sum = add_product_in_place(x, a, b, shape, options); sum.defined()) return sum;
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
  with_floating_type(a.dtype(), [&]<class T>(T) {
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

// Along the axis that counts -axis from the end: y[0] = a[1] b[2] - a[2] b[1], and so on around.
Tensor cross_of_planes(const Tensor& a, const Tensor& b, int axis) {
  return roll(a, -1, axis) * roll(b, 1, axis) - roll(a, 1, axis) * roll(b, -1, axis);
}

}  // namespace

Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b, const AddProductOptions& options) {
  return add_product("addmm", x, a, b, 2, options);
}

Tensor baddbmm(const Tensor& x, const Tensor& a, const Tensor& b, const AddProductOptions& options) {
  return add_product("baddbmm", x, a, b, 3, options);
}

Tensor cross(const Tensor& a, const Tensor& b, int64_t axis) {
  const Shape shape = broadcast(kCross.name, a.shape(), b.shape());
  const int i = normal_axis(kCross.name, axis, shape) - shape.rank();
  require(is_of_vectors(a, i) && is_of_vectors(b, i), kCross, "expected 3 elements along axis {}, got {} and {}", i,
          a.shape(), b.shape());
  if (a.dtype() != b.dtype() || !is_floating(a.dtype())) return cross_of_planes(a, b, i);
  const Tensor y = detail::unrecorded([&] { return i == -1 ? cross_of_rows(a, b, shape) : cross_of_planes(a, b, i); });
  const bool wants_a = needs_grad(a), wants_b = needs_grad(b);
  const Shape of_a = a.shape(), of_b = b.shape();
  return record(
      kCross, y, {a, b}, [=, a = wants_b ? a : Tensor(), b = wants_a ? b : Tensor()](const Tensor& dy) -> Grads {
        return {wants_a ? sum_to(cross(b, dy, i), of_a) : Tensor(), wants_b ? sum_to(cross(dy, a, i), of_b) : Tensor()};
      });
}

}  // namespace tapegrad
