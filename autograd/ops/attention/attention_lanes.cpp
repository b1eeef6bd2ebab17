// Attention of many heads that have few queries and keys: each lane of a vector computes another head. Every sum has
// the order of attention_heads.cpp, so the bits are the same.
// build: -O2
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/attention/attention_lanes.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/detail/scratch.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/product/blas_micro.h>
#include <tapegrad/autograd/kernels/simd/simd.h>
#include <tapegrad/autograd/ops/attention/detail/attention_call.h>

#include <limits>

#ifndef TAPEGRAD_ATTENTION_LANES_ARGS
#define TAPEGRAD_ATTENTION_LANES_ARGS
namespace tapegrad {

// A matrix of each head; its rows are contiguous.
struct HeadMatrices {
  void* data = nullptr;  // that are only read, too
  int64_t row = 0;       // elements from one row to the next
  int64_t width = 0;     // of a row
  Offsets starts;        // of the heads
};

struct AttentionLanes {
  const Attention& a;
  HeadMatrices query, key, value;
  HeadMatrices y;
  HeadMatrices dy, dquery, dkey, dvalue;  // for backward
  Offsets mask_starts;
};

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

using T = float;

// A matrix of each lane: element (i, j) of all lanes is the vector at data + (i * row + j * column) * kLanes<T>.
struct LaneMatrix {
  T* data;
  int64_t row, column;

  HWY_INLINE T* at(int64_t i, int64_t j) const { return data + (i * row + j * column) * kLanes<T>; }
  LaneMatrix t() const { return {data, column, row}; }
};

template <int kRows, int kCols>
HWY_INLINE void product_block(int64_t i, int64_t j, int64_t k, T alpha, const LaneMatrix& a, const LaneMatrix& b,
                              const LaneMatrix& c) {
  Vec<T> sum[kRows][kCols];
  const T* left = a.at(i, 0);
  const T* right = b.at(0, j);
  for (int64_t p = 0; p < k; ++p, left += a.column * kLanes<T>, right += b.row * kLanes<T>) {
    Vec<T> row[kCols];
#pragma GCC unroll 4
    for (int q = 0; q < kCols; ++q) row[q] = load(right + q * b.column * kLanes<T>);
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r) {
      const Vec<T> x = load(left + r * a.row * kLanes<T>);
#pragma GCC unroll 4
      for (int q = 0; q < kCols; ++q) sum[r][q] = fma(x, row[q], sum[r][q]);
    }
  }
#pragma GCC unroll 2
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int q = 0; q < kCols; ++q) store(alpha * sum[r][q], c.at(i + r, j + q));
  }
}

template <int kRows>
HWY_INLINE void product_rows(int64_t i, int64_t n, int64_t k, T alpha, const LaneMatrix& a, const LaneMatrix& b,
                             const LaneMatrix& c) {
  int64_t j = 0;
  for (; j + 4 <= n; j += 4) product_block<kRows, 4>(i, j, k, alpha, a, b, c);
  for (; j < n; ++j) product_block<kRows, 1>(i, j, k, alpha, a, b, c);
}

// C [m, n] = alpha A B.
HWY_NOINLINE void lane_product(int64_t m, int64_t n, int64_t k, T alpha, const LaneMatrix& a, const LaneMatrix& b,
                               const LaneMatrix& c) {
  int64_t i = 0;
  for (; i + 2 <= m; i += 2) product_rows<2>(i, n, k, alpha, a, b, c);
  for (; i < m; ++i) product_rows<1>(i, n, k, alpha, a, b, c);
}

// The sum of partial sums, in the order of reduce_sum.
HWY_INLINE Vec<T> halved_sum(Vec<T> (&parts)[kSumLanes<T>]) {
  for (int64_t half = kSumLanes<T> / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; ++i) parts[i] += parts[i + half];
  }
  return parts[0];
}

// Some heads, one for each lane; lanes without a head repeat the last one.
class HeadsInLanes {
 public:
  HeadsInLanes(const AttentionLanes& call, bool backward)
      : call_(call),
        a_(call.a),
        t_(call.a.rows()),
        s_(call.a.columns()),
        d_(call.query.width),
        e_(call.value.width),
        memory_((t_ * (d_ + e_) + s_ * (d_ + e_) + (backward ? 3 : 1) * t_ * s_ +
                 (backward ? std::max(t_, s_) * std::max(d_, e_) : 0)) *
                kLanes<T>),
        keep_(a_.keep ? t_ * s_ * (kLanes<T> + 1) : 0),
        mask_row_(a_.mask.defined() ? a_.mask.strides()[-2] : 0),
        mask_column_(a_.mask.defined() ? a_.mask.strides()[-1] : 0),
        allowed_(a_.mask.defined() && a_.mask.dtype() == kBool ? t_ * s_ * kLanes<T> : 0),
        added_(a_.mask.defined() && a_.mask.dtype() != kBool ? t_ * s_ * kLanes<T> : 0) {
    query_ = {memory_.get(), d_, 1};
    key_ = {query_.at(t_, 0), d_, 1};
    value_ = {key_.at(s_, 0), e_, 1};
    y_ = {value_.at(s_, 0), e_, 1};
    weights_ = {y_.at(t_, 0), s_, 1};
    dropped_ = backward && a_.keep ? LaneMatrix{weights_.at(t_, 0), s_, 1} : weights_;
    gradient_ = {dropped_.at(t_, 0), s_, 1};
    result_ = gradient_.at(t_, 0);
  }

