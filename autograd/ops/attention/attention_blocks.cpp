// Attention with many keys: one block of keys after another, packed once for all queries. The softmax of a row is
// corrected when a block has a higher score than the ones before (Milakov, Gimelshein 2018; Dao and others 2022).
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/attention/attention_blocks.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/simd/rows-inl.h>

#ifndef TAPEGRAD_ATTENTION_BLOCKS_TYPES
#define TAPEGRAD_ATTENTION_BLOCKS_TYPES
namespace tapegrad {

// The scores of some queries of one head with one block of keys. Matrices are [rows, columns] with a distance of
// `stride` between rows.
struct ScoreBlock {
  DType dtype;
  int64_t rows, columns, stride;
  bool causal;
  int64_t first;                  // a causal query t of the block sees the columns 0 .. first + t
  const bool* allowed = nullptr;  // one of the two masks, or none
  const void* added = nullptr;
  int64_t mask_row = 0, mask_column = 0;  // its strides
  const bool* keep = nullptr;             // dropout's mask, or none
  double keep_probability = 1;

  void* weights;            // the scores on entry
  void* dropped = nullptr;  // weights after dropout; the same memory as `weights` without dropout
  void* gradient = nullptr;
  void* highest;           // [rows], of the scores so far
  void* sum;               // [rows], of their exponentials; at the end its inverse
  void* result = nullptr;  // [rows, width], the weighted sum of values so far, or dy
  const void* y = nullptr;
  int64_t result_row = 0, y_row = 0, width = 0;
  void* slope = nullptr;  // [rows], <dy, y>
  bool begins = false;    // the first block of keys of these queries
};

struct AttentionBlockKernels {
  void (*add)(const ScoreBlock& b);       // scores become exponentials, of which highest, sum and result are corrected
  void (*finish)(const ScoreBlock& b);    // sum becomes its inverse, result is multiplied by it
  void (*slopes)(const ScoreBlock& b);    // slope = <dy, y>
  void (*weights)(const ScoreBlock& b);   // scores become weights, before and after dropout
  void (*backward)(const ScoreBlock& b);  // the gradient of the dropped weights becomes that of the scores
};

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

template <class T>
inline constexpr T kNothing = -std::numeric_limits<T>::infinity();

HWY_INLINE int64_t visible_columns(const ScoreBlock& b, int64_t t) {
  return b.causal ? std::clamp<int64_t>(b.first + t + 1, 0, b.columns) : b.columns;
}

template <class T>
void apply_mask(const ScoreBlock& b, int64_t t, T* row, int64_t visible) {
  if (b.allowed) {
    const bool* const allowed = b.allowed + t * b.mask_row;
    if (b.mask_column == 1) {
      each_span<T>(visible, [&](auto s) {
        const int64_t n = std::min(kLanes<T>, visible - s.at);
        s.store(where(load_mask<T>(allowed + s.at, n), s.load(row), Vec<T>(kNothing<T>)), row);
      });
    } else {
      for (int64_t j = 0; j < visible; ++j) row[j] = allowed[j * b.mask_column] ? row[j] : kNothing<T>;
    }
  } else if (b.added) {
    const T* const added = static_cast<const T*>(b.added) + t * b.mask_row;
    if (b.mask_column == 1) {
      map_row(
          visible, row, [](Vec<T> x, Vec<T> m) { return x + m; }, row, added);
    } else {
      for (int64_t j = 0; j < visible; ++j) row[j] += added[j * b.mask_column];
    }
  }
}

// The factor of the weights that dropout keeps, rounded as in PyTorch.
template <class T>
HWY_INLINE T factor_of_kept(const ScoreBlock& b) {
  return T{1} / static_cast<T>(b.keep_probability);
}

template <class T>
void drop_row(const ScoreBlock& b, int64_t t, int64_t n, const T* from, T* to) {
  const Vec<T> factor = factor_of_kept<T>(b);
  const bool* const keep = b.keep + t * b.columns;
  each_span<T>(n, [&](auto s) {
    const Mask<T> kept = load_mask<T>(keep + s.at, std::min(kLanes<T>, n - s.at));
    s.store(where(kept, s.load(from) * factor, Vec<T>(0)), to);
  });
}

template <class T>
void add_block(const ScoreBlock& b) {
  T *const highest = static_cast<T*>(b.highest), *const sum = static_cast<T*>(b.sum);
  for (int64_t t = 0; t < b.rows; ++t) {
    T* const row = static_cast<T*>(b.weights) + t * b.stride;
    const int64_t visible = visible_columns(b, t);
    apply_mask(b, t, row, visible);
    const T before = b.begins ? kNothing<T> : highest[t], top = std::max(largest(row, visible), before);
    const T base = top == kNothing<T> ? T{0} : top;  // while everything is masked
    const Vec<T> parts = sum_spans<T>(visible, [&](auto s) {
      const Vec<T> e = exp_nonpositive(s.load(row) - base);
      s.store(e, row);
      return e;
    });
    std::fill(row + visible, row + b.columns, T{0});
    highest[t] = top;
    if (b.begins) {
      sum[t] = reduce_sum(parts);
    } else {
      const T factor = top == before ? T{1} : std::exp(before - base);
      sum[t] = sum[t] * factor + reduce_sum(parts);
      T* const y = static_cast<T*>(b.result) + t * b.result_row;
      if (factor != 1) {
        map_row(
            b.width, y, [factor](Vec<T> v) { return v * factor; }, y);
      }
    }
    if (b.keep) drop_row(b, t, visible, row, row);
  }
}

template <class T>
void finish_block(const ScoreBlock& b) {
  T* const sum = static_cast<T*>(b.sum);
  for (int64_t t = 0; t < b.rows; ++t) {
    const T factor = sum[t] = sum[t] == 0 ? T{0} : T{1} / sum[t];
    T* const y = static_cast<T*>(b.result) + t * b.result_row;
    map_row(
        b.width, y, [factor](Vec<T> v) { return v * factor; }, y);
  }
}

template <class T>
void slopes_of_block(const ScoreBlock& b) {
  for (int64_t t = 0; t < b.rows; ++t) {
    const T* const dy = static_cast<const T*>(b.result) + t * b.result_row;
    const T* const y = static_cast<const T*>(b.y) + t * b.y_row;
    static_cast<T*>(b.slope)[t] = reduce_sum(sum_spans<T>(b.width, [&](auto s) { return s.load(dy) * s.load(y); }));
  }
}

template <class T>
void weights_of_block(const ScoreBlock& b) {
  for (int64_t t = 0; t < b.rows; ++t) {
    T* const row = static_cast<T*>(b.weights) + t * b.stride;
    const int64_t visible = visible_columns(b, t);
    apply_mask(b, t, row, visible);
    const T top = static_cast<const T*>(b.highest)[t], base = top == kNothing<T> ? T{0} : top;
    const T factor = static_cast<const T*>(b.sum)[t];
    map_row(
        visible, row, [&](Vec<T> x) { return exp_nonpositive(x - base) * factor; }, row);
    std::fill(row + visible, row + b.columns, T{0});
    if (b.keep) drop_row(b, t, b.columns, row, static_cast<T*>(b.dropped) + t * b.stride);
  }
}

// forward was w = softmax(s), d = w * keep * factor, y = d v, so now ds = d * dd - w * <dy, y>.
template <class T>
void scores_backward(const ScoreBlock& b) {
  for (int64_t t = 0; t < b.rows; ++t) {
    const T* const w = static_cast<const T*>(b.weights) + t * b.stride;
    const T* const d = static_cast<const T*>(b.dropped) + t * b.stride;
    T* const ds = static_cast<T*>(b.gradient) + t * b.stride;
    const Vec<T> slope = static_cast<const T*>(b.slope)[t];
    if (d == w) {
      map_row(
          b.columns, ds, [slope](Vec<T> g, Vec<T> p) { return p * (g - slope); }, ds, w);
    } else {
      map_row(
          b.columns, ds, [slope](Vec<T> g, Vec<T> p, Vec<T> kept) { return kept * g - p * slope; }, ds, w, d);
    }
  }
}

template <class T>
const AttentionBlockKernels& block_kernels() {
  static constexpr AttentionBlockKernels kernels{&add_block<T>, &finish_block<T>, &slopes_of_block<T>,
                                                 &weights_of_block<T>, &scores_backward<T>};
  return kernels;
}
const AttentionBlockKernels& block_kernels_float() { return block_kernels<float>(); }
const AttentionBlockKernels& block_kernels_double() { return block_kernels<double>(); }

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/autograd/detail/scratch.h>
#include <tapegrad/autograd/kernels/product/blas.h>
#include <tapegrad/autograd/ops/attention/detail/attention_call.h>
#include <tapegrad/autograd/ops/attention/detail/attention_rows.h>

namespace tapegrad {
namespace {

HWY_EXPORT(block_kernels_float);
HWY_EXPORT(block_kernels_double);

constexpr int64_t kQueries = 64, kKeys = 256;  // of a block: its scores, and keys and values, fit the L2 cache
constexpr int64_t kGap = 16;  // more elements from row to row: their beginnings then use different parts of the cache
static_assert(kKeys <= kPackedDepth);

template <class T>
const AttentionBlockKernels& block_kernels() {
  if constexpr (sizeof(T) == 4) {
    return chosen<HWY_DISPATCH_TABLE(block_kernels_float)>();
  } else {
    return chosen<HWY_DISPATCH_TABLE(block_kernels_double)>();
  }
}

// Copies `rows` rows of n elements, times `factor`.
template <class T>
void copy_rows(MatrixView<const T> x, int64_t rows, int64_t n, T factor, T* to, int64_t to_row) {
  for (int64_t t = 0; t < rows; ++t, to += to_row) {
    const T* const from = x.data + t * x.row_stride;
    if (x.col_stride == 1) {
      for (int64_t j = 0; j < n; ++j) to[j] = from[j] * factor;
    } else {
      for (int64_t j = 0; j < n; ++j) to[j] = from[j * x.col_stride] * factor;
    }
  }
}

template <class T>
void fill_with_zeros(MatrixView<T> x, int64_t rows, int64_t n) {
  for (int64_t t = 0; t < rows; ++t) std::fill_n(x.data + t * x.row_stride, n, T{0});
}

// The keys of one block, and which queries see them.
struct KeyBlock {
  int64_t first, count;
  bool last_of(const Attention& a, int64_t query, int64_t rows) const {
    return first + count >= (a.causal ? std::min(a.columns(), query + rows) : a.columns());
  }
};

// One thread's memory for the scores of some queries with one block of keys.
template <class T>
class Blocks {
 public:
  Blocks(const Attention& a, bool backward)
      : a_(a),
        from_q_(matrix_starts(a.query, a.batch)),
        from_mask_(a.mask.defined() ? matrix_starts(a.mask, a.batch) : Offsets()),
        queries_row_(a.query.size(-1) + kGap),
        queries_(kQueries * queries_row_),
        scores_(kQueries * kStride),
        dropped_(a.keep && backward ? kQueries * kStride : 0),
        keep_(a.keep ? kQueries * kKeys : 0) {}

