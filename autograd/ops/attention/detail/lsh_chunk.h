// One call of attention by hashing, and the tokens of one piece of it, with their scores in memory.
#pragma once

#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/kernels/product/blas.h>
#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/ops/detail/matrices.h>

#include <algorithm>
#include <limits>

namespace tapegrad {

// Consecutive tokens of one head in the sorted order, which attend together.
struct Piece {
  int64_t head, first;   // the head, and the piece's first place in its sorted order
  int64_t rows, before;  // the number of tokens, and of tokens in the previous chunk
};

struct LshAttention {
  Tensor query, key, value;  // [..., T, D] [..., T, D] [..., T, E]
  Tensor order;              // int64 [R, ..., T]: the token at each place of the sorted order
  Tensor mask;               // bool [..., T], contiguous, or empty
  int64_t chunk = 1;
  double scale = 1;
  bool causal = false;
  bool within_buckets = false;
  // The chunk of each token, int32 [R, heads, T]: a token attends to its own chunk and to the one numbered before it.
  PoolVector<int32_t> chunk_of = {};
  // By round: first the pieces of even-numbered chunks, which share no keys, then those of odd-numbered ones.
  PoolVector<PoolVector<Piece>> pieces = {};

  int64_t rounds() const { return order.size(0); }
  int64_t tokens() const { return query.size(-2); }
  int64_t heads() const { return leading_axes(query).numel(); }
  int64_t window() const { return fixed_shapes() ? 2 * chunk : std::min(tokens(), 2 * chunk); }
  // Whether a chunk has only tokens before those of the next one. Its results are then bit-identical whatever tokens
  // follow: the shapes of the matmuls depend on places in the bucket, not on its number of tokens.
  bool fixed_shapes() const { return causal && within_buckets; }
  // Queries of a piece that are computed together.
  int64_t block_rows() const { return fixed_shapes() ? std::min<int64_t>(16, chunk) : chunk; }
  const int64_t* order_of(int64_t round, int64_t head) const {
    return order.data<int64_t>() + (round * heads() + head) * tokens();
  }
  const int32_t* chunks_of(int64_t round, int64_t head) const {
    return chunk_of.data() + (round * heads() + head) * tokens();
  }
  bool visible(int64_t head, int64_t token) const {
    return !mask.defined() || mask.data<bool>()[head * tokens() + token];
  }
  // Number of pieces that a thread takes at a time: about a million multiplications.
  int64_t grain() const {
    const int64_t work = chunk * window() * (query.size(-1) + value.size(-1));
    return std::max<int64_t>(1, (int64_t{1} << 20) / std::max<int64_t>(1, work));
  }

  // Divides the sorted order into chunks. With `buckets`, the bucket of each place, every bucket begins a new chunk.
  void cut(const int64_t* buckets);
};

namespace lsh {

// Rows of one head, at any strides.
template <class T>
struct HeadRows {
  T* data;
  int64_t row, column, width;
  HeadRows(const Tensor& x, int64_t start)
      : data(const_cast<T*>(x.data<T>()) + start), row(x.strides()[-2]), column(x.strides()[-1]), width(x.size(-1)) {}
  T& operator()(int64_t token, int64_t i) const { return data[token * row + i * column]; }
  void gather(const int64_t* tokens, int64_t count, T* out) const {
    for (int64_t s = 0; s < count; ++s) {
      for (int64_t i = 0; i < width; ++i) *out++ = (*this)(tokens[s], i);
    }
  }
  void scatter_add(const int64_t* tokens, int64_t count, const T* from) const {
    for (int64_t s = 0; s < count; ++s) {
      for (int64_t i = 0; i < width; ++i) (*this)(tokens[s], i) += *from++;
    }
  }
};

// The heads of an operand.
template <class T>
struct Heads {
  Heads(const Tensor& of, const LshAttention& a) : x(of), starts(matrix_starts(of, leading_axes(a.query))) {}
  HeadRows<T> operator[](int64_t h) const { return {x, starts[static_cast<std::size_t>(h)]}; }

  const Tensor& x;
  const Offsets starts;
};

// Buffers of one thread for a piece.
template <class T>
class Chunk {
 public:
  explicit Chunk(const LshAttention& a)
      : a_(a),
        of_keys_(static_cast<std::size_t>(a.window())),
        times_(static_cast<std::size_t>(a.window())),
        q_(memory(a.chunk * a.query.size(-1))),
        k_(memory(a.window() * a.query.size(-1))),
        v_(memory(a.window() * a.value.size(-1))),
        scores_(memory(a.chunk * a.window())) {
    for (int64_t n = 1; n <= a.rounds(); ++n) logs_.push_back(static_cast<T>(fixed::log(static_cast<double>(n))));
  }