  void forward(int64_t first, int64_t count) {
    // Keys after the last query have no influence.
    compute(first, count, a_.seen_before(t_));
    lane_product(t_, e_, columns_, 1.0F, dropped_, value_, y_);
    write(y_.data, t_, call_.y);
  }

  void backward(int64_t first, int64_t count) {
    compute(first, count, s_);
    read(call_.dy, t_, y_.data);
    const LaneMatrix of_e{result_, e_, 1}, of_d{result_, d_, 1};
    lane_product(s_, e_, t_, 1.0F, dropped_.t(), y_, of_e);
    write(result_, s_, call_.dvalue);
    lane_product(t_, s_, e_, 1.0F, y_, value_.t(), gradient_);
    weights_backward();
    const T scale = static_cast<T>(a_.scale);
    lane_product(t_, d_, s_, scale, gradient_, key_, of_d);
    write(result_, t_, call_.dquery);
    lane_product(s_, d_, t_, scale, gradient_.t(), query_, of_d);
    write(result_, s_, call_.dkey);
  }

 private:
  int64_t head_of(int64_t lane) const { return first_ + std::min(lane, count_ - 1); }

  HWY_NOINLINE void read(const HeadMatrices& x, int64_t rows, T* to) const {
    const T* columns[kLanes<T>];
    for (int64_t i = 0; i < rows; ++i, to += x.width * kLanes<T>) {
      for (int64_t lane = 0; lane < kLanes<T>; ++lane) {
        columns[lane] = static_cast<const T*>(x.data) + x.starts[static_cast<std::size_t>(head_of(lane))] + i * x.row;
      }
      transpose_columns<T>(x.width, columns, to, kLanes<T>);
    }
  }

  HWY_NOINLINE void write(const T* from, int64_t rows, const HeadMatrices& x) const {
    HWY_ALIGN T square[kLanes<T> * kLanes<T>];
    for (int64_t i = 0; i < rows; ++i, from += x.width * kLanes<T>) {
      for (int64_t j = 0; j < x.width; j += kLanes<T>) {
        const int64_t some = std::min(kLanes<T>, x.width - j);
        transpose_lanes(kLanes<T>, some, from + j * kLanes<T>, kLanes<T>, square, kLanes<T>);
        for (int64_t lane = 0; lane < count_; ++lane) {
          T* const to = static_cast<T*>(x.data) + x.starts[static_cast<std::size_t>(first_ + lane)] + i * x.row + j;
          store(load(square + lane * kLanes<T>), to, some);
        }
      }
    }
  }

  // The weights of `columns` keys, after dropout, too.
  HWY_NOINLINE void compute(int64_t first, int64_t count, int64_t columns) {
    first_ = first;
    count_ = count;
    columns_ = columns;
    if (allowed_.get() != nullptr) read_masks(allowed_.get());
    if (added_.get() != nullptr) read_masks(added_.get());
    read(call_.query, t_, query_.data);
    read(call_.key, s_, key_.data);
    read(call_.value, s_, value_.data);
    lane_product(t_, columns, d_, 1.0F, query_, key_.t(), weights_);
    for (int64_t t = 0; t < t_; ++t) softmax(t, std::min(columns, a_.seen_before(t + 1)));
    if (a_.keep) drop();
  }

