// The blocks of flex_attention: scores of some queries with a block of keys, their formula and their mask.
// build: -Os
#include <tapegrad/autograd/detail/scratch.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/attention/detail/score_block.h>
#include <tapegrad/autograd/ops/attention/flex/detail/flex_call.h>
#include <tapegrad/autograd/ops/attention/flex/detail/running_rows.h>
#include <tapegrad/autograd/ops/detail/matrix_view.h>
#include <tapegrad/autograd/parallel.h>

#include <algorithm>
#include <limits>

namespace tapegrad {
namespace {

constexpr int64_t kQueries = BlockMask::kQueries, kKeys = BlockMask::kKeys;
constexpr int64_t kStride = kKeys + 16;  // from row to row: their beginnings then use different parts of the cache
constexpr int64_t kLeastPieces = 16;

// The matrix of one head of keys or values, from a row on.
template <class T>
MatrixView<const T> head_of(const Tensor& x, int64_t b, int64_t h, int64_t row) {
  return matrix_of<T>(x, b * x.strides()[0] + h * x.strides()[1], row);
}

template <class T>
bool is_visible(T score) {
  return score != -std::numeric_limits<T>::infinity();
}

// A block of queries, a block of keys, and one thread's memory for their scores.
template <class T>
class FlexBlock {
 public:
  // query [B, H, T, D]: contiguous, times the scale.
  FlexBlock(const FlexCall& a, const Tensor& query, const Tensor& softmax, bool backward)
      : a_(a),
        query_(query.data<T>()),
        softmax_(softmax.mutable_data<T>()),
        scores_(kQueries * kStride),
        slopes_(backward && a.score_mod ? kQueries * kStride : 0),
        allowed_(a.mask.defined() ? kQueries * kStride : 0) {}

  // What the queries of a block, of one head, see of a block of keys; both by number.
  BlockMask::Block visible(int64_t head, int64_t query_block, int64_t key_block) const {
    if (!a_.mask.defined()) return BlockMask::Block::all;
    return a_.mask.block(head / a_.heads(), head % a_.heads(), query_block, key_block);
  }

  // The queries of a block, without keys.
  ScoreBlock& begin(int64_t head, int64_t query_block) {
    const int64_t first = query_block * kQueries;
    T* const highest = softmax_ + head * a_.rows() + first;
    block_ = {.dtype = a_.query.dtype(),
              .rows = std::min(kQueries, a_.rows() - first),
              .columns = 0,
              .stride = kStride,
              .scale = 1,
              .causal = false,
              .first = 0,
              .weights = scores_.get(),
              .dropped = scores_.get(),
              .highest = highest,
              .factor = highest + a_.all_heads() * a_.rows()};
    return block_;
  }

  // Their scores with a block of keys, whose transpose is `keys`, after the formula, and the mask.
  ScoreBlock& scores(int64_t head, int64_t query_block, int64_t key_block, const PackedMatrix<T>& keys) {
    const int64_t d = a_.query.size(-1);
    const flex::Cells<T> cells{.batch = head / a_.heads(),
                               .head = head % a_.heads(),
                               .first_query = query_block * kQueries,
                               .rows = begin(head, query_block).rows,
                               .first_key = key_block * kKeys,
                               .columns = std::min(kKeys, a_.columns() - key_block * kKeys),
                               .scores = scores_.get(),
                               .slopes = slopes_.get(),
                               .stride = kStride};
    block_.columns = cells.columns;
    if (d > 0) {
      keys.multiply_part(cells.rows, cells.columns, d, T{1}, queries(head, query_block), d, T{0}, cells.scores,
                         kStride);
    } else {
      std::fill_n(cells.scores, kQueries * kStride, T{0});
    }
    if (a_.score_mod) a_.score_mod(cells);
    for (int64_t t = 0; t < cells.rows && a_.uniform; ++t) {
      T* const row = cells.scores + t * kStride;
      std::replace_if(row, row + cells.columns, is_visible<T>, T{0});
    }
    if (visible(head, query_block, key_block) == BlockMask::Block::some) mask(cells);
    return block_;
  }

  const T* queries(int64_t head, int64_t query_block) const {
    return query_ + (head * a_.rows() + query_block * kQueries) * a_.query.size(-1);
  }

  // The gradient of the scores before the formula, from that after it. A masked score has none, whatever its slope is.
  void undo_formula(const ScoreBlock& b) const {
    if (!a_.score_mod) return;
    for (int64_t t = 0; t < b.rows; ++t) {
      T* const ds = static_cast<T*>(b.gradient) + t * b.stride;
      const T* const slope = slopes_.get() + t * kStride;
      for (int64_t i = 0; i < b.columns; ++i) ds[i] = ds[i] == 0 ? T{0} : ds[i] * slope[i];
    }
  }

