// Attention head by head: scores, mask, softmax, dropout and the weighted sum of values of some queries, in cache.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/attention/attention_heads.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/ops/attention/detail/attention_rows-inl.h>

#ifndef TAPEGRAD_ATTENTION_HEADS_TYPES
#define TAPEGRAD_ATTENTION_HEADS_TYPES
namespace tapegrad {

// Some rows of one attention head, as its kernels see them.
struct AttentionRows : AttentionWeights {
  int64_t first;  // the first of these queries
  double scale;
  bool causal;  // query t sees the keys 0 .. earlier + t
  int64_t earlier;
  const bool* allowed = nullptr;  // one of the two masks, or none
  const void* added = nullptr;
  int64_t mask_row = 0;  // its strides
  int64_t mask_column = 0;
};

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

void scores_to_weights(const AttentionRows& a) {
  with_floating_type(a.dtype, [&]<class T>(T) {
    const T nothing = kNothing<T>, scale = static_cast<T>(a.scale);
    for (int64_t t = 0; t < a.rows; ++t) {
      T* row = static_cast<T*>(a.weights) + t * a.columns;
      const int64_t visible = a.causal ? std::min(a.columns, a.earlier + a.first + t + 1) : a.columns;
      if (a.allowed) {
        const bool* allowed = a.allowed + t * a.mask_row;
        for (int64_t j = 0; j < visible; ++j) row[j] = allowed[j * a.mask_column] ? row[j] * scale : nothing;
      } else if (a.added) {
        const T* added = static_cast<const T*>(a.added) + t * a.mask_row;
        for (int64_t j = 0; j < visible; ++j) row[j] = row[j] * scale + added[j * a.mask_column];
      } else {
        for (int64_t j = 0; j < visible; ++j) row[j] *= scale;
      }
      softmax_row(row, visible);
      for (int64_t j = visible; j < a.columns; ++j) row[j] = T{0};
    }
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/autograd/ops/attention/detail/attention_call.h>
#include <tapegrad/autograd/ops/detail/matrix_view.h>
#include <tapegrad/autograd/ops/detail/rounded.h>
#include <tapegrad/autograd/parallel.h>

namespace tapegrad {
namespace {

HWY_EXPORT(scores_to_weights);
HWY_EXPORT(drop_weights);
HWY_EXPORT(weights_backward);

// Queries whose weights are in memory at a time: their scores fit the second-level cache.
int64_t block_rows(const Attention& a) {
  constexpr int64_t kBlockCells = int64_t{1} << 14, kLeastRows = 64;
  const int64_t fit = kBlockCells / std::max<int64_t>(1, a.columns());
  return std::max<int64_t>(1, std::min(a.rows(), std::max(fit, kLeastRows)));
}

// An operand of a product: a matrix of T or, for products in bfloat16, of either type.
struct Factor {
  const void* data;
  DType dtype;
  int64_t row_stride, col_stride;
};
// A head of x, from one of its rows on.
Factor head_of(const Tensor& x, int64_t start, int64_t row = 0) {
  const auto* const bytes = static_cast<const std::byte*>(x.raw_data());
  return {bytes + (start + row * x.strides()[-2]) * item_size(x.dtype()), x.dtype(), x.strides()[-2], x.strides()[-1]};
}
template <class T>
Factor factor(const T* data, int64_t row_stride, int64_t col_stride) {
  return {data, dtype_of<T>(), row_stride, col_stride};
}

// C = A B, or C += A B, with A [m, k].
template <class T>
void multiply(bool narrow, int64_t m, int64_t n, int64_t k, const Factor& a, const Factor& b, bool add,
              MatrixView<T> c) {
  if constexpr (std::is_same_v<T, float>) {
    if (narrow) {
      const auto view = [](const Factor& x) -> RoundedView {
        return {x.data, x.dtype == kBFloat16, x.row_stride, x.col_stride};
      };
      return rounded_gemm(m, n, k, view(a), view(b), add, c);
    }
  }
  const auto view = [](const Factor& x) -> MatrixView<const T> {
    return {static_cast<const T*>(x.data), x.row_stride, x.col_stride};
  };
  gemm<T>(m, n, k, T{1}, view(a), view(b), add ? T{1} : T{0}, c);
}

// Where each head begins in the operands.
struct Heads {
  const Offsets query, key, value, mask;

  explicit Heads(const Attention& a)
      : query(matrix_starts(a.query, a.batch)),
        key(matrix_starts(a.key, a.batch)),
        value(matrix_starts(a.value, a.batch)),
        mask(a.mask.defined() ? matrix_starts(a.mask, a.batch) : Offsets()) {}
};

// One thread's memory for the weights of a block of queries, which it computes head by head.
template <class T>
class Block {
 public:
  Block(const Attention& a, const Heads& from)
      : a_(a),
        from_(from),
        key_(transposed_view(a.key)),
        memory_(Tensor::empty({a.keep ? 2 : 1, block_rows(a) * a.columns()}, a.dtype)),
        kept_(a.keep ? Tensor::empty({block_rows(a) * a.columns()}, kBool) : Tensor()) {}

  // Queries first .. first + rows - 1 of head h, keys 0 .. columns - 1. Writes to `weights` [rows, columns], or to
  // memory of its own.
  void compute(int64_t h, int64_t first, int64_t rows, int64_t columns, T* weights = nullptr) {
    const auto i = static_cast<std::size_t>(h);
    rows_ = {{.dtype = a_.dtype,
              .rows = rows,
              .columns = columns,
              .keep_probability = a_.keep_probability,
              .weights = weights ? weights : memory_.mutable_data<T>()},
             first,
             a_.scale,
             a_.causal,
             a_.earlier()};
    if (a_.mask.defined()) set_mask(from_.mask[i], first);
    multiply<T>(a_.narrow, rows, columns, a_.query.size(-1), head_of(a_.query, from_.query[i], first),
                head_of(key_, from_.key[i]), false, {static_cast<T*>(rows_.weights), columns, 1});
    kernel_of(HWY_DISPATCH_TABLE(scores_to_weights))(rows_);
    if (!a_.keep) return;
    bool* const kept = kept_.mutable_data<bool>();
    for (int64_t t = 0; t < rows; ++t) {
      a_.keep.unpack((h * a_.rows() + first + t) * a_.columns(), columns, kept + t * columns);
    }
    rows_.keep = kept;
    rows_.dropped = memory_.mutable_data<T>() + block_rows(a_) * a_.columns();
    kernel_of(HWY_DISPATCH_TABLE(drop_weights))(rows_);
  }

  // The weights [rows, columns] after dropout.
  const T* dropped() const { return static_cast<const T*>(rows_.keep ? rows_.dropped : rows_.weights); }
  // Their gradient [rows, columns] becomes that of the scores.
  void backward(T* gradient) {
    rows_.gradient = gradient;
    kernel_of(HWY_DISPATCH_TABLE(weights_backward))(rows_);
  }

 private:
  void set_mask(int64_t start, int64_t first) {
    const Tensor& mask = a_.mask;
    rows_.mask_row = mask.strides()[-2];
    rows_.mask_column = mask.strides()[-1];
    const int64_t at = start + first * rows_.mask_row;
    if (mask.dtype() == kBool) {
      rows_.allowed = mask.data<bool>() + at;
    } else {
      rows_.added = mask.data<T>() + at;
    }
  }

  const Attention& a_;
  const Heads& from_;
  const Tensor key_;     // [..., D, S]
  const Tensor memory_;  // weights, then the same after dropout
  const Tensor kept_;
  AttentionRows rows_;
};

// Fills y [..., T, E] and, where it is defined, weights [..., T, S].
template <class T>
void forward(const Attention& a, const Tensor& y, const Tensor& weights) {
  const Heads from(a);
  const Offsets from_y = matrix_starts(y, a.batch);
  const int64_t t = a.rows(), s = a.columns(), e = a.value.size(-1), most = block_rows(a);
  parallel_for(a.heads(), a.grain(), [&](int64_t begin, int64_t end) {
    Block<T> block(a, from);
    for (int64_t h = begin; h < end; ++h) {
      const auto i = static_cast<std::size_t>(h);
      for (int64_t first = 0; first < t; first += most) {
        const int64_t rows = std::min(most, t - first);
        T* const out = weights.defined() ? weights.mutable_data<T>() + (h * t + first) * s : nullptr;
        const int64_t columns = out ? s : a.seen_before(first + rows);  // later keys are masked
        block.compute(h, first, rows, columns, out);
        multiply<T>(a.narrow, rows, e, columns, factor(block.dropped(), columns, 1), head_of(a.value, from.value[i]),
                    false, fresh_matrix_of<T>(y, from_y[i], first));
      }
    }
  });
}

template <class T>
void scale_rows(int64_t rows, int64_t columns, T factor, MatrixView<T> x) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) x.data[i * x.row_stride + j * x.col_stride] *= factor;
  }
}

// dquery, dkey, dvalue and, where it is defined, dscores [..., T, S] (the gradient of an added mask). dkey and dvalue
// have one element along the heads that share keys, or as many as there are sums.
template <class T>
void backward(const Attention& a, const Tensor& dy, const Tensor& dq, const Tensor& dk, const Tensor& dv,
              const Tensor& dscores) {
  const Heads from(a);
  const Offsets from_dy = matrix_starts(dy, a.batch);
  const Shape sums = leading_axes(dk);
  const Offsets to_q = matrix_starts(dq, a.batch), to_k = matrix_starts(dk, sums), to_v = matrix_starts(dv, sums);
  const int64_t t = a.rows(), s = a.columns(), d = a.query.size(-1), e = a.value.size(-1), most = block_rows(a);
  const int64_t last = t == 0 ? 0 : (t - 1) / most * most;
  const Tensor value = transposed_view(a.value);
  const int64_t together = a.sharing() / a.sums();  // heads of one sum
  parallel_for(a.heads() / together, std::max<int64_t>(1, a.grain() / together), [&](int64_t begin, int64_t end) {
    Block<T> block(a, from);
    const Tensor scratch = dscores.defined() ? Tensor() : Tensor::empty({most, s}, a.dtype);
    for (int64_t h = begin * together; h < end * together; ++h) {
      const auto i = static_cast<std::size_t>(h), to = static_cast<std::size_t>(h / together);
      // The last queries first: they see every key, so all of dk and dv is written before anything is added to it.
      for (int64_t first = last; first >= 0; first -= most) {
        const int64_t rows = std::min(most, t - first);
        const bool trim = !dscores.defined() && first < last;
        const int64_t columns = trim ? a.seen_before(first + rows) : s;
        const bool add = first < last || h % together > 0;
        T* const ds = dscores.defined() ? dscores.mutable_data<T>() + (h * t + first) * s : scratch.mutable_data<T>();
        block.compute(h, first, rows, columns);
        // y = weights v
        const Factor dy_head = head_of(dy, from_dy[i], first);
        multiply<T>(a.narrow, columns, e, rows, factor(block.dropped(), 1, columns), dy_head, add,
                    fresh_matrix_of<T>(dv, to_v[to]));
        multiply<T>(a.narrow, rows, columns, e, dy_head, head_of(value, from.value[i]), false, {ds, columns, 1});
        block.backward(ds);
        // scores = scale q k^T
        const T scale = static_cast<T>(a.scale);
        const MatrixView<T> dq_head = fresh_matrix_of<T>(dq, to_q[i], first),
                            dk_head = fresh_matrix_of<T>(dk, to_k[to]);
        if (a.narrow) {
          multiply<T>(true, rows, d, columns, factor(ds, columns, 1), head_of(a.key, from.key[i]), false, dq_head);
          multiply<T>(true, columns, d, rows, factor(ds, 1, columns), head_of(a.query, from.query[i], first), add,
                      dk_head);
          scale_rows(rows, d, scale, dq_head);
          if (first == 0 && h % together == together - 1) scale_rows(s, d, scale, dk_head);
        } else {
          gemm<T>(rows, d, columns, scale, {ds, columns, 1}, matrix_of<T>(a.key, from.key[i]), T{0}, dq_head);
          gemm<T>(columns, d, rows, scale, {ds, 1, columns}, matrix_of<T>(a.query, from.query[i], first),
                  add ? T{1} : T{0}, dk_head);
        }
      }
    }
  });
}

}  // namespace

void attention_by_heads(const Attention& a, const Tensor& y, const Tensor& weights) {
  with_floating_type(a.dtype, [&](auto t) { forward<decltype(t)>(a, y, weights); });
}

void attention_by_heads_backward(const Attention& a, const Tensor& dy, const Tensor& dq, const Tensor& dk,
                                 const Tensor& dv, const Tensor& dscores) {
  with_floating_type(a.dtype, [&](auto t) { backward<decltype(t)>(a, dy, dq, dk, dv, dscores); });
}

}  // namespace tapegrad
#endif  // HWY_ONCE
