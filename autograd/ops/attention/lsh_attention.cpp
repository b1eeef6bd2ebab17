// Attention within chunks of tokens that are sorted by bucket, in several rounds.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/attention/lsh_attention.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/simd/simd.h>

#include <limits>

#ifndef TAPEGRAD_LSH_ATTENTION_TYPES
#define TAPEGRAD_LSH_ATTENTION_TYPES
namespace tapegrad {

// The queries of one chunk and the keys that they attend to.
struct LshRows {
  DType dtype;
  int64_t rows, columns;
  void* scores;                 // [rows, columns], -inf where hidden; weights afterwards
  void* top = nullptr;          // [rows]: forward: the largest score so far
  void* total = nullptr;        // forward: the sum of exp(score - top) so far
  void* factor = nullptr;       // forward: rescales earlier results
  const void* whole = nullptr;  // backward: log of the sum of exp(score) over all rounds
  const void* delta = nullptr;  // backward: <dy, y>
  void* gradient = nullptr;     // backward: [rows, columns], of the weights; of the scores afterwards
};

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// Replaces scores by exp(score - top), with the top of all rounds so far.
void lsh_weights(const LshRows& a) {
  with_floating_type(a.dtype, [&](auto type) {
    using T = decltype(type);
    constexpr int64_t kStep = kLanes<T>;
    const T nothing = -std::numeric_limits<T>::infinity();
    const int64_t n = a.columns;
    for (int64_t i = 0; i < a.rows; ++i) {
      T* const row = static_cast<T*>(a.scores) + i * n;
      T& top = static_cast<T*>(a.top)[i];
      T& total = static_cast<T*>(a.total)[i];
      Vec<T> tops(top);
      int64_t j = 0;
      for (; j + kStep <= n; j += kStep) tops = max(tops, load(row + j));
      T highest = reduce_max(tops);
      for (; j < n; ++j) highest = row[j] > highest ? row[j] : highest;
      T& factor = static_cast<T*>(a.factor)[i];
      if (highest == nothing) {  // no key yet, or only scores that are NaN, which reach the result
        factor = T{1};
        for (j = 0; j < n; ++j) {
          if (row[j] == row[j]) row[j] = T{0};
          total += row[j];
        }
        continue;
      }
      Vec<T> sums(T{0});
      for (j = 0; j + kStep <= n; j += kStep) {
        const Vec<T> e = exp(load(row + j) - highest);
        sums += e;
        store(e, row + j);
      }
      T sum = reduce_sum(sums);
      if (j < n) {
        const Vec<T> e = exp(load(row + j, n - j) - highest);
        store(e, row + j, n - j);
        for (; j < n; ++j) sum += row[j];
      }
      factor = top == nothing ? T{0} : std::exp(top - highest);
      total = total * factor + sum;
      top = highest;
    }
  });
}

// forward was w = exp(score - whole), y = sum of w v, so now dscore = w (<dy, v> - <dy, y>).
void lsh_weights_backward(const LshRows& a) {
  with_floating_type(a.dtype, [&](auto type) {
    using T = decltype(type);
    constexpr int64_t kStep = kLanes<T>;
    const T nothing = -std::numeric_limits<T>::infinity();
    const int64_t n = a.columns;
    for (int64_t i = 0; i < a.rows; ++i) {
      T* const w = static_cast<T*>(a.scores) + i * n;
      T* const ds = static_cast<T*>(a.gradient) + i * n;
      const T whole = static_cast<const T*>(a.whole)[i], delta = static_cast<const T*>(a.delta)[i];
      if (whole == nothing) {
        std::fill(w, w + n, T{0});
        std::fill(ds, ds + n, T{0});
        continue;
      }
      for (int64_t j = 0; j < n; j += kStep) {
        const int64_t rest = std::min(kStep, n - j);
        const Vec<T> e = rest == kStep ? exp(load(w + j) - whole) : exp(load(w + j, rest) - whole);
        const Vec<T> d = rest == kStep ? load(ds + j) : load(ds + j, rest);
        if (rest == kStep) {
          store(e, w + j);
          store(e * (d - delta), ds + j);
        } else {
          store(e, w + j, rest);
          store(e * (d - delta), ds + j, rest);
        }
      }
    }
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <fmt/format.h>
#include <tapegrad/autograd/kernels/product/blas.h>
#include <tapegrad/autograd/long_attention.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/batch.h>

#include <cmath>

namespace tapegrad {
namespace {

HWY_EXPORT(lsh_weights);
HWY_EXPORT(lsh_weights_backward);

const Op kLshAttention{"lsh_attention"};

// Consecutive tokens of one head in the sorted order, which attend together.
struct Piece {
  int64_t head, first;   // of the sorted order
  int64_t rows, before;  // tokens, and those of the previous chunk
};

struct LshAttention {
  Tensor query, key, value;  // [..., T, D] [..., T, D] [..., T, E]
  Tensor order;              // int64 [R, ..., T]: the token at each place of the sorted order
  Tensor mask;               // bool [..., T], contiguous, or empty
  int64_t chunk = 1;
  double scale = 1;
  bool causal = false;
  bool within_buckets = false;
  // The chunk of each token, int32 [R, heads, T]: a token attends to its own chunk and to the previous number.
  PoolVector<int32_t> chunk_of = {};
  // By round: first the pieces of even-numbered chunks, which share no keys, then those of odd-numbered ones.
  PoolVector<PoolVector<Piece>> pieces = {};

  int64_t rounds() const { return order.size(0); }
  int64_t tokens() const { return query.size(-2); }
  int64_t heads() const { return leading_axes(query).numel(); }
  int64_t window() const { return fixed_shapes() ? 2 * chunk : std::min(tokens(), 2 * chunk); }
  // Whether a chunk has only tokens before those of the next one. Its results then have the same bits whatever comes
  // later: the shapes of the products that make them depend on places in the bucket, not on how many tokens it has.
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

  // Divides the sorted order into chunks; with `buckets` (in that order), every bucket begins a new chunk.
  void cut(const int64_t* buckets) {
    const int64_t t = tokens();
    chunk_of.resize(static_cast<std::size_t>(rounds() * heads() * t));
    for (int64_t round = 0; round < rounds(); ++round) {
      PoolVector<Piece> even, odd;
      for (int64_t head = 0; head < heads(); ++head) {
        const int64_t line = (round * heads() + head) * t;
        const int64_t* const places = order.data<int64_t>() + line;
        const int64_t* const bucket = buckets ? buckets + line : nullptr;
        int32_t number = 0;
        for (int64_t first = 0, rows = 0, before = 0; first < t; first += rows, ++number) {
          const int64_t most = std::min(chunk, t - first);
          for (rows = 1; rows < most && !(bucket && bucket[first + rows] != bucket[first]);) ++rows;
          if (first > 0 && bucket && bucket[first] != bucket[first - 1]) {
            ++number;  // a gap: the previous chunk belongs to another bucket
            before = 0;
          }
          (number % 2 == 0 ? even : odd).push_back({head, first, rows, before});
          for (int64_t i = 0; i < rows; ++i) chunk_of[static_cast<std::size_t>(line + places[first + i])] = number;
          before = rows;
        }
      }
      pieces.push_back(std::move(even));
      pieces.push_back(std::move(odd));
    }
  }
};

// Rows of one head, at any strides.
template <class T>
struct Head {
  T* data;
  int64_t row, column, width;
  Head(const Tensor& x, int64_t start)
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
    for (int64_t n = 1; n <= a.rounds(); ++n) logs_.push_back(static_cast<T>(std::log(static_cast<double>(n))));
  }

  // Gathers the queries, keys and values of a piece. Zeros follow them, to the end of a block.
  void gather(int64_t round, const Piece& piece, const Head<T>& q, const Head<T>& k, const Head<T>& v) {
    head_ = piece.head;
    tokens = piece.rows;
    before_ = piece.before;
    queries = a_.order_of(round, head_) + piece.first;
    keys = queries - piece.before;
    const int64_t block = a_.block_rows();
    const int64_t more = std::min((tokens + block - 1) / block * block, a_.chunk) - tokens;
    const auto fill = [&](const Head<T>& from, const int64_t* of, int64_t count, T* to) {
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

// Calls f(memory, round, piece) for all pieces, round by round; pieces that run in parallel share no keys.
// `make()` makes the buffers that f needs on a thread.
template <class Make, class F>
void for_each_piece(const LshAttention& a, const Make& make, const F& f) {
  for (std::size_t i = 0; i < a.pieces.size(); ++i) {
    const PoolVector<Piece>& pieces = a.pieces[i];
    parallel_for(static_cast<int64_t>(pieces.size()), a.grain(), [&](int64_t begin, int64_t end) {
      auto memory = make();
      for (int64_t j = begin; j < end; ++j) f(memory, static_cast<int64_t>(i / 2), pieces[static_cast<std::size_t>(j)]);
    });
  }
}

// Calls f(head, token) for all tokens.
template <class F>
void for_each_token(const LshAttention& a, const F& f) {
  const int64_t t = a.tokens();
  parallel_for(a.heads() * t, 1024, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i / t, i % t);
  });
}

// Fills y [..., T, E] and whole [..., T], the log of the sum of exp(score); -inf for a token that attends to no other.
template <class T>
void forward(const LshAttention& a, const Tensor& y, const Tensor& whole) {
  const Shape batch = leading_axes(a.query);
  const Offsets from_q = matrix_starts(a.query, batch), from_k = matrix_starts(a.key, batch);
  const Offsets from_v = matrix_starts(a.value, batch), to_y = matrix_starts(y, batch);
  const int64_t t = a.tokens(), e = a.value.size(-1);
  const Tensor totals = zeros(whole.shape(), y.dtype());
  T* const highest = whole.mutable_data<T>();  // until the end
  T* const sum = totals.mutable_data<T>();
  std::fill(highest, highest + whole.numel(), -std::numeric_limits<T>::infinity());
  struct Memory {
    Chunk<T> chunk;
    Tensor mixed, few;
  };
  const auto make = [&] {
    Chunk<T> chunk(a);
    return Memory{std::move(chunk), Tensor::empty({a.chunk * e}, y.dtype()), Tensor::empty({3 * a.chunk}, y.dtype())};
  };
  for_each_piece(a, make, [&](Memory& memory, int64_t round, const Piece& piece) {
    const int64_t h = piece.head;
    const auto at = static_cast<std::size_t>(h);
    const Head<T> q(a.query, from_q[at]), k(a.key, from_k[at]), v(a.value, from_v[at]), out(y, to_y[at]);
    Chunk<T>& chunk = memory.chunk;
    chunk.gather(round, piece, q, k, v);
    T* const top = memory.few.template mutable_data<T>();
    T* const total = top + a.chunk;
    T* const factor = total + a.chunk;
    T* const fresh = memory.mixed.template mutable_data<T>();
    for (int64_t first = 0; first < chunk.tokens; first += a.block_rows()) {
      chunk.score(first, q.width);
      const int64_t* const queries = chunk.queries + first;
      for (int64_t i = 0; i < chunk.known; ++i) {
        top[i] = highest[h * t + queries[i]];
        total[i] = sum[h * t + queries[i]];
      }
      kernel_of(HWY_DISPATCH_TABLE(lsh_weights))({.dtype = y.dtype(),
                                                  .rows = chunk.known,
                                                  .columns = chunk.columns,
                                                  .scores = chunk.scores(),
                                                  .top = top,
                                                  .total = total,
                                                  .factor = factor});
      gemm<T>(chunk.rows, e, chunk.columns, T{1}, {chunk.scores(), chunk.columns, 1}, {chunk.v(), e, 1}, T{0},
              {fresh, e, 1});
      for (int64_t i = 0; i < chunk.known; ++i) {
        const int64_t token = queries[i];
        highest[h * t + token] = top[i];
        sum[h * t + token] = total[i];
        for (int64_t j = 0; j < e; ++j) {
          T& one = out(token, j);
          one = round == 0 ? fresh[i * e + j] : one * factor[i] + fresh[i * e + j];
        }
      }
    }
  });
  for_each_token(a, [&](int64_t h, int64_t token) {
    const auto at = static_cast<std::size_t>(h);
    const Head<T> v(a.value, from_v[at]), out(y, to_y[at]);
    const T total = sum[h * t + token];
    if (total == T{0}) {  // it attends only to itself
      const bool self = a.visible(h, token);
      for (int64_t j = 0; j < e; ++j) out(token, j) = self ? v(token, j) : T{0};
    } else {
      for (int64_t j = 0; j < e; ++j) out(token, j) /= total;
      highest[h * t + token] += std::log(total);
    }
  });
}

template <class T>
void backward(const LshAttention& a, const Tensor& y, const Tensor& whole, const Tensor& dy, const Tensor& dq,
              const Tensor& dk, const Tensor& dv) {
  const Shape batch = leading_axes(a.query);
  const Offsets from_q = matrix_starts(a.query, batch), from_k = matrix_starts(a.key, batch);
  const Offsets from_v = matrix_starts(a.value, batch), from_y = matrix_starts(y, batch);
  const Offsets from_dy = matrix_starts(dy, batch);
  const Offsets to_q = matrix_starts(dq, batch), to_k = matrix_starts(dk, batch), to_v = matrix_starts(dv, batch);
  const int64_t t = a.tokens(), d = a.query.size(-1), e = a.value.size(-1);
  const T scale = static_cast<T>(a.scale);
  for_each_token(a, [&](int64_t h, int64_t token) {
    const auto at = static_cast<std::size_t>(h);
    const Head<T> grad(dy, from_dy[at]), to_query(dq, to_q[at]), to_key(dk, to_k[at]), to_value(dv, to_v[at]);
    const bool self = whole.data<T>()[h * t + token] == -std::numeric_limits<T>::infinity() && a.visible(h, token);
    for (int64_t j = 0; j < d; ++j) to_query(token, j) = to_key(token, j) = T{0};
    for (int64_t j = 0; j < e; ++j) to_value(token, j) = self ? grad(token, j) : T{0};
  });
  struct Memory {
    Chunk<T> chunk;
    Tensor dys, dscores, added, few;
  };
  const auto make = [&] {
    const auto memory = [&](int64_t count) { return Tensor::empty({count}, dy.dtype()); };
    Chunk<T> chunk(a);
    return Memory{std::move(chunk), memory(a.chunk * e), memory(a.chunk * a.window()),
                  memory(a.window() * std::max(d, e)), memory(2 * a.chunk)};
  };
  for_each_piece(a, make, [&](Memory& memory, int64_t round, const Piece& piece) {
    const auto at = static_cast<std::size_t>(piece.head);
    const Head<T> q(a.query, from_q[at]), k(a.key, from_k[at]), v(a.value, from_v[at]), out(y, from_y[at]);
    const Head<T> grad(dy, from_dy[at]), to_query(dq, to_q[at]), to_key(dk, to_k[at]), to_value(dv, to_v[at]);
    const T* const log_sum = whole.data<T>() + piece.head * t;
    T* const dout = memory.dys.template mutable_data<T>();
    T* const ds = memory.dscores.template mutable_data<T>();
    T* const part = memory.added.template mutable_data<T>();
    T* const sums = memory.few.template mutable_data<T>();
    T* const delta = sums + a.chunk;
    Chunk<T>& chunk = memory.chunk;
    chunk.gather(round, piece, q, k, v);
    chunk.score_all(d);
    const int64_t rows = chunk.rows, columns = chunk.columns;
    grad.gather(chunk.queries, rows, dout);
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t token = chunk.queries[i];
      sums[i] = log_sum[token];
      delta[i] = T{0};
      for (int64_t j = 0; j < e; ++j) delta[i] += dout[i * e + j] * out(token, j);
    }
    gemm<T>(rows, columns, e, T{1}, {dout, e, 1}, {chunk.v(), 1, e}, T{0}, {ds, columns, 1});
    kernel_of(HWY_DISPATCH_TABLE(lsh_weights_backward))({.dtype = y.dtype(),
                                                         .rows = rows,
                                                         .columns = columns,
                                                         .scores = chunk.scores(),
                                                         .whole = sums,
                                                         .delta = delta,
                                                         .gradient = ds});
    gemm<T>(columns, e, rows, T{1}, {chunk.scores(), 1, columns}, {dout, e, 1}, T{0}, {part, e, 1});
    to_value.scatter_add(chunk.keys, columns, part);
    gemm<T>(rows, d, columns, scale, {ds, columns, 1}, {chunk.k(), d, 1}, T{0}, {part, d, 1});
    to_query.scatter_add(chunk.queries, rows, part);
    gemm<T>(columns, d, rows, scale, {ds, 1, columns}, {chunk.q(), d, 1}, T{0}, {part, d, 1});
    to_key.scatter_add(chunk.keys, columns, part);
  });
}

// bool [..., T, T]: the tokens that each one attends to.
Tensor allowed_pairs(const LshAttention& a) {
  const int64_t t = a.tokens();
  Shape shape = leading_axes(a.query);
  shape.push_back(t);
  shape.push_back(t);
  const Tensor allowed = zeros(shape, kBool);
  for_each_token(a, [&](int64_t h, int64_t token) {
    bool* const row = allowed.mutable_data<bool>() + (h * t + token) * t;
    for (int64_t round = 0; round < a.rounds(); ++round) {
      const int32_t* const chunks = a.chunks_of(round, h);
      for (int64_t other = 0; other < t; ++other) {
        const bool close = static_cast<uint32_t>(chunks[token] - chunks[other]) <= 1;
        row[other] |= close && other != token && (!a.causal || other < token) && a.visible(h, other);
      }
    }
    if (std::find(row, row + t, true) == row + t) row[token] = a.visible(h, token);
  });
  return allowed;
}

// The same with recorded operations and all pairs, for second-order gradients.
Grads composed_backward(const LshAttention& a, const Tensor& dy) {
  const Tensor hidden = logical_not(allowed_pairs(a));
  const double nothing = -std::numeric_limits<double>::infinity();
  const Tensor w = softmax(masked_fill(matmul(a.query, a.key.t()) * a.scale, hidden, nothing), -1);
  const Tensor dw = matmul(dy, a.value.t());
  const Tensor ds = w * (dw - sum(dw * w, -1, true));
  return {matmul(ds, a.key) * a.scale, matmul(ds.t(), a.query) * a.scale, matmul(w.t(), dy)};
}

Grads lsh_backward(const LshAttention& a, const Tensor& y, const Tensor& whole, const Tensor& dy) {
  if (Tape::current()) return composed_backward(a, dy);
  const Tensor dq = empty_laid_out_as(a.query, a.query.size(-1));
  const Tensor dk = empty_laid_out_as(a.key, a.key.size(-1));
  const Tensor dv = empty_laid_out_as(a.value, a.value.size(-1));
  with_floating_type(dy.dtype(), [&](auto type) { backward<decltype(type)>(a, y, whole, dy, dq, dk, dv); });
  return {dq, dk, dv};
}

void require_operands(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& buckets) {
  require_floating(kLshAttention.name, {&q, &k, &v});
  const bool fit = q.dim() >= 2 && q.shape() == k.shape() && v.dim() == q.dim() && leading_axes(q) == leading_axes(v) &&
                   v.size(-2) == q.size(-2);
  if (!fit) {
    kLshAttention.fail(fmt::format("expected query and key [..., T, D] and value [..., T, E], got {}, {} and {}",
                                   str(q.shape()), str(k.shape()), str(v.shape())));
  }
  Shape expected = leading_axes(q);
  expected.push_back(q.size(-2));
  const bool hashed =
      buckets.dtype() == kInt64 && buckets.dim() == q.dim() && buckets.size(0) > 0 && buckets[0].shape() == expected;
  if (!hashed) {
    kLshAttention.fail(fmt::format("expected int64 buckets [R, ...] with ... = {} of query {}, got {} {}",
                                   str(expected), str(q.shape()), name(buckets.dtype()), str(buckets.shape())));
  }
}

// bool [..., T]
Tensor mask_of_keys(const Tensor& mask, const Tensor& query) {
  Shape shape = leading_axes(query);
  shape.push_back(1);
  shape.push_back(query.size(-2));
  if (mask.dtype() != kBool || !broadcasts_to(mask.shape(), shape)) {
    kLshAttention.fail(fmt::format("expected a bool mask of keys that broadcasts to {}, got {} {}", str(shape),
                                   name(mask.dtype()), str(mask.shape())));
  }
  return mask.expand(shape).select(-2, 0).contiguous();
}

}  // namespace

Tensor lsh_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& buckets,
                     const LshAttentionOptions& options) {
  require_operands(query, key, value, buckets);
  if (options.chunk_length < 1) {
    kLshAttention.fail(fmt::format("expected a chunk_length of at least 1, got {}", options.chunk_length));
  }
  LshAttention a{.query = query, .key = key, .value = value, .order = {}, .mask = {}};
  a.chunk = std::min(options.chunk_length, std::max<int64_t>(1, query.size(-2)));
  a.causal = options.causal;
  a.within_buckets = options.within_buckets;
  a.scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, query.size(-1)))));
  Tensor places = buckets;
  if (options.mask.defined()) {
    a.mask = mask_of_keys(options.mask, query);
    places = where(a.mask, buckets, static_cast<double>(int64_t{1} << 53));
  }
  const Sorted sorted = sort(places, -1);
  a.order = sorted.indices.contiguous();
  const Tensor in_order = sorted.values.contiguous();
  a.cut(a.within_buckets ? in_order.data<int64_t>() : nullptr);
  const Tensor y = empty_laid_out_as(query, value.size(-1));
  const Tensor whole = Tensor::empty(buckets[0].shape(), query.dtype());
  with_floating_type(query.dtype(), [&](auto type) { forward<decltype(type)>(a, y, whole); });
  if (!needs_grad(query) && !needs_grad(key) && !needs_grad(value)) return y;
  const Tensor result = y.view(y.shape(), y.strides());  // what backward keeps is not recorded
  return record(kLshAttention, y, {query, key, value},
                [a = std::move(a), result, whole](const Tensor& dy) { return lsh_backward(a, result, whole, dy); });
}

}  // namespace tapegrad
#endif  // HWY_ONCE