 private:
  void mask(const flex::Cells<T>& of) {
    a_.mask.mask_mod()({.batch = a_.mask.batch() == 1 ? 0 : of.batch,
                        .head = a_.mask.heads() == 1 ? 0 : of.head,
                        .first_query = of.first_query,
                        .rows = of.rows,
                        .first_key = of.first_key,
                        .columns = of.columns,
                        .scores = allowed_.get(),
                        .slopes = nullptr,
                        .stride = kStride});
    block_.allowed = allowed_.get();
    block_.mask_row = kStride;
    block_.mask_column = 1;
  }

  const FlexCall& a_;
  const T* const query_;
  T* const softmax_;
  const Scratch<T> scores_, slopes_;
  const Scratch<bool> allowed_;
  ScoreBlock block_;
};

// The queries of one head from a block to another.
struct FlexPiece {
  int64_t head, first, last;  // blocks of queries
};

template <class T>
class FlexForward {
 public:
  FlexForward(const FlexCall& a, const Tensor& query, const Tensor& y, const Tensor& softmax)
      : a_(a), y_(y.mutable_data<T>()), block_(a, query, softmax, false) {}

  void run(const FlexPiece& piece) {
    const Scratch<bool> begun(piece.last - piece.first);
    std::fill_n(begun.get(), piece.last - piece.first, false);
    for (int64_t key_block = 0; key_block * kKeys < a_.columns(); ++key_block) {
      add_keys(piece, key_block, begun.get());
    }
    for (int64_t i = piece.first; i < piece.last; ++i) {
      ScoreBlock& b = block_.begin(piece.head, i);
      b.width = e_;
      if (begun.get()[i - piece.first]) {
        use_.finish({b, result_of(piece.head, i), false});
      } else {
        std::fill_n(result_of(piece.head, i), b.rows * e_, T{0});
        std::fill_n(static_cast<T*>(b.highest), b.rows, -std::numeric_limits<T>::infinity());
        std::fill_n(static_cast<T*>(b.factor), b.rows, T{0});
      }
    }
  }

 private:
  T* result_of(int64_t head, int64_t query_block) const {
    return y_ + (head * a_.rows() + query_block * kQueries) * e_;
  }

  void add_keys(const FlexPiece& piece, int64_t key_block, bool* begun) {
    bool seen = false;
    for (int64_t i = piece.first; i < piece.last && !seen; ++i) {
      seen = block_.visible(piece.head, i, key_block) != BlockMask::Block::none;
    }
    if (!seen) return;
    const int64_t first = key_block * kKeys, count = std::min(kKeys, a_.columns() - first);
    const int64_t batch = piece.head / a_.heads(), head = piece.head % a_.heads() / a_.sharing();
    const PackedMatrix<T> keys(d_, count, transposed(head_of<T>(a_.key, batch, head, first)));
    const PackedMatrix<T> values(count, e_, head_of<T>(a_.value, batch, head, first));
    for (int64_t i = piece.first; i < piece.last; ++i) {
      if (block_.visible(piece.head, i, key_block) == BlockMask::Block::none) continue;
      ScoreBlock& b = block_.scores(piece.head, i, key_block, keys);
      b.width = e_;
      const bool begins = !begun[i - piece.first];
      begun[i - piece.first] = true;
      use_.add({b, result_of(piece.head, i), begins});
      values.multiply_part(b.rows, e_, b.columns, T{1}, static_cast<const T*>(b.weights), b.stride,
                           begins ? T{0} : T{1}, result_of(piece.head, i), e_);
    }
  }

  const FlexCall& a_;
  T* const y_;
  FlexBlock<T> block_;
  const RunningRowsKernels& use_ = running_rows_kernels();
  const int64_t d_ = a_.query.size(-1), e_ = a_.value.size(-1);
};

// The gradients of the heads that share one head of keys.
template <class T>
class FlexBackward {
 public:
  struct Gradients {
    const T *y, *dy;
    T *dq, *dk, *dv;
  };
  FlexBackward(const FlexCall& a, const Tensor& query, const Tensor& softmax, const Gradients& gradients)
      : a_(a),
        g_(gradients),
        block_(a, query, softmax, true),
        gradient_(kQueries * kStride),
        slopes_(a.sharing() * a.rows()) {}

  void run(int64_t group) {
    for (int64_t h = 0; h < a_.sharing(); ++h) {
      for (int64_t i = 0; i * kQueries < a_.rows(); ++i) {
        use_.slopes(with_rows(block_.begin(group * a_.sharing() + h, i), group * a_.sharing() + h, i));
      }
    }
    for (int64_t key_block = 0; key_block * kKeys < a_.columns(); ++key_block) add_keys(group, key_block);
  }

