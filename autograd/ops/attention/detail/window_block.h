// Blocks of queries of window attention, with their weights in memory; backward recomputes them.
#pragma once

#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/attention/detail/attention_rows.h>
#include <tapegrad/autograd/ops/attention/detail/window_call.h>
#include <tapegrad/autograd/ops/detail/matrix_view.h>

#include <algorithm>
#include <cstring>

namespace tapegrad::window {

// Data that all threads read: views, and contiguous copies of the rows of global tokens.
struct WindowInputs {
  explicit WindowInputs(const WindowAttention& a)
      : batch(leading_axes(a.query)),
        from_q(matrix_starts(a.query, batch)),
        from_k(matrix_starts(a.key, batch)),
        from_v(matrix_starts(a.value, batch)),
        from_mask(a.mask.defined() ? matrix_starts(a.mask, batch) : Offsets()) {
    if (a.globals.empty()) return;
    global_keys = taken(a.key, a.globals, 0, 0);
    global_values = taken(a.value, a.globals, 0, 0);
    if (a.global_queries() > 0) global_queries = taken(a.query, a.globals, a.first_global_query(), a.start());
  }

  // The rows globals[i] - less of x for i >= first, contiguous.
  static Tensor taken(const Tensor& x, const PoolVector<int64_t>& globals, int64_t first, int64_t less) {
    const auto count = static_cast<int64_t>(globals.size()) - first;
    const Tensor index = Tensor::empty({count}, kInt64);
    for (int64_t i = 0; i < count; ++i) {
      index.mutable_data<int64_t>()[i] = globals[static_cast<std::size_t>(first + i)] - less;
    }
    return index_select(x.detach(), -2, index).contiguous();
  }

  Shape batch;
  Offsets from_q, from_k, from_v, from_mask;
  Tensor global_keys, global_values, global_queries;  // [..., G, D] [..., G, E] [..., Q, D]
};

// Buffers of one thread for the weights of a block of queries.
template <class T>
class WindowBlock {
 public:
  WindowBlock(const WindowAttention& a, const WindowInputs& in)
      : a_(a),
        in_(in),
        cells_(a.block_rows() * a.block_columns()),
        memory_(Tensor::empty({a.keep ? 2 : 1, cells_}, a.query.dtype())),
        flags_(Tensor::empty({(a.keep ? cells_ : 0) + a.block_rows() * (a.seen_by_all() + 1)}, kBool)) {}

  // The weights of `rows` queries of a lane from query `first` on, in head h.
  void compute(int64_t h, const Lane& lane, int64_t first, int64_t rows) {
    const auto i = static_cast<std::size_t>(h);
    const int64_t position = lane.shift + first, globals = a_.seen_by_all(), d = a_.query.size(-1);
    first_key_ = std::max<int64_t>(0, position - a_.window);
    keys_ = std::max<int64_t>(0, std::min(lane.keys, position + rows + a_.later()) - first_key_);
    query_row_ = lane.first_query + first * a_.dilation;
    key_row_ = lane.first_key + first_key_ * a_.dilation;
    rows_ = {{.dtype = a_.query.dtype(),
              .rows = rows,
              .columns = globals + keys_,
              .keep_probability = a_.keep_probability,
              .weights = memory_.mutable_data<T>()}};
    rows_.globals = globals;
    rows_.from = position - a_.window - first_key_;
    rows_.to = position + a_.later() + 1 - first_key_;
    rows_.scale = a_.scale;
    if (a_.mask.defined()) {
      const int64_t row = a_.mask.strides()[-2], column = a_.mask.strides()[-1];
      rows_.allowed = a_.mask.data<bool>() + in_.from_mask[i] + query_row_ * row + key_row_ * column;
      rows_.mask_row = row * a_.dilation;
      rows_.mask_column = column * a_.dilation;
    }
    if (globals > 0) look_at_globals(i);
    gemm<T>(rows, keys_, d, T{1}, query(i), transposed(key(i)), T{0}, {weights() + globals, rows_.columns, 1});
    if (globals > 0) {
      gemm<T>(rows, globals, d, T{1}, query(i), transposed(contiguous_matrix<T>(in_.global_keys, h)), T{0},
              {weights(), rows_.columns, 1});
    }
    window_scores_to_weights(rows_);
    if (a_.keep) drop(h);
  }

  // Replaces the weights' gradient [rows, columns] by the scores' gradient.
  void backward(T* gradient) {
    rows_.gradient = gradient;
    window_weights_backward(rows_);
  }

  int64_t keys() const { return keys_; }             // of the span
  int64_t columns() const { return rows_.columns; }  // the global tokens, then these keys
  int64_t cells() const { return cells_; }
  T* weights() const { return static_cast<T*>(rows_.weights); }
  // The weights [rows, columns] after dropout.
  const T* dropped() const { return static_cast<const T*>(rows_.keep ? rows_.dropped : rows_.weights); }

  MatrixView<const T> query(std::size_t i) const { return query_rows(a_.query, in_.from_q[i]); }
  MatrixView<const T> key(std::size_t i) const { return key_rows(a_.key, in_.from_k[i]); }
  MatrixView<const T> value(std::size_t i) const { return key_rows(a_.value, in_.from_v[i]); }
  // The rows of the block's queries, and of its keys, in tensors of the same lengths.
  MatrixView<const T> query_rows(const Tensor& x, int64_t start) const {
    return matrix_of<T>(x, start, query_row_, a_.dilation);
  }
  MatrixView<T> fresh_query_rows(const Tensor& x, int64_t start) const {
    return fresh_matrix_of<T>(x, start, query_row_, a_.dilation);
  }
  MatrixView<const T> key_rows(const Tensor& x, int64_t start) const {
    return matrix_of<T>(x, start, key_row_, a_.dilation);
  }
  MatrixView<T> fresh_key_rows(const Tensor& x, int64_t start) const {
    return fresh_matrix_of<T>(x, start, key_row_, a_.dilation);
  }

