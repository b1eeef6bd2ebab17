// Attention within chunks of tokens that are sorted by bucket, in several rounds.
// build: -O2
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/long_attention.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/attention/detail/attention_rows.h>
#include <tapegrad/autograd/ops/attention/detail/hidden_keys.h>
#include <tapegrad/autograd/ops/attention/detail/lsh_chunk.h>
#include <tapegrad/autograd/ops/detail/shapes.h>

#include <algorithm>
#include <cmath>

namespace tapegrad {

void LshAttention::cut(const int64_t* buckets) {
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

namespace {

using lsh::Chunk;
using lsh::HeadRows;
using lsh::Heads;

const Op kLshAttention{"lsh_attention"};

// Calls f(memory, round, piece) for all pieces, round by round; pieces that run in parallel share no keys.
// `make()` makes the buffers that f needs on a thread.
void for_each_piece(const LshAttention& a, const auto& make, const auto& f) {
  for (std::size_t i = 0; i < a.pieces.size(); ++i) {
    const PoolVector<Piece>& pieces = a.pieces[i];
    parallel_for(static_cast<int64_t>(pieces.size()), a.grain(), [&](int64_t begin, int64_t end) {
      auto memory = make();
      for (int64_t j = begin; j < end; ++j) f(memory, static_cast<int64_t>(i / 2), pieces[static_cast<std::size_t>(j)]);
    });
  }
}

// Calls f(head, token) for all tokens.
void for_each_token(const LshAttention& a, const auto& f) {
  const int64_t t = a.tokens();
  parallel_for_each(a.heads() * t, 1024, [&](int64_t i) { f(i / t, i % t); });
}

// Fills y [..., T, E] and whole [..., T], the log of the sum of exp(score); -inf for a token that attends to no other.
template <class T>
class LshForward {
 public:
  LshForward(const LshAttention& a, const Tensor& y, const Tensor& whole)
      : a_(a),
        y_(y),
        totals_(zeros(whole.shape(), y.dtype())),
        highest_(whole.mutable_data<T>()),
        sum_(totals_.mutable_data<T>()) {
    std::fill(highest_, highest_ + whole.numel(), -std::numeric_limits<T>::infinity());
  }

  void run() const {
    const auto make = [&] {
      Chunk<T> chunk(a_);
      return Memory{std::move(chunk), Tensor::empty({a_.chunk * e_}, y_.dtype()),
                    Tensor::empty({3 * a_.chunk}, y_.dtype())};
    };
    for_each_piece(a_, make, [&](Memory& memory, int64_t round, const Piece& piece) { add(memory, round, piece); });
    for_each_token(a_, [&](int64_t h, int64_t token) { finish(h, token); });
  }

 private:
  struct Memory {
    Chunk<T> chunk;
    Tensor mixed, few;
  };

  void add(Memory& memory, int64_t round, const Piece& piece) const {
    const int64_t h = piece.head, d = a_.query.size(-1);
    memory.chunk.gather(round, piece, from_q_[h], from_k_[h], from_v_[h]);
    for (int64_t first = 0; first < memory.chunk.tokens; first += a_.block_rows()) {
      memory.chunk.score(first, d);
      add_block(memory, round == 0, h, memory.chunk.queries + first);
    }
  }

  // Adds what some queries of head h take of the values.
  void add_block(const Memory& memory, bool first_round, int64_t h, const int64_t* queries) const {
    const Chunk<T>& chunk = memory.chunk;
    const HeadRows<T> out = to_y_[h];
    T *const top = memory.few.template mutable_data<T>(), *const total = top + a_.chunk;
    T *const factor = total + a_.chunk, *const fresh = memory.mixed.template mutable_data<T>();
    T *const highest = highest_ + h * a_.tokens(), *const sum = sum_ + h * a_.tokens();
    for (int64_t i = 0; i < chunk.known; ++i) {
      top[i] = highest[queries[i]];
      total[i] = sum[queries[i]];
    }
    lsh_scores_to_weights({.dtype = y_.dtype(),
                           .rows = chunk.known,
                           .columns = chunk.columns,
                           .scores = chunk.scores(),
                           .top = top,
                           .total = total,
                           .factor = factor});
    gemm<T>(chunk.rows, e_, chunk.columns, T{1}, {chunk.scores(), chunk.columns, 1}, {chunk.v(), e_, 1}, T{0},
            {fresh, e_, 1});
    for (int64_t i = 0; i < chunk.known; ++i) {
      const int64_t token = queries[i];
      highest[token] = top[i];
      sum[token] = total[i];
      for (int64_t j = 0; j < e_; ++j) {
        T& one = out(token, j);
        one = first_round ? fresh[i * e_ + j] : one * factor[i] + fresh[i * e_ + j];
      }
    }
  }

  void finish(int64_t h, int64_t token) const {
    const HeadRows<T> v = from_v_[h], out = to_y_[h];
    const T total = sum_[h * a_.tokens() + token];
    if (total == T{0}) {  // it attends only to itself
      const bool self = a_.visible(h, token);
      for (int64_t j = 0; j < e_; ++j) out(token, j) = self ? v(token, j) : T{0};
    } else {
      for (int64_t j = 0; j < e_; ++j) out(token, j) /= total;
      highest_[h * a_.tokens() + token] += fixed::log(total);
    }
  }

  const LshAttention& a_;
  const Tensor &y_, totals_;
  T *const highest_, *const sum_;  // `whole` until the end, and the sums of exp(score - highest)
  const Heads<T> from_q_{a_.query, a_}, from_k_{a_.key, a_}, from_v_{a_.value, a_}, to_y_{y_, a_};
  const int64_t e_ = a_.value.size(-1);
};

template <class T>
class LshBackward {
 public:
  LshBackward(const LshAttention& a, const Tensor& y, const Tensor& whole, const Tensor& dy, const Tensor& dq,
              const Tensor& dk, const Tensor& dv)
      : a_(a), y_(y), whole_(whole), dy_(dy), dq_(dq), dk_(dk), dv_(dv) {}

  void run() const {
    for_each_token(a_, [&](int64_t h, int64_t token) { start(h, token); });
    const auto make = [&] {
      const auto memory = [&](int64_t count) { return Tensor::empty({count}, dy_.dtype()); };
      Chunk<T> chunk(a_);
      return Memory{std::move(chunk), memory(a_.chunk * e_), memory(a_.chunk * a_.window()),
                    memory(a_.window() * std::max(d_, e_)), memory(2 * a_.chunk)};
    };
    for_each_piece(a_, make, [&](Memory& memory, int64_t round, const Piece& piece) { add(memory, round, piece); });
  }

 private:
  struct Memory {
    Chunk<T> chunk;
    Tensor dys, dscores, added, few;
  };

  void start(int64_t h, int64_t token) const {
    const HeadRows<T> grad = from_dy_[h], to_query = to_q_[h], to_key = to_k_[h], to_value = to_v_[h];
    const T whole = whole_.data<T>()[h * a_.tokens() + token];
    const bool self = whole == -std::numeric_limits<T>::infinity() && a_.visible(h, token);
    for (int64_t j = 0; j < d_; ++j) to_query(token, j) = to_key(token, j) = T{0};
    for (int64_t j = 0; j < e_; ++j) to_value(token, j) = self ? grad(token, j) : T{0};
  }

  void add(Memory& memory, int64_t round, const Piece& piece) const {
    const int64_t h = piece.head;
    T* const dout = memory.dys.template mutable_data<T>();
    T* const ds = memory.dscores.template mutable_data<T>();
    T* const part = memory.added.template mutable_data<T>();
    T *const sums = memory.few.template mutable_data<T>(), *const delta = sums + a_.chunk;
    Chunk<T>& chunk = memory.chunk;
    chunk.gather(round, piece, from_q_[h], from_k_[h], from_v_[h]);
    chunk.score_all(d_);
    const int64_t rows = chunk.rows, columns = chunk.columns;
    from_dy_[h].gather(chunk.queries, rows, dout);
    slopes(h, chunk, dout, sums, delta);
    gemm<T>(rows, columns, e_, T{1}, {dout, e_, 1}, {chunk.v(), 1, e_}, T{0}, {ds, columns, 1});
    lsh_scores_backward({.dtype = y_.dtype(),
                         .rows = rows,
                         .columns = columns,
                         .scores = chunk.scores(),
                         .whole = sums,
                         .delta = delta,
                         .gradient = ds});
    gemm<T>(columns, e_, rows, T{1}, {chunk.scores(), 1, columns}, {dout, e_, 1}, T{0}, {part, e_, 1});
    to_v_[h].scatter_add(chunk.keys, columns, part);
    const T scale = static_cast<T>(a_.scale);
    gemm<T>(rows, d_, columns, scale, {ds, columns, 1}, {chunk.k(), d_, 1}, T{0}, {part, d_, 1});
    to_q_[h].scatter_add(chunk.queries, rows, part);
    gemm<T>(columns, d_, rows, scale, {ds, 1, columns}, {chunk.q(), d_, 1}, T{0}, {part, d_, 1});
    to_k_[h].scatter_add(chunk.keys, columns, part);
  }

  // Of each query, the log of its sum, and delta = <dy, y>.
  void slopes(int64_t h, const Chunk<T>& chunk, const T* dout, T* sums, T* delta) const {
    const T* const log_sum = whole_.data<T>() + h * a_.tokens();
    const HeadRows<T> out = from_y_[h];
    for (int64_t i = 0; i < chunk.rows; ++i) {
      const int64_t token = chunk.queries[i];
      sums[i] = log_sum[token];
      delta[i] = T{0};
      for (int64_t j = 0; j < e_; ++j) delta[i] += dout[i * e_ + j] * out(token, j);
    }
  }

  const LshAttention& a_;
  const Tensor &y_, &whole_, &dy_, &dq_, &dk_, &dv_;
  const int64_t d_ = a_.query.size(-1), e_ = a_.value.size(-1);
  const Heads<T> from_q_{a_.query, a_}, from_k_{a_.key, a_}, from_v_{a_.value, a_}, from_y_{y_, a_};
  const Heads<T> from_dy_{dy_, a_}, to_q_{dq_, a_}, to_k_{dk_, a_}, to_v_{dv_, a_};
};

// bool [..., T, T]: the tokens that each one attends to.
Tensor allowed_pairs(const LshAttention& a) {
  const int64_t t = a.tokens();
  const Tensor allowed = zeros(with_axes(leading_axes(a.query), {t, t}), kBool);
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

// A result, and what backward needs of its softmax.
struct LshResult {
  Tensor y, whole;
};

LshResult lsh_result(const LshAttention& a) {
  const LshResult to{empty_laid_out_as(a.query.detach(), a.value.size(-1)),
                     Tensor::empty(a.query.select(-1, 0).shape(), a.query.dtype())};
  with_floating_type(a.query.dtype(), [&](auto type) { LshForward<decltype(type)>(a, to.y, to.whole).run(); });
  return to;
}

Grads lsh_gradients(const LshAttention& a, const LshResult& of, const Tensor& dy) {
  const Tensor dq = empty_laid_out_as(a.query, a.query.size(-1));
  const Tensor dk = empty_laid_out_as(a.key, a.key.size(-1));
  const Tensor dv = empty_laid_out_as(a.value, a.value.size(-1));
  with_floating_type(dy.dtype(),
                     [&](auto type) { LshBackward<decltype(type)>(a, of.y, of.whole, dy, dq, dk, dv).run(); });
  return {dq, dk, dv};
}

constexpr AttentionFunctions<LshAttention, LshResult> kLshFunctions{
    .result = lsh_result,
    .gradients = lsh_gradients,
    .uniform = [](const LshAttention& a) { return a; },
    .recorded = composed_backward,
};

void require_operands(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& buckets) {
  require_floating(kLshAttention.name, {&q, &k, &v});
  const bool fit = q.dim() >= 2 && q.shape() == k.shape() && v.dim() == q.dim() && leading_axes(q) == leading_axes(v) &&
                   v.size(-2) == q.size(-2);
  require(fit, kLshAttention, "expected query and key [..., T, D] and value [..., T, E], got {}, {} and {}", q.shape(),
          k.shape(), v.shape());
  const Shape expected = with_axes(leading_axes(q), {q.size(-2)});
  const bool hashed =
      buckets.dtype() == kInt64 && buckets.dim() == q.dim() && buckets.size(0) > 0 && buckets[0].shape() == expected;
  require(hashed, kLshAttention, "expected int64 buckets [R, ...] with ... = {} of query {}, got {} {}", expected,
          q.shape(), buckets.dtype(), buckets.shape());
}

// bool [..., T]
Tensor mask_of_keys(const Tensor& mask, const Tensor& query) {
  const Shape shape = with_axes(leading_axes(query), {1, query.size(-2)});
  require(mask.dtype() == kBool && broadcasts_to(mask.shape(), shape), kLshAttention,
          "expected a bool mask of keys that broadcasts to {}, got {} {}", shape, mask.dtype(), mask.shape());
  return mask.expand(shape).select(-2, 0).contiguous();
}

}  // namespace

Tensor lsh_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& buckets,
                     const LshAttentionOptions& options) {
  require_operands(query, key, value, buckets);
  require(options.chunk_length >= 1, kLshAttention, "expected a chunk_length of at least 1, got {}",
          options.chunk_length);
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
  LshResult to = lsh_result(a);
  if (!is_all_finite(to.y)) to.y = kLshFunctions.result_of_seen(a, to.y);
  if (!needs_grad(query) && !needs_grad(key) && !needs_grad(value)) return to.y;
  const LshResult kept{to.y.view(to.y.shape(), to.y.strides()), to.whole};  // what backward keeps is not recorded
  return record(kLshAttention, to.y, {query, key, value},
                [a = std::move(a), kept](const Tensor& dy) { return kLshFunctions.backward(a, kept, dy); });
}

}  // namespace tapegrad