 private:
  struct Packed {
    PackedMatrix<T> keys, keys_t, values_t;
  };

  ScoreBlock& with_rows(ScoreBlock& b, int64_t head, int64_t query_block) const {
    const int64_t row = head * a_.rows() + query_block * kQueries;
    b.dy = g_.dy + row * e_;
    b.dy_row = b.y_row = b.width = e_;
    b.y = g_.y + row * e_;
    b.slope = slopes_.get() + head % a_.sharing() * a_.rows() + query_block * kQueries;
    b.gradient = gradient_.get();
    return b;
  }

  void add_keys(int64_t group, int64_t key_block) {
    const int64_t first = key_block * kKeys, count = std::min(kKeys, a_.columns() - first);
    const int64_t batch = group / a_.key.size(1), head = group % a_.key.size(1);
    const MatrixView<const T> key = head_of<T>(a_.key, batch, head, first);
    const Packed packed{{count, d_, key},
                        {d_, count, transposed(key)},
                        {e_, count, transposed(head_of<T>(a_.value, batch, head, first))}};
    for (int64_t h = group * a_.sharing(); h < (group + 1) * a_.sharing(); ++h) {
      for (int64_t i = 0; i * kQueries < a_.rows(); ++i) {
        if (block_.visible(h, i, key_block) == BlockMask::Block::none) continue;
        add(h, i, key_block, packed, (group * a_.columns() + first));
      }
    }
  }

  // `key_row`: of dk and dv.
  void add(int64_t head, int64_t query_block, int64_t key_block, const Packed& packed, int64_t key_row) {
    const ScoreBlock& b = with_rows(block_.scores(head, query_block, key_block, packed.keys_t), head, query_block);
    const T* const dy = static_cast<const T*>(b.dy);
    T* const ds = static_cast<T*>(b.gradient);
    use_.weights(b);
    gemm<T>(b.columns, e_, b.rows, T{1}, {static_cast<const T*>(b.weights), 1, b.stride}, {dy, e_, 1}, T{1},
            {g_.dv + key_row * e_, e_, 1});
    if (e_ > 0) {
      packed.values_t.multiply_part(b.rows, b.columns, e_, T{1}, dy, e_, T{0}, ds, b.stride);
    } else {
      std::fill_n(ds, kQueries * kStride, T{0});
    }
    use_.backward(b);
    block_.undo_formula(b);
    packed.keys.multiply_part(b.rows, d_, b.columns, T{1}, ds, b.stride, T{1},
                              g_.dq + (head * a_.rows() + query_block * kQueries) * d_, d_);
    gemm<T>(b.columns, d_, b.rows, T{1}, {ds, 1, b.stride}, {block_.queries(head, query_block), d_, 1}, T{1},
            {g_.dk + key_row * d_, d_, 1});
  }

  const FlexCall& a_;
  const Gradients g_;
  FlexBlock<T> block_;
  const Scratch<T> gradient_, slopes_;
  const AttentionBlockKernels& use_ = attention_block_kernels();
  const int64_t d_ = a_.query.size(-1), e_ = a_.value.size(-1);
};

// The tangents of the heads that share one head of keys.
template <class T>
class FlexTangent {
 public:
  struct Tangents {
    const T *y, *of_query;  // of_query: times the scale
    T* of_y;                // zeros
  };
  FlexTangent(const FlexCall& a, const FlexCall& of, const Tensor& query, const Tensor& softmax,
              const Tangents& tangents)
      : a_(a),
        of_(of),
        t_(tangents),
        block_(a, query, softmax, true),
        gradient_(kQueries * kStride),
        means_(a.rows()) {}

  void run(int64_t head) {
    std::fill_n(means_.get(), a_.rows(), T{0});
    for (int64_t key_block = 0; key_block * kKeys < a_.columns(); ++key_block) add_keys(head, key_block);
    for (int64_t t = 0; t < a_.rows(); ++t) {
      const T* const y = t_.y + (head * a_.rows() + t) * e_;
      T* const of_y = t_.of_y + (head * a_.rows() + t) * e_;
      for (int64_t i = 0; i < e_; ++i) of_y[i] -= means_.get()[t] * y[i];
    }
  }