  // Scores of the query t, the first `visible` of which are not masked by the order, become weights.
  HWY_NOINLINE void softmax(int64_t t, int64_t visible) {
    constexpr T kNothing = -std::numeric_limits<T>::infinity();
    const Vec<T> nothing(kNothing), zero(T{0});
    const T scale = static_cast<T>(a_.scale);
    Vec<T> highest(kNothing);
    for (int64_t j = 0; j < visible; ++j) {
      const Vec<T> x = masked(load(weights_.at(t, j)) * scale, t, j);
      store(x, weights_.at(t, j));
      highest = where(x > highest, x, highest);
    }
    // If every key is masked, the weights are exp(-inf) = 0.
    const Mask<T> all_masked = highest == nothing;
    highest = where(all_masked, zero, highest);
    // As sum_of_row in attention_rows-inl.h.
    const int64_t whole = visible / kSumLanes<T> * kSumLanes<T>;
    Vec<T> parts[kSumLanes<T>];
    for (int64_t j = 0; j < visible; ++j) {
      const Vec<T> e = exp(load(weights_.at(t, j)) - highest);
      store(e, weights_.at(t, j));
      if (j < whole) parts[j % kSumLanes<T>] += e;
    }
    Vec<T> sum = halved_sum(parts);
    for (int64_t j = whole; j < visible; ++j) sum += load(weights_.at(t, j));
    const Vec<T> one(1), factor = where(all_masked, one, one / sum);
    for (int64_t j = 0; j < visible; ++j) store(load(weights_.at(t, j)) * factor, weights_.at(t, j));
    for (int64_t j = visible; j < columns_; ++j) store(zero, weights_.at(t, j));
  }

  // Lays the masks of the heads side by side: [T, S] lanes, or [1, S] if all queries have the same.
  template <class E>
  void read_masks(E* to) const {
    const int64_t rows = mask_row_ == 0 ? 1 : t_, row = mask_row_, column = mask_column_;
    for (int64_t lane = 0; lane < kLanes<T>; ++lane) {
      const E* from = a_.mask.data<E>() + call_.mask_starts[static_cast<std::size_t>(head_of(lane))];
      E* at = to + lane;
      for (int64_t t = 0; t < rows; ++t, from += row) {
        for (int64_t j = 0; j < s_; ++j, at += kLanes<T>) *at = from[j * column];
      }
    }
  }

  Vec<T> masked(Vec<T> score, int64_t t, int64_t j) const {
    const int64_t at = ((mask_row_ == 0 ? 0 : t * s_) + j) * kLanes<T>;
    if (allowed_.get() != nullptr) {
      return where(load_mask<T>(allowed_.get() + at), score, Vec<T>(-std::numeric_limits<T>::infinity()));
    }
    return added_.get() != nullptr ? score + load(added_.get() + at) : score;
  }

  Vec<T> kept(Vec<T> x, int64_t t, int64_t j) const {
    return where(load_mask<T>(keep_.get() + (t * s_ + j) * kLanes<T>), x, Vec<T>(T{0}));
  }

  HWY_NOINLINE void drop() {
    const int64_t cells = t_ * s_;
    bool* const of_head = keep_.get() + cells * kLanes<T>;
    for (int64_t lane = 0; lane < kLanes<T>; ++lane) {
      if (lane < count_) a_.keep.unpack(head_of(lane) * cells, cells, of_head);
      for (int64_t i = 0; i < cells; ++i) keep_.get()[i * kLanes<T> + lane] = of_head[i];
    }
    for (int64_t t = 0; t < t_; ++t) {
      for (int64_t j = 0; j < columns_; ++j) {
        store(kept(load(weights_.at(t, j)) * dropout_factor<T>(a_.keep_probability), t, j), dropped_.at(t, j));
      }
    }
  }

  // The gradient of the weights after dropout becomes that of the scores.
  void weights_backward() {
    const int64_t whole = s_ / kSumLanes<T> * kSumLanes<T>;
    for (int64_t t = 0; t < t_; ++t) {
      Vec<T> parts[kSumLanes<T>];
      for (int64_t j = 0; j < s_; ++j) {
        Vec<T> g = load(gradient_.at(t, j));
        if (a_.keep) store(g = kept(g * dropout_factor<T>(a_.keep_probability), t, j), gradient_.at(t, j));
        Vec<T>& part = parts[j % kSumLanes<T>];
        if (j < whole) part = fma(load(weights_.at(t, j)), g, part);
      }
      Vec<T> dot = halved_sum(parts);
      for (int64_t j = whole; j < s_; ++j) dot += load(weights_.at(t, j)) * load(gradient_.at(t, j));
      for (int64_t j = 0; j < s_; ++j) {
        store(load(weights_.at(t, j)) * (load(gradient_.at(t, j)) - dot), gradient_.at(t, j));
      }
    }
  }

  const AttentionLanes& call_;
  const Attention& a_;
  const int64_t t_, s_, d_, e_;
  const Scratch<T> memory_;
  const Scratch<bool> keep_;              // [T, S] of each lane, and of one head
  const int64_t mask_row_, mask_column_;  // strides
  const Scratch<bool> allowed_;           // one of the two masks, or none
  const Scratch<T> added_;
  LaneMatrix query_, key_, value_, y_, weights_, dropped_, gradient_;
  T* result_;
  int64_t first_ = 0, count_ = 0, columns_ = 0;
};