  // The scores of the queries first .. first + rows - 1 of head h with some of the keys of the block: those that a
  // query sees. `keys` is their transpose.
  ScoreBlock& scores(int64_t h, int64_t first, int64_t rows, const KeyBlock& block, const PackedMatrix<T>& keys,
                     const Tensor& softmax) {
    const auto i = static_cast<std::size_t>(h);
    T* const highest = softmax.mutable_data<T>() + h * a_.rows() + first;
    block_ = {.dtype = a_.query.dtype(),
              .rows = rows,
              .columns = a_.causal ? std::min(block.count, first + rows - block.first) : block.count,
              .stride = kStride,
              .causal = a_.causal,
              .first = first - block.first,
              .keep_probability = a_.keep_probability,
              .weights = scores_.get(),
              .dropped = scores_.get(),
              .highest = highest,
              .sum = highest + a_.heads() * a_.rows(),
              .begins = block.first == 0};
    copy_rows<T>(head<T>(a_.query, from_q_[i], first), rows, a_.query.size(-1), static_cast<T>(a_.scale),
                 queries_.get(), queries_row_);
    keys.multiply_part(rows, block_.columns, a_.query.size(-1), queries_.get(), queries_row_, T{0}, scores_.get(),
                       kStride);
    if (a_.mask.defined())
      set_mask(from_mask_[i] + first * a_.mask.strides()[-2] + block.first * a_.mask.strides()[-1]);
    if (a_.keep) {
      for (int64_t t = 0; t < rows; ++t) {
        a_.keep.unpack((h * a_.rows() + first + t) * a_.columns() + block.first, block_.columns,
                       keep_.get() + t * block_.columns);
      }
      block_.keep = keep_.get();
      if (dropped_.get()) block_.dropped = dropped_.get();
    }
    return block_;
  }

