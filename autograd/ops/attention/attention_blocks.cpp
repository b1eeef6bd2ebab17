// Attention with many keys, which are packed once for all queries. Every sum of the forward pass has the order of
// attention_heads.cpp, so the bits are the same.
#include <tapegrad/autograd/detail/pieces.h>
#include <tapegrad/autograd/detail/scratch.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/ops/attention/detail/attention_call.h>
#include <tapegrad/autograd/ops/attention/detail/score_block.h>
#include <tapegrad/autograd/ops/detail/matrix_view.h>
#include <tapegrad/autograd/parallel.h>

#include <algorithm>

namespace tapegrad {
namespace {

// Of a block, whose scores, keys and values fit the L2 cache; in forward, a block has all keys. kQueries divides
// kPackedDepth: no query of a causal block adds the sum of a block of values of which it sees nothing.
constexpr int64_t kQueries = 64, kKeys = 256;
constexpr int64_t kGap = 16;  // more elements from row to row: their beginnings then use different parts of the cache
static_assert(kKeys <= kPackedDepth && kPackedDepth % kQueries == 0);

// Copies `rows` rows of n elements.
template <class T>
void copy_rows(MatrixView<const T> x, int64_t rows, int64_t n, T* to, int64_t to_row) {
  for (int64_t t = 0; t < rows; ++t, to += to_row) {
    const T* const from = x.data + t * x.row_stride;
    if (x.col_stride == 1) {
      std::copy_n(from, n, to);
    } else {
      for (int64_t j = 0; j < n; ++j) to[j] = from[j * x.col_stride];
    }
  }
}

template <class T>
void fill_with_zeros(MatrixView<T> x, int64_t rows, int64_t n) {
  for (int64_t t = 0; t < rows; ++t) std::fill_n(x.data + t * x.row_stride, n, T{0});
}

// Consecutive keys.
struct KeyBlock {
  int64_t first, count;
};

// One thread's memory for the scores of a block of queries with at most `keys` keys.
template <class T>
class Blocks {
 public:
  Blocks(const Attention& a, int64_t keys, bool backward)
      : a_(a),
        from_q_(matrix_starts(a.query, a.batch)),
        from_mask_(a.mask.defined() ? matrix_starts(a.mask, a.batch) : Offsets()),
        queries_row_(a.query.size(-1) + kGap),
        stride_((pieces_of(keys, kGap) | 1) * kGap),  // an odd number of cache lines
        queries_(kQueries * queries_row_),
        scores_(kQueries * stride_),
        dropped_(a.keep && backward ? kQueries * stride_ : 0),
        keep_(a.keep ? kQueries * keys : 0) {}