 private:
  // Which global tokens the rows attend to in addition to their windows; global tokens themselves have rows elsewhere.
  void look_at_globals(std::size_t i) {
    const int64_t globals = a_.seen_by_all(), d = a_.dilation;
    bool* const hidden = flags_.mutable_data<bool>();
    bool* const seen = hidden + a_.block_rows();
    for (int64_t t = 0; t < rows_.rows; ++t) {
      const int64_t query = query_row_ + t * d, position = a_.start() + query;
      hidden[t] = std::binary_search(a_.globals.begin(), a_.globals.end(), position);
      for (int64_t g = 0; g < globals; ++g) {
        const int64_t key = a_.globals[static_cast<std::size_t>(g)], distance = key - position;
        const bool in_window = distance % d == 0 && distance >= -a_.window * d && distance <= a_.later() * d;
        bool visible = !in_window && (!a_.causal || distance <= 0);
        if (visible && a_.mask.defined()) {
          visible =
              a_.mask.data<bool>()[in_.from_mask[i] + query * a_.mask.strides()[-2] + key * a_.mask.strides()[-1]];
        }
        seen[t * globals + g] = visible;
      }
    }
    rows_.hidden = hidden;
    rows_.seen = seen;
  }

  void drop(int64_t h) {
    bool* const keep = flags_.mutable_data<bool>() + a_.block_rows() * (a_.seen_by_all() + 1);
    std::memset(keep, 0, static_cast<std::size_t>(rows_.rows * rows_.columns));
    for (int64_t t = 0; t < rows_.rows; ++t) {
      const int64_t begin = rows_.begin(t), end = rows_.end(t);
      const int64_t drawn = (h * a_.rows() + query_row_ + t * a_.dilation) * a_.draws();
      bool* const row = keep + t * rows_.columns;
      a_.keep.unpack(drawn + begin - rows_.from - t, end - begin, row + rows_.globals + begin);
      a_.keep.unpack(drawn + a_.slots(), rows_.globals, row);
    }
    rows_.keep = keep;
    rows_.dropped = memory_.mutable_data<T>() + cells_;
    drop_window_weights(rows_);
  }

  const WindowAttention& a_;
  const WindowInputs& in_;
  const int64_t cells_;
  const Tensor memory_;  // weights, then the weights after dropout
  const Tensor flags_;   // hidden rows, which global tokens each row sees, dropout's mask
  WindowRows rows_;
  int64_t first_key_ = 0, keys_ = 0;     // the span in the lane
  int64_t query_row_ = 0, key_row_ = 0;  // first rows in the tensors
};

// The weights of some global tokens' queries, over all keys.
template <class T>
class GlobalBlock {
 public:
  static constexpr int64_t kRows = 16;

  GlobalBlock(const WindowAttention& a, const WindowInputs& in)
      : a_(a),
        in_(in),
        memory_(Tensor::empty({a.keep ? 2 : 1, kRows * a.columns()}, a.query.dtype())),
        kept_(a.keep ? Tensor::empty({kRows * a.columns()}, kBool) : Tensor()) {}

  // Queries first .. first + rows - 1 of the global ones.
  void compute(int64_t h, int64_t first, int64_t rows) {
    const auto i = static_cast<std::size_t>(h);
    const int64_t s = a_.columns();
    rows_ = {.dtype = a_.query.dtype(),
             .rows = rows,
             .columns = s,
             .keep_probability = a_.keep_probability,
             .weights = memory_.mutable_data<T>()};
    gemm<T>(rows, s, a_.query.size(-1), T{1}, query(h, first), transposed(matrix_of<T>(a_.key, in_.from_k[i])), T{0},
            {memory_.mutable_data<T>(), s, 1});
    for (int64_t t = 0; t < rows; ++t) {
      WindowRows row{{.dtype = rows_.dtype,
                      .rows = 1,
                      .columns = s,
                      .keep_probability = 1,
                      .weights = memory_.mutable_data<T>() + t * s}};
      row.to = a_.causal ? a_.start() + row_of(first + t) + 1 : s;
      row.scale = a_.scale;
      if (a_.mask.defined()) {
        row.allowed = a_.mask.data<bool>() + in_.from_mask[i] + row_of(first + t) * a_.mask.strides()[-2];
        row.mask_column = a_.mask.strides()[-1];
      }
      window_scores_to_weights(row);
    }
    if (!a_.keep) return;
    bool* const kept = kept_.mutable_data<bool>();
    const int64_t drawn = a_.heads() * a_.rows() * a_.draws() + (h * a_.global_queries() + first) * s;
    a_.keep.unpack(drawn, rows * s, kept);
    rows_.keep = kept;
    rows_.dropped = memory_.mutable_data<T>() + kRows * s;
    drop_window_weights(rows_);
  }
  void backward(T* gradient) {
    rows_.gradient = gradient;
    window_weights_backward(rows_);
  }
  const T* dropped() const { return static_cast<const T*>(rows_.keep ? rows_.dropped : rows_.weights); }
  // The row of a global query in query, and in the result.
  int64_t row_of(int64_t i) const {
    return a_.globals[static_cast<std::size_t>(a_.first_global_query() + i)] - a_.start();
  }
  MatrixView<const T> query(int64_t h, int64_t first) const {
    return contiguous_matrix<T>(in_.global_queries, h, first);
  }

 private:
  const WindowAttention& a_;
  const WindowInputs& in_;
  const Tensor memory_, kept_;
  AttentionWeights rows_;
};

}  // namespace tapegrad::window