  // The queries times the scale.
  MatrixView<const T> queries() const { return {queries_.get(), queries_row_, 1}; }

  static constexpr int64_t kStride = kKeys + kGap;

 private:
  void set_mask(int64_t start) {
    const Tensor& mask = a_.mask;
    block_.mask_row = mask.strides()[-2];
    block_.mask_column = mask.strides()[-1];
    if (mask.dtype() == kBool) {
      block_.allowed = mask.data<bool>() + start;
    } else {
      block_.added = mask.data<T>() + start;
    }
  }

  const Attention& a_;
  const Offsets from_q_, from_mask_;
  const int64_t queries_row_;
  const Scratch<T> queries_, scores_, dropped_;
  const Scratch<bool> keep_;
  ScoreBlock block_;
};

template <class T>
MatrixView<const T> transposed(MatrixView<const T> x) {
  return {x.data, x.col_stride, x.row_stride};
}

// f(block) for all keys, in order.
template <class F>
void each_key_block(const Attention& a, F f) {
  for (int64_t first = 0; first < a.columns(); first += kKeys) {
    f(KeyBlock{first, std::min(kKeys, a.columns() - first)});
  }
}

template <class T>
void forward(const Attention& a, const Tensor& y, const Tensor& softmax) {
  const Offsets from_k = matrix_starts(a.key, a.batch), from_v = matrix_starts(a.value, a.batch);
  const Offsets from_y = matrix_starts(y, a.batch);
  const int64_t d = a.query.size(-1), e = a.value.size(-1);
  const AttentionBlockKernels& use = block_kernels<T>();
  // With few heads, the queries of a head are divided among threads.
  const int64_t parts = pieces_of(Attention::kLeastPieces, a.heads());
  const int64_t part = std::max<int64_t>(8, pieces_of(pieces_of(a.rows(), kQueries), parts)) * kQueries;
  const int64_t cuts = pieces_of(a.rows(), part);
  parallel_for(a.heads() * cuts, 1, [&](int64_t begin, int64_t end) {
    Blocks<T> blocks(a, false);
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t h = piece / cuts, start = piece % cuts * part, stop = std::min(a.rows(), start + part);
      const auto i = static_cast<std::size_t>(h);
      each_key_block(a, [&](const KeyBlock& block) {
        if (a.causal && block.first >= stop) return;
        const PackedMatrix<T> keys(d, block.count, transposed(head<T>(a.key, from_k[i], block.first)));
        const PackedMatrix<T> values(block.count, e, head<T>(a.value, from_v[i], block.first));
        for (int64_t first = start; first < stop; first += kQueries) {
          const int64_t rows = std::min(kQueries, stop - first);
          if (a.causal && first + rows <= block.first) continue;
          const MatrixView<T> out = fresh_head<T>(y, from_y[i], first);
          ScoreBlock& b = blocks.scores(h, first, rows, block, keys, softmax);
          b.result = out.data;
          b.result_row = out.row_stride;
          b.width = e;
          use.add(b);
          values.multiply_part(rows, e, b.columns, static_cast<const T*>(b.weights), b.stride, b.begins ? T{0} : T{1},
                               out.data, out.row_stride);
          if (block.last_of(a, first, rows)) use.finish(b);
        }
      });
    }
  });
}

template <class T>
void backward(const Attention& a, const Tensor& y, const Tensor& softmax, const Tensor& dy, const Tensor& dq,
              const Tensor& dk, const Tensor& dv) {
  const Offsets from_k = matrix_starts(a.key, a.batch), from_v = matrix_starts(a.value, a.batch);
  const Offsets from_y = matrix_starts(y, a.batch), from_dy = matrix_starts(dy, a.batch);
  const Shape sums = leading_axes(dk);
  const Offsets to_q = matrix_starts(dq, a.batch), to_k = matrix_starts(dk, sums), to_v = matrix_starts(dv, sums);
  const int64_t d = a.query.size(-1), e = a.value.size(-1), together = a.sharing() / a.sums();
  const int64_t last = (a.rows() - 1) / kQueries * kQueries, dy_row = e + kGap;
  const AttentionBlockKernels& use = block_kernels<T>();
  parallel_for(a.heads() / together, 1, [&](int64_t begin, int64_t end) {
    Blocks<T> blocks(a, true);
    const Scratch<T> gradient(kQueries * Blocks<T>::kStride), dy_rows(kQueries * dy_row), slopes(together * a.rows());
    // The queries of head h from `first` on, with the keys of a block; beta: whether dk and dv have a value.
    const auto add = [&](int64_t h, int64_t first, const KeyBlock& block, T beta, const PackedMatrix<T>& keys,
                         const PackedMatrix<T>& keys_t, const PackedMatrix<T>& values_t) {
      const auto i = static_cast<std::size_t>(h), to = static_cast<std::size_t>(h / together);
      const int64_t rows = std::min(kQueries, a.rows() - first);
      const MatrixView<const T> out = head<T>(y, from_y[i], first);
      const MatrixView<T> into_q = fresh_head<T>(dq, to_q[i], first);
      ScoreBlock& b = blocks.scores(h, first, rows, block, keys_t, softmax);
      copy_rows<T>(head<T>(dy, from_dy[i], first), rows, e, T{1}, dy_rows.get(), dy_row);
      b.result = dy_rows.get();
      b.result_row = dy_row;
      b.y = out.data;
      b.y_row = out.row_stride;
      b.width = e;
      b.slope = slopes.get() + h % together * a.rows() + first;
      b.gradient = gradient.get();
      if (b.begins) use.slopes(b);
      use.weights(b);
      gemm<T>(b.columns, e, rows, T{1}, {static_cast<const T*>(b.dropped), 1, b.stride}, {dy_rows.get(), dy_row, 1},
              beta, fresh_head<T>(dv, to_v[to], block.first));
      values_t.multiply_part(rows, b.columns, e, dy_rows.get(), dy_row, T{0}, gradient.get(), b.stride);
      use.backward(b);
      keys.multiply_part(rows, d, b.columns, gradient.get(), b.stride, b.begins ? T{0} : T{1}, into_q.data,
                         into_q.row_stride);
      if (block.last_of(a, first, rows)) {
        copy_rows<T>({into_q.data, into_q.row_stride, 1}, rows, d, static_cast<T>(a.scale), into_q.data,
                     into_q.row_stride);
      }
      gemm<T>(b.columns, d, rows, T{1}, {gradient.get(), 1, b.stride}, blocks.queries(), beta,
              fresh_head<T>(dk, to_k[to], block.first));
    };
    for (int64_t group = begin; group < end; ++group) {
      const auto i = static_cast<std::size_t>(group * together), to = static_cast<std::size_t>(group);
      each_key_block(a, [&](const KeyBlock& block) {
        const int64_t seen = a.causal ? std::clamp<int64_t>(a.rows() - block.first, 0, block.count) : block.count;
        fill_with_zeros<T>(fresh_head<T>(dk, to_k[to], block.first + seen), block.count - seen, d);
        fill_with_zeros<T>(fresh_head<T>(dv, to_v[to], block.first + seen), block.count - seen, e);
        if (seen == 0) return;
        const MatrixView<const T> key = head<T>(a.key, from_k[i], block.first);
        const PackedMatrix<T> keys(block.count, d, key), keys_t(d, block.count, transposed(key));
        const PackedMatrix<T> values_t(e, block.count, transposed(head<T>(a.value, from_v[i], block.first)));
        for (int64_t h = group * together; h < (group + 1) * together; ++h) {
          // The last queries first: they see all keys of the block, so that everything is written before it is added
          // to.
          for (int64_t first = last; first >= 0; first -= kQueries) {
            if (a.causal && first + kQueries <= block.first) break;
            add(h, first, block, first == last && h % together == 0 ? T{0} : T{1}, keys, keys_t, values_t);
          }
        }
      });
    }
  });
}

}  // namespace

bool suits_blocks(const Attention& a) {
  return a.rows() >= kQueries && a.columns() > kKeys && a.query.size(-1) > 0 && a.value.size(-1) > 0;
}

void attention_by_blocks(const Attention& a, const Tensor& y, const Tensor& softmax) {
  with_floating_type(y.dtype(), [&](auto t) { forward<decltype(t)>(a, y, softmax); });
}

void attention_by_blocks_backward(const Attention& a, const Tensor& y, const Tensor& softmax, const Tensor& dy,
                                  const Tensor& dq, const Tensor& dk, const Tensor& dv) {
  with_floating_type(y.dtype(), [&](auto t) { backward<decltype(t)>(a, y, softmax, dy, dq, dk, dv); });
}

}  // namespace tapegrad
#endif  // HWY_ONCE