  // Gathers the queries, keys and values of a piece; with fixed_shapes(), zeros follow, to the end of a block.
  void gather(int64_t round, const Piece& piece, const HeadRows<T>& q, const HeadRows<T>& k, const HeadRows<T>& v) {
    head_ = piece.head;
    tokens = piece.rows;
    before_ = piece.before;
    queries = a_.order_of(round, head_) + piece.first;
    keys = queries - piece.before;
    const int64_t block = a_.block_rows();
    const int64_t more = std::min((tokens + block - 1) / block * block, a_.chunk) - tokens;
    const auto fill = [&](const HeadRows<T>& from, const int64_t* of, int64_t count, T* to) {
      from.gather(of, count, to);
      if (a_.fixed_shapes()) std::fill_n(to + count * from.width, more * from.width, T{0});
    };
    fill(q, queries, tokens, this->q());
    fill(k, keys, before_ + tokens, this->k());
    fill(v, keys, before_ + tokens, this->v());
  }

  // The scores of the block that begins with the query `first`, and of all queries.
  void score(int64_t first, int64_t width) {
    rows = std::min(a_.block_rows(), a_.fixed_shapes() ? a_.chunk - first : tokens);
    score_rows(first, width);
  }
  void score_all(int64_t width) {
    rows = tokens;
    score_rows(0, width);
  }

  T* q() const { return q_.mutable_data<T>(); }
  T* k() const { return k_.mutable_data<T>(); }
  T* v() const { return v_.mutable_data<T>(); }
  T* scores() const { return scores_.mutable_data<T>(); }
  Tensor memory(int64_t count) const { return Tensor::empty({count}, a_.query.dtype()); }

  int64_t tokens = 0;                // of the piece; each is a query
  const int64_t* queries = nullptr;  // their tokens
  const int64_t* keys = nullptr;     // the previous chunk's tokens, then these
  int64_t rows = 0, columns = 0;     // of the scores
  int64_t known = 0;                 // rows of tokens; the others are of the zeros that follow them

 private:
  void score_rows(int64_t first, int64_t width) {
    known = std::min(rows, tokens - first);
    columns = before_ + first + rows;
    gemm<T>(rows, columns, width, static_cast<T>(a_.scale), {q() + first * width, width, 1}, {k(), 1, width}, T{0},
            {scores(), columns, 1});
    for (int64_t i = 0; i < known; ++i) hide(queries[first + i], scores() + i * columns);
  }

  // Scores of keys that the token does not attend to become -inf. From the other scores the log of the number of rounds
  // that find the key is subtracted, so that each key counts once.
  void hide(int64_t token, T* row) {
    const T nothing = -std::numeric_limits<T>::infinity();
    const int64_t columns = std::min(this->columns, before_ + tokens);
    std::fill(row + columns, row + this->columns, nothing);
    if (a_.rounds() > 1) {
      std::fill(times_.begin(), times_.end(), 0);
      for (int64_t r = 0; r < a_.rounds(); ++r) {
        const int32_t* const chunks = a_.chunks_of(r, head_);
        for (int64_t j = 0; j < columns; ++j) of_keys_[static_cast<std::size_t>(j)] = chunks[keys[j]];
        const int32_t own = chunks[token];
        for (int64_t j = 0; j < columns; ++j) {
          const auto at = static_cast<std::size_t>(j);
          times_[at] += static_cast<uint32_t>(own - of_keys_[at]) <= 1 ? 1 : 0;
        }
      }
      for (int64_t j = 0; j < columns; ++j)
        row[j] -= logs_[static_cast<std::size_t>(times_[static_cast<std::size_t>(j)] - 1)];
    }
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t other = keys[j];
      const bool allowed = other != token && (!a_.causal || other < token) && a_.visible(head_, other);
      if (!allowed) row[j] = nothing;
    }
  }

  const LshAttention& a_;
  int64_t head_ = 0, before_ = 0;
  PoolVector<int32_t> of_keys_, times_;
  PoolVector<T> logs_;
  const Tensor q_, k_, v_, scores_;
};

}  // namespace lsh
}  // namespace tapegrad