  // The scores of the queries first .. first + rows - 1 of head h with some of the keys of the block: those that a
  // query sees. `keys` is their transpose.
  ScoreBlock& scores(int64_t h, int64_t first, int64_t rows, const KeyBlock& block, const PackedMatrix<T>& keys,
                     const Tensor& softmax) {
    const auto i = static_cast<std::size_t>(h);
    const int64_t d = a_.query.size(-1);
    T* const highest = softmax.mutable_data<T>() + h * a_.rows() + first;
    const bool scaled = d <= kPackedDepth;  // the sums of several blocks are scaled when they are added
    block_ = {.dtype = a_.query.dtype(),
              .rows = rows,
              .columns = std::min(block.count, a_.seen_before(first + rows) - block.first),
              .stride = stride_,
              .scale = scaled ? 1 : a_.scale,
              .causal = a_.causal,
              .first = a_.earlier() + first - block.first,
              .keep_probability = a_.keep_probability,
              .weights = scores_.get(),
              .dropped = scores_.get(),
              .highest = highest,
              .factor = highest + a_.heads() * a_.rows()};
    copy_rows<T>(matrix_of<T>(a_.query, from_q_[i], first), rows, d, queries_.get(), queries_row_);
    keys.multiply_part(rows, block_.columns, d, scaled ? static_cast<T>(a_.scale) : T{1}, queries_.get(), queries_row_,
                       T{0}, scores_.get(), stride_);
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

  MatrixView<const T> queries() const { return {queries_.get(), queries_row_, 1}; }
  int64_t stride() const { return stride_; }

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
  const int64_t queries_row_, stride_;
  const Scratch<T> queries_, scores_, dropped_;
  const Scratch<bool> keep_;
  ScoreBlock block_;
};

template <class T>
void forward(const Attention& a, const Tensor& y, const Tensor& softmax) {
  const Offsets from_k = matrix_starts(a.key, a.batch), from_v = matrix_starts(a.value, a.batch);
  const Offsets from_y = matrix_starts(y, a.batch);
  const int64_t d = a.query.size(-1), e = a.value.size(-1);
  const AttentionBlockKernels& use = attention_block_kernels();
  // With few heads, the queries of a head are divided among threads.
  const int64_t parts = pieces_of(Attention::kLeastPieces, a.heads());
  const int64_t part = std::max<int64_t>(8, pieces_of(pieces_of(a.rows(), kQueries), parts)) * kQueries;
  const int64_t cuts = pieces_of(a.rows(), part);
  parallel_for(a.heads() * cuts, 1, [&](int64_t begin, int64_t end) {
    Blocks<T> blocks(a, a.columns(), false);
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t h = piece / cuts, start = piece % cuts * part, stop = std::min(a.rows(), start + part);
      const auto i = static_cast<std::size_t>(h);
      const KeyBlock seen{0, a.seen_before(stop)};
      const PackedMatrix<T> keys(d, seen.count, transposed(matrix_of<T>(a.key, from_k[i])));
      const PackedMatrix<T> values(seen.count, e, matrix_of<T>(a.value, from_v[i]));
      for (int64_t first = start; first < stop; first += kQueries) {
        const int64_t rows = std::min(kQueries, stop - first);
        const ScoreBlock& b = blocks.scores(h, first, rows, seen, keys, softmax);
        use.softmax(b);
        const MatrixView<T> out = fresh_matrix_of<T>(y, from_y[i], first);
        values.multiply_part(rows, e, b.columns, T{1}, static_cast<const T*>(b.weights), b.stride, T{0}, out.data,
                             out.row_stride);
      }
    }
  });
}

// The gradients of some heads, whose dk and dv are sums over the heads of a group.
template <class T>
class BlocksBackward {
 public:
  BlocksBackward(const Attention& a, const Tensor& y, const Tensor& softmax, const Tensor& dy, const Tensor& dq,
                 const Tensor& dk, const Tensor& dv)
      : a_(a),
        y_(y),
        softmax_(softmax),
        dy_(dy),
        dq_(dq),
        dk_(dk),
        dv_(dv),
        from_k_(matrix_starts(a.key, a.batch)),
        from_v_(matrix_starts(a.value, a.batch)),
        from_y_(matrix_starts(y, a.batch)),
        from_dy_(matrix_starts(dy, a.batch)),
        to_q_(matrix_starts(dq, a.batch)),
        to_k_(matrix_starts(dk, leading_axes(dk))),
        to_v_(matrix_starts(dv, leading_axes(dk))) {}

  int64_t groups() const { return a_.heads() / together_; }

  // The groups begin .. end - 1, on one thread.
  void run(int64_t begin, int64_t end) const {
    Memory memory(a_, together_, dy_row_);
    for (int64_t group = begin; group < end; ++group) {
      for (int64_t first = 0; first < a_.columns(); first += kKeys) {
        add_block(memory, group, {first, std::min(kKeys, a_.columns() - first)});
      }
    }
  }

 private:
  struct Memory {
    Memory(const Attention& a, int64_t together, int64_t dy_row)
        : blocks(a, kKeys, true),
          gradient(kQueries * blocks.stride()),
          dy_rows(kQueries * dy_row),
          slopes(together * a.rows()) {}
    Blocks<T> blocks;
    const Scratch<T> gradient, dy_rows, slopes;
  };
  // The keys and values of a block, packed for the products that read them.
  struct Packed {
    PackedMatrix<T> keys, keys_t, values_t;
  };

