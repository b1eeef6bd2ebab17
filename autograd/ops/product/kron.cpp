// The Kronecker product, whose values are written in one pass if no gradient needs them; outer products.
// build: -O2
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/product/kron.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/simd/rows-inl.h>

#ifndef TAPEGRAD_KRON_ARGS
#define TAPEGRAD_KRON_ARGS
namespace tapegrad {

// a, b and y [rows..., width] of the same rank, contiguous; each size of y is the product of those of a and b. A row of
// the kernel is a row of b, multiplied by an element of a.
struct KronArgs {
  DType dtype;
  int rows_rank;  // axes before the last one
  const int64_t* a_shape;
  const int64_t* b_shape;
  const void* a;
  const void* b;
  void* y;
};

// Row i of y is b[i / m] multiplied by a[i].
struct OuterArgs {
  DType dtype;
  int64_t m, n;
  const void* a;
  const void* b;
  void* y;
};

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

void kron_rows(const KronArgs& args, int64_t begin, int64_t end) {
  const int64_t *const of_a = args.a_shape, *const of_b = args.b_shape;
  const int64_t width = of_a[args.rows_rank], n = of_b[args.rows_rank];
  with_floating_type(args.dtype, [&]<class T>(T) {
    T* y = static_cast<T*>(args.y) + begin * n;
    while (begin < end) {
      int64_t a_row = 0, b_row = 0, a_step = 1, b_step = 1, rest = begin / width;
      for (int i = args.rows_rank - 1; i >= 0; --i) {
        const int64_t at = rest % (of_a[i] * of_b[i]);
        rest /= of_a[i] * of_b[i];
        a_row += at / of_b[i] * a_step;
        b_row += at % of_b[i] * b_step;
        a_step *= of_a[i];
        b_step *= of_b[i];
      }
      const T* const a = static_cast<const T*>(args.a) + a_row * width;
      const T* const b = static_cast<const T*>(args.b) + b_row * n;
      const int64_t first = begin % width, count = std::min(width - first, end - begin);
      for (int64_t j = first; j < first + count; ++j, y += n) {
        const Vec<T> factor = a[j];
        each_span<T>(n, [&](auto s) HWY_ATTR { s.store(factor * s.load(b), y); });
      }
      begin += count;
    }
  });
}

void outer_rows(const OuterArgs& args, int64_t begin, int64_t end) {
  with_floating_type(args.dtype, [&]<class T>(T) {
    T* y = static_cast<T*>(args.y) + begin * args.n;
    while (begin < end) {
      const int64_t matrix = begin / args.m;
      const T* const b = static_cast<const T*>(args.b) + matrix * args.n;
      for (const int64_t last = std::min(end, (matrix + 1) * args.m); begin < last; ++begin, y += args.n) {
        const Vec<T> factor = static_cast<const T*>(args.a)[begin];
        each_span<T>(args.n, [&](auto s) HWY_ATTR { s.store(factor * s.load(b), y); });
      }
    }
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/product/detail/one_matrix.h>

namespace tapegrad {

HWY_EXPORT(kron_rows);
HWY_EXPORT(outer_rows);

namespace {

// The shape of x with further axes of one element before it.
Shape with_rank(const Tensor& x, int rank) {
  Shape shape;
  for (int i = x.dim(); i < rank; ++i) shape.push_back(1);
  for (int64_t size : x.shape()) shape.push_back(size);
  return shape;
}

// Of one floating type, at least one axis, and elements. Not recorded.
Tensor kron_values(const Tensor& a, const Tensor& b, const Shape& of_a, const Shape& of_b, const Shape& shape) {
  const Tensor y = Tensor::empty(shape, a.dtype()), left = packed(a), right = packed(b);
  const int64_t n = of_b[-1];
  run_rows(kernel_of(HWY_DISPATCH_TABLE(kron_rows)),
           {.dtype = a.dtype(),
            .rows_rank = of_a.rank() - 1,
            .a_shape = of_a.begin(),
            .b_shape = of_b.begin(),
            .a = left.raw_data(),
            .b = right.raw_data(),
            .y = y.mutable_raw_data()},
           y.numel() / n, n);
  return y;
}

}  // namespace

Tensor outer_products(const Tensor& a, const Tensor& b) {
  const Tensor column = packed(a), row = packed(b);
  const int64_t m = column.size(-1), n = row.size(-1);
  const Tensor y = Tensor::empty({column.size(0), m, n}, column.dtype());
  run_rows(kernel_of(HWY_DISPATCH_TABLE(outer_rows)),
           {.dtype = y.dtype(), .m = m, .n = n, .a = column.raw_data(), .b = row.raw_data(), .y = y.mutable_raw_data()},
           column.numel(), n, 16384);
  return y;
}

Tensor kron(const Tensor& a, const Tensor& b) {
  const int rank = std::max(a.dim(), b.dim());
  if (2 * rank > kMaxRank) fail("kron", "expected at most {} axes, got {} and {}", kMaxRank / 2, a.shape(), b.shape());
  const Shape of_a = with_rank(a, rank), of_b = with_rank(b, rank);
  Shape shape, split_a, split_b;
  for (int i = 0; i < rank; ++i) {
    shape.push_back(of_a[i] * of_b[i]);
    split_a.push_back(of_a[i]);
    split_a.push_back(1);
    split_b.push_back(1);
    split_b.push_back(of_b[i]);
  }
  const bool one_pass = a.dtype() == b.dtype() && (a.dtype() == kFloat32 || a.dtype() == kFloat64) && rank > 0 &&
                        shape.numel() > 0 && !needs_grad(a) && !needs_grad(b);
  if (one_pass) return kron_values(a, b, of_a, of_b, shape);
  return (a.reshape(split_a) * b.reshape(split_b)).reshape(shape);
}

}  // namespace tapegrad
#endif  // HWY_ONCE