 private:
  void add_keys(int64_t head, int64_t key_block) {
    const int64_t first = key_block * kKeys, count = std::min(kKeys, a_.columns() - first);
    const int64_t batch = head / a_.heads(), shared = head % a_.heads() / a_.sharing();
    const PackedMatrix<T> keys(d_, count, transposed(head_of<T>(a_.key, batch, shared, first))),
        of_keys(d_, count, transposed(head_of<T>(of_.key, batch, shared, first))),
        values(count, e_, head_of<T>(a_.value, batch, shared, first)),
        of_values(count, e_, head_of<T>(of_.value, batch, shared, first));
    for (int64_t i = 0; i * kQueries < a_.rows(); ++i) {
      if (block_.visible(head, i, key_block) == BlockMask::Block::none) continue;
      ScoreBlock& b = block_.scores(head, i, key_block, keys);
      b.gradient = gradient_.get();
      use_.weights(b);
      const int64_t row = head * a_.rows() + i * kQueries;
      T* const ds = gradient_.get();
      std::fill_n(ds, kQueries * kStride, T{0});
      if (d_ > 0) {
        keys.multiply_part(b.rows, b.columns, d_, T{1}, t_.of_query + row * d_, d_, T{0}, ds, kStride);
        of_keys.multiply_part(b.rows, b.columns, d_, T{1}, block_.queries(head, i), d_, T{1}, ds, kStride);
      }
      block_.undo_formula(b);
      weigh(b, ds, means_.get() + i * kQueries);
      values.multiply_part(b.rows, e_, b.columns, T{1}, ds, kStride, T{1}, t_.of_y + row * e_, e_);
      of_values.multiply_part(b.rows, e_, b.columns, T{1}, static_cast<const T*>(b.weights), kStride, T{1},
                              t_.of_y + row * e_, e_);
    }
  }

  // The tangents of scores times their weights, and added to the mean of each query. A score without weight has none.
  static void weigh(const ScoreBlock& b, T* ds, T* means) {
    for (int64_t t = 0; t < b.rows; ++t) {
      const T* const weight = static_cast<const T*>(b.weights) + t * kStride;
      for (int64_t i = 0; i < b.columns; ++i) {
        T& slope = ds[t * kStride + i];
        slope = weight[i] == 0 ? T{0} : weight[i] * slope;
        means[t] += slope;
      }
    }
  }

  const FlexCall &a_, &of_;
  const Tangents t_;
  FlexBlock<T> block_;
  const Scratch<T> gradient_, means_;
  const AttentionBlockKernels& use_ = attention_block_kernels();
  const int64_t d_ = a_.query.size(-1), e_ = a_.value.size(-1);
};

// The queries times the scale, contiguous.
Tensor scaled_queries(const FlexCall& a) { return packed(a.query.detach() * a.scale); }

}  // namespace

void flex_forward(const FlexCall& a, const Tensor& y, const Tensor& softmax) {
  const Tensor query = scaled_queries(a);
  // With few heads, the queries of a head are divided among threads.
  const int64_t blocks = pieces_of(a.rows(), kQueries), parts = pieces_of(kLeastPieces, a.all_heads());
  const int64_t part = std::max<int64_t>(8, pieces_of(blocks, parts)), cuts = pieces_of(blocks, part);
  with_floating_type(y.dtype(), [&](auto t) {
    parallel_for(a.all_heads() * cuts, 1, [&](int64_t begin, int64_t end) {
      FlexForward<decltype(t)> forward(a, query, y, softmax);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % cuts * part;
        forward.run({.head = i / cuts, .first = first, .last = std::min(blocks, first + part)});
      }
    });
  });
}

void flex_backward(const FlexCall& a, const Tensor& y, const Tensor& softmax, const Tensor& dy, const Tensor& dq,
                   const Tensor& dk, const Tensor& dv) {
  const Tensor query = scaled_queries(a);
  with_floating_type(y.dtype(), [&]<class T>(T) {
    parallel_for(a.all_heads() / a.sharing(), 1, [&](int64_t begin, int64_t end) {
      FlexBackward<T> backward(a, query, softmax,
                               {.y = y.data<T>(),
                                .dy = dy.data<T>(),
                                .dq = dq.mutable_data<T>(),
                                .dk = dk.mutable_data<T>(),
                                .dv = dv.mutable_data<T>()});
      for (int64_t group = begin; group < end; ++group) backward.run(group);
    });
  });
}

void flex_tangent(const FlexCall& a, const Tensor& y, const Tensor& softmax, const FlexCall& of, const Tensor& of_y) {
  const Tensor query = scaled_queries(a), of_query = scaled_queries(of);
  with_floating_type(y.dtype(), [&]<class T>(T) {
    parallel_for(a.all_heads(), 1, [&](int64_t begin, int64_t end) {
      FlexTangent<T> tangent(a, of, query, softmax,
                             {.y = y.data<T>(), .of_query = of_query.data<T>(), .of_y = of_y.mutable_data<T>()});
      for (int64_t head = begin; head < end; ++head) tangent.run(head);
    });
  });
}

}  // namespace tapegrad
