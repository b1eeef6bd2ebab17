// The tokens of one piece, with their scores in memory.
#pragma once

#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/kernels/product/blas.h>
#include <tapegrad/autograd/ops/attention/detail/lsh_call.h>

#include <algorithm>
#include <limits>

namespace tapegrad::lsh {

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

  // Gathers the queries, keys and values of a piece. Zeros follow them, to the end of a block.
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

  int64_t tokens = 0;                // of the piece: as many queries
  const int64_t* queries = nullptr;  // they, and the keys, which begin with those of the chunk before
  const int64_t* keys = nullptr;
  int64_t rows = 0, columns = 0;  // of the scores
  int64_t known = 0;              // rows that are of tokens; the others are of the zeros that follow them

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

}  // namespace tapegrad::lsh