int64_t heads_together() { return kLanes<T>; }

void lanes_forward(const AttentionLanes& call, int64_t begin, int64_t end) {
  HeadsInLanes heads(call, false);
  for (int64_t h = begin; h < end; h += kLanes<T>) heads.forward(h, std::min(kLanes<T>, end - h));
}

void lanes_backward(const AttentionLanes& call, int64_t begin, int64_t end) {
  HeadsInLanes heads(call, true);
  for (int64_t h = begin; h < end; h += kLanes<T>) heads.backward(h, std::min(kLanes<T>, end - h));
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/autograd/kernels/family.h>
#include <tapegrad/autograd/kernels/product/blas_kernels.h>
#include <tapegrad/autograd/kernels/product/engines.h>
#include <tapegrad/autograd/parallel.h>

namespace tapegrad {
namespace {

HWY_EXPORT(heads_together);
HWY_EXPORT(lanes_forward);
HWY_EXPORT(lanes_backward);

constexpr int64_t kLeastHeads = 16;  // the most lanes of a vector

HeadMatrices read_from(const Tensor& x, const Shape& batch) {
  return {const_cast<void*>(x.raw_data()), x.strides()[-2], x.size(-1), matrix_starts(x, batch)};
}
HeadMatrices written_to(const Tensor& x, const Shape& batch) {
  return {x.mutable_raw_data(), x.strides()[-2], x.size(-1), matrix_starts(x, batch)};
}

AttentionLanes lanes_of(const Attention& a) {
  return {.a = a,
          .query = read_from(a.query, a.batch),
          .key = read_from(a.key, a.batch),
          .value = read_from(a.value, a.batch),
          .y = {},
          .dy = {},
          .dquery = {},
          .dkey = {},
          .dvalue = {},
          .mask_starts = a.mask.defined() ? matrix_starts(a.mask, a.batch) : Offsets()};
}

void run_lanes(const AttentionLanes& call, auto kernel) {
  constexpr int64_t kPieceWork = 1 << 19, kLeastWork = 6000;  // multiplications; about 10 us
  const int64_t heads = call.a.heads(), together = kernel_of(HWY_DISPATCH_TABLE(heads_together))();
  const int64_t grain = kPieceWork / (call.a.head_work() + kLeastWork) / together;
  parallel_for(pieces_of(heads, together), std::max<int64_t>(1, grain),
               [&](int64_t begin, int64_t end) { kernel(call, begin * together, std::min(heads, end * together)); });
}

}  // namespace

bool suits_lanes(const Attention& a) {
  constexpr int64_t kMostElements = 1536;  // of the queries and keys of a head: those of all lanes are then in cache
  const int64_t d = a.query.size(-1), e = a.value.size(-1), t = a.rows(), s = a.columns();
  const auto has_rows = [](const Tensor& x) { return x.strides()[-1] == 1; };
  constexpr int64_t kLeastRows = 4, kLeastColumns = 2;            // for fewer, arranging heads in lanes takes longer
  const bool one_block = std::max({t, s, d, e}) <= blas::kDepth;  // of sums along k: these are not cut into blocks
  return a.dtype == kFloat32 && !a.narrow && a.heads() >= kLeastHeads && t >= kLeastRows && one_block &&
         std::min({s, d, e}) >= kLeastColumns && products() != Products::blis &&
         (t + s) * std::max(d, e) <= kMostElements && a.sharing() == 1 && has_rows(a.query) && has_rows(a.key) &&
         has_rows(a.value);
}

void attention_by_lanes(const Attention& a, const Tensor& y) {
  count_product(Engine::attention, a.heads() * a.head_work());
  AttentionLanes call = lanes_of(a);
  call.y = written_to(y, a.batch);
  run_lanes(call, kernel_of(HWY_DISPATCH_TABLE(lanes_forward)));
}

void attention_by_lanes_backward(const Attention& a, const Tensor& dy, const Tensor& dq, const Tensor& dk,
                                 const Tensor& dv) {
  count_product(Engine::attention, a.heads() * a.rows() * a.columns() * (3 * a.query.size(-1) + 2 * a.value.size(-1)));
  AttentionLanes call = lanes_of(a);
  call.dy = read_from(dy, a.batch);
  call.dquery = written_to(dq, a.batch);
  call.dkey = written_to(dk, a.batch);
  call.dvalue = written_to(dv, a.batch);
  run_lanes(call, kernel_of(HWY_DISPATCH_TABLE(lanes_backward)));
}

}  // namespace tapegrad
#endif  // HWY_ONCE
