// sparse_matmul and sampled_matmul; each is the gradient of the other.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/sparse/sparse.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/simd/rows-inl.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/sparse.h>

#ifndef TAPEGRAD_SPARSE_ARGS
#define TAPEGRAD_SPARSE_ARGS
namespace tapegrad {

// Rows of the kernels are rows of the sparse matrix.
struct SparseArgs {
  DType dtype;
  const int64_t* offsets;
  const int64_t* columns;
  int64_t size;        // elements of a dense row
  const void* values;  // of the product
  const void* left;    // of the sampled product, [m, size]
  const void* dense;   // [k, size]
  void* out;           // [m, size], or one number per element of the sparse matrix
};

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// y = the sum of value[e] * dense[column[e]] over the elements of a row: `kVecs` vectors of columns in registers.
template <int kVecs, class T>
HWY_INLINE void sum_vectors(const int64_t* column, const T* value, int64_t count, const T* dense, int64_t size, T* y) {
  Vec<T> all[kVecs];
  for (int v = 0; v < kVecs; ++v) all[v] = T{0};
  for (int64_t e = 0; e < count; ++e) {
    const T* const from = dense + column[e] * size;
    const Vec<T> factor = value[e];
    for (int v = 0; v < kVecs; ++v) all[v] = fma(factor, load(from + v * kLanes<T>), all[v]);
  }
  for (int v = 0; v < kVecs; ++v) store(all[v], y + v * kLanes<T>);
}

template <class T>
void sparse_row(const int64_t* column, const T* value, int64_t count, const T* dense, int64_t size, T* y) {
  int64_t j = 0;
  for (; j + 8 * kLanes<T> <= size; j += 8 * kLanes<T>) sum_vectors<8>(column, value, count, dense + j, size, y + j);
  for (; j + 2 * kLanes<T> <= size; j += 2 * kLanes<T>) sum_vectors<2>(column, value, count, dense + j, size, y + j);
  for (; j + kLanes<T> <= size; j += kLanes<T>) sum_vectors<1>(column, value, count, dense + j, size, y + j);
  if (j == size) return;
  Vec<T> all = T{0};
  for (int64_t e = 0; e < count; ++e) {
    all = fma(Vec<T>(value[e]), load(dense + column[e] * size + j, size - j), all);
  }
  store(all, y + j, size - j);
}

void sparse_rows(const SparseArgs& args, int64_t begin, int64_t end) {
  with_floating_type(args.dtype, [&]<class T>(T) {
    const T* const values = static_cast<const T*>(args.values);
    const T* const dense = static_cast<const T*>(args.dense);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = args.offsets[i];
      sparse_row(args.columns + first, values + first, args.offsets[i + 1] - first, dense, args.size,
                 static_cast<T*>(args.out) + i * args.size);
    }
  });
}