  void add_block(Memory& memory, int64_t group, const KeyBlock& block) const {
    const auto i = static_cast<std::size_t>(group * together_), to = static_cast<std::size_t>(group);
    const int64_t seen = std::clamp<int64_t>(a_.seen_before(a_.rows()) - block.first, 0, block.count);
    fill_with_zeros<T>(fresh_matrix_of<T>(dk_, to_k_[to], block.first + seen), block.count - seen, d_);
    fill_with_zeros<T>(fresh_matrix_of<T>(dv_, to_v_[to], block.first + seen), block.count - seen, e_);
    if (seen == 0) return;
    const MatrixView<const T> key = matrix_of<T>(a_.key, from_k_[i], block.first);
    const Packed packed{{block.count, d_, key},
                        {d_, block.count, transposed(key)},
                        {e_, block.count, transposed(matrix_of<T>(a_.value, from_v_[i], block.first))}};
    for (int64_t h = group * together_; h < (group + 1) * together_; ++h) {
      // The last queries first: they see all keys of the block, so that everything is written before it is added to.
      for (int64_t first = last_; first >= 0; first -= kQueries) {
        if (a_.seen_before(first + kQueries) <= block.first) break;
        add(memory, h, first, block, packed, first == last_ && h % together_ == 0 ? T{0} : T{1});
      }
    }
  }

  // The queries of head h from `first` on, with the keys of a block; beta: whether dk and dv have a value.
  void add(Memory& memory, int64_t h, int64_t first, const KeyBlock& block, const Packed& packed, T beta) const {
    const auto i = static_cast<std::size_t>(h), to = static_cast<std::size_t>(h / together_);
    const int64_t rows = std::min(kQueries, a_.rows() - first);
    const MatrixView<const T> out = matrix_of<T>(y_, from_y_[i], first);
    const MatrixView<T> into_q = fresh_matrix_of<T>(dq_, to_q_[i], first);
    T *const gradient = memory.gradient.get(), *const dy = memory.dy_rows.get();
    ScoreBlock& b = memory.blocks.scores(h, first, rows, block, packed.keys_t, softmax_);
    copy_rows<T>(matrix_of<T>(dy_, from_dy_[i], first), rows, e_, dy, dy_row_);
    b.dy = dy;
    b.dy_row = dy_row_;
    b.y = out.data;
    b.y_row = out.row_stride;
    b.width = e_;
    b.slope = memory.slopes.get() + h % together_ * a_.rows() + first;
    b.gradient = gradient;
    if (block.first == 0) use_.slopes(b);
    use_.weights(b);
    gemm<T>(b.columns, e_, rows, T{1}, {static_cast<const T*>(b.dropped), 1, b.stride}, {dy, dy_row_, 1}, beta,
            fresh_matrix_of<T>(dv_, to_v_[to], block.first));
    packed.values_t.multiply_part(rows, b.columns, e_, T{1}, dy, dy_row_, T{0}, gradient, b.stride);
    use_.backward(b);
    packed.keys.multiply_part(rows, d_, b.columns, scale_, gradient, b.stride, block.first == 0 ? T{0} : T{1},
                              into_q.data, into_q.row_stride);
    gemm<T>(b.columns, d_, rows, scale_, {gradient, 1, b.stride}, memory.blocks.queries(), beta,
            fresh_matrix_of<T>(dk_, to_k_[to], block.first));
  }

  const Attention& a_;
  const Tensor &y_, &softmax_, &dy_, &dq_, &dk_, &dv_;
  const Offsets from_k_, from_v_, from_y_, from_dy_, to_q_, to_k_, to_v_;
  const AttentionBlockKernels& use_ = attention_block_kernels();
  const int64_t d_ = a_.query.size(-1), e_ = a_.value.size(-1), together_ = a_.sharing() / a_.sums();
  const int64_t last_ = (a_.rows() - 1) / kQueries * kQueries, dy_row_ = e_ + kGap;
  const T scale_ = static_cast<T>(a_.scale);
};

}  // namespace

bool suits_blocks(const Attention& a) {
  return a.rows() >= kQueries && a.columns() > kKeys && a.query.size(-1) > 0 && a.value.size(-1) > 0;
}

void attention_by_blocks(const Attention& a, const Tensor& y, const Tensor& softmax) {
  with_floating_type(y.dtype(), [&](auto t) { forward<decltype(t)>(a, y, softmax); });
}

void attention_by_blocks_backward(const Attention& a, const Tensor& y, const Tensor& softmax, const Tensor& dy,
                                  const Tensor& dq, const Tensor& dk, const Tensor& dv) {
  with_floating_type(y.dtype(), [&](auto t) {
    const BlocksBackward<decltype(t)> all(a, y, softmax, dy, dq, dk, dv);
    parallel_for(all.groups(), 1, [&](int64_t begin, int64_t end) { all.run(begin, end); });
  });
}

}  // namespace tapegrad