void sampled_rows(const SparseArgs& args, int64_t begin, int64_t end) {
  with_floating_type(args.dtype, [&]<class T>(T) {
    for (int64_t i = begin; i < end; ++i) {
      const T* const left = static_cast<const T*>(args.left) + i * args.size;
      for (int64_t e = args.offsets[i]; e < args.offsets[i + 1]; ++e) {
        const T* const right = static_cast<const T*>(args.dense) + args.columns[e] * args.size;
        static_cast<T*>(args.out)[e] =
            reduce_sum(sum_spans<T>(args.size, [&](auto s) { return s.load(left) * s.load(right); }));
      }
    }
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/autograd/detail/index_text.h>
#include <tapegrad/autograd/detail/scratch.h>
#include <tapegrad/autograd/internal/fail.h>

namespace tapegrad {

HWY_EXPORT(sparse_rows);
HWY_EXPORT(sampled_rows);

namespace {

const Op kSparseMatmul{"sparse_matmul"};
const Op kSampledMatmul{"sampled_matmul"};

// The places of a sparse matrix [rows, width].
struct SparsePlaces {
  int64_t rows, width;
  Tensor offsets, columns;  // contiguous, checked
  int64_t count() const { return columns.numel(); }
};

void require_places(const Op& op, std::string_view called, const Tensor& x) {
  require(is_integer(x.dtype()) && x.dim() == 1, op, "expected int64 {} with one axis, got {} {}", called, x.dtype(),
          x.shape());
}

SparsePlaces places_of(const Op& op, const Tensor& offsets, const Tensor& columns, int64_t width) {
  require_places(op, "offsets", offsets);
  require_places(op, "columns", columns);
  const SparsePlaces p{offsets.numel() - 1, width, packed(offsets.to(kInt64)), packed(columns.to(kInt64))};
  const int64_t* const offset = p.offsets.data<int64_t>();
  bool fits = p.rows >= 0 && offset[0] == 0 && offset[p.rows] == p.count();
  for (int64_t i = 0; fits && i < p.rows; ++i) fits = offset[i] <= offset[i + 1];
  if (!fits) fail(op, "expected offsets that ascend from 0 to the {} columns", p.count());
  for (int64_t e = 0; e < p.count(); ++e) {
    const int64_t column = p.columns.data<int64_t>()[e];
    if (column >= 0 && column < width) continue;
    fail(op, "{} at {} of the columns {} is out of range for a matrix of {} columns", column,
         index_text(e, columns.shape()), columns.shape(), width);
  }
  return p;
}

// The same matrix in compressed columns, and which element each of its elements is.
struct TransposedPlaces {
  SparsePlaces places;
  Tensor elements;
};
TransposedPlaces transposed(const SparsePlaces& p) {
  const Tensor offsets = zeros({p.width + 1}, kInt64), rows = Tensor::empty({p.count()}, kInt64);
  const Tensor elements = Tensor::empty({p.count()}, kInt64);
  const int64_t* const column = p.columns.data<int64_t>();
  int64_t* const offset = offsets.mutable_data<int64_t>();
  for (int64_t e = 0; e < p.count(); ++e) ++offset[column[e] + 1];
  for (int64_t k = 0; k < p.width; ++k) offset[k + 1] += offset[k];
  const Scratch<int64_t> next(p.width);
  std::copy(offset, offset + p.width, next.get());
  for (int64_t i = 0; i < p.rows; ++i) {
    for (int64_t e = p.offsets.data<int64_t>()[i]; e < p.offsets.data<int64_t>()[i + 1]; ++e) {
      const int64_t at = next.get()[column[e]]++;
      rows.mutable_data<int64_t>()[at] = i;
      elements.mutable_data<int64_t>()[at] = e;
    }
  }
  return {{p.width, p.rows, offsets, rows}, elements};
}

void run(void (*kernel)(const SparseArgs&, int64_t, int64_t), const SparsePlaces& p, const Tensor& values,
         const Tensor& left, const Tensor& dense, const Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t size = dense.shape()[1];
  run_rows(kernel,
           {.dtype = dense.dtype(),
            .offsets = p.offsets.data<int64_t>(),
            .columns = p.columns.data<int64_t>(),
            .size = size,
            .values = data_or_null(values),
            .left = data_or_null(left),
            .dense = dense.raw_data(),
            .out = out.mutable_raw_data()},
           p.rows, (p.count() / std::max<int64_t>(p.rows, 1) + 1) * size, 32768);
}

Tensor sampled(const SparsePlaces& p, const Tensor& left, const Tensor& right);

// values [n] and dense [width, c] -> [rows, c]. Recorded.
Tensor product(const SparsePlaces& p, const Tensor& values, const Tensor& dense) {
  const Tensor y = Tensor::empty({p.rows, dense.shape()[1]}, dense.dtype());
  run(kernel_of(HWY_DISPATCH_TABLE(sparse_rows)), p, packed(values), {}, packed(dense), y);
  return record(kSparseMatmul, y, {values, dense},
                [p, values = kept_if(needs_grad(dense), values),
                 dense = kept_if(needs_grad(values), dense)](const Tensor& dy) -> Grads {
                  Tensor dvalues, ddense;
                  if (dense.defined()) dvalues = sampled(p, dy, dense);
                  if (values.defined()) {
                    const auto [places, elements] = transposed(p);
                    ddense = product(places, index_select(values, 0, elements), dy);
                  }
                  return {dvalues, ddense};
                });
}

// left [rows, c] and right [width, c] -> [n]. Recorded.
Tensor sampled(const SparsePlaces& p, const Tensor& left, const Tensor& right) {
  const Tensor y = Tensor::empty({p.count()}, left.dtype());
  run(kernel_of(HWY_DISPATCH_TABLE(sampled_rows)), p, {}, packed(left), packed(right), y);
  return record(kSampledMatmul, y, {left, right},
                [p, left = kept_if(needs_grad(right), left),
                 right = kept_if(needs_grad(left), right)](const Tensor& dy) -> Grads {
                  Tensor dleft, dright;
                  if (right.defined()) dleft = product(p, dy, right);
                  if (left.defined()) {
                    const auto [places, elements] = transposed(p);
                    dright = product(places, index_select(dy, 0, elements), left);
                  }
                  return {dleft, dright};
                });
}

}  // namespace

Tensor sparse_matmul(const Tensor& offsets, const Tensor& columns, const Tensor& values, const Tensor& dense) {
  require_floating(kSparseMatmul.name, {&values, &dense});
  if (dense.dim() == 1) return sparse_matmul(offsets, columns, values, dense.unsqueeze(1)).squeeze(1);
  require(dense.dim() == 2, kSparseMatmul, "expected a dense operand with one or two axes, got {}", dense.shape());
  const SparsePlaces places = places_of(kSparseMatmul, offsets, columns, dense.shape()[0]);
  if (values.dim() != 1 || values.numel() != places.count()) {
    fail(kSparseMatmul, "expected values of shape [{}], one for each column, got {}", places.count(), values.shape());
  }
  return product(places, values, dense);
}

Tensor sampled_matmul(const Tensor& offsets, const Tensor& columns, const Tensor& left, const Tensor& right) {
  require_floating(kSampledMatmul.name, {&left, &right});
  require(left.dim() == 2 && right.dim() == 2 && left.shape()[1] == right.shape()[1], kSampledMatmul,
          "expected matrices with equally many columns, got {} and {}", left.shape(), right.shape());
  const SparsePlaces places = places_of(kSampledMatmul, offsets, columns, right.shape()[0]);
  require(places.rows == left.shape()[0], kSampledMatmul, "expected {} offsets for left {}, got {}",
          left.shape()[0] + 1, left.shape(), places.rows + 1);
  return sampled(places, left, right);
}

}  // namespace tapegrad
#endif  // HWY_ONCE
