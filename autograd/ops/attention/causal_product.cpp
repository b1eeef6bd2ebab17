// The causal product of linear attention: blocks of rows, and a running sum over earlier rows.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/long_attention.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/matrices.h>
#include <tapegrad/autograd/ops/detail/matrix_view.h>

#include <algorithm>
#include <cmath>

namespace tapegrad {
namespace {

const Op kCausalProduct{"causal_product"};

constexpr int64_t kBlockRows = 64;  // rows
constexpr int64_t kTasks = 8;       // with fewer batches, each is also divided along its length

// The operands have equal leading axes, `batch`.
struct Call {
  Tensor a, b, c, y;
  CausalLevels levels;  // [..., T] contiguous, or none
  bool reverse;
  bool finite;  // all of c

  Shape batch = leading_axes(a);
  Offsets from_a = matrix_starts(a, batch), from_b = matrix_starts(b, batch), from_c = matrix_starts(c, batch);
  Offsets to_y = matrix_starts(y, batch);
  int64_t t = a.size(-2), m = a.size(-1), e = c.size(-1), blocks = (t + kBlockRows - 1) / kBlockRows;

  // Parts of one batch that run in parallel; each starts from the sum of the earlier parts.
  int64_t segments() const {
    const int64_t count = std::max<int64_t>(1, batch.numel());
    return std::clamp<int64_t>((kTasks + count - 1) / count, 1, std::max<int64_t>(1, blocks / 4));
  }
  int64_t first_step(int64_t segment) const { return segment * blocks / segments(); }
};

// The sum of b[s] c[s]^T over the rows of one batch so far. With levels, each term is multiplied by
// exp(earlier[s] - level), in reverse by exp(level - later[s]).
template <class T>
struct Sum {
  T* data;
  T level = 0;
  bool empty = true;

  // Rescales the sum to a later level.
  void move_to(T next, bool reverse, int64_t cells) {
    if (!empty && next != level) {
      const T factor = fixed::exp(reverse ? next - level : level - next);
      for (int64_t i = 0; i < cells; ++i) data[i] *= factor;
    }
    level = next;
  }
  // Adds the sum of rows that come before all rows of this one.
  void add_before(const Sum& other, bool reverse, int64_t cells) {
    const T factor = fixed::exp(reverse ? level - other.level : other.level - level);
    for (int64_t i = 0; i < cells; ++i) data[i] += factor * other.data[i];
  }
};

// Buffers of one thread for blocks of rows.
template <class T>
class Block {
 public:
  explicit Block(const Call& call)
      : call_(call),
        memory_(Tensor::empty({kBlockRows * (kBlockRows + call.e + 2)}, call.a.dtype())),
        scores_(memory_.mutable_data<T>()),
        rows_of_e_(scores_ + kBlockRows * kBlockRows),
        of_earlier_(rows_of_e_ + kBlockRows * call.e),
        of_later_(of_earlier_ + kBlockRows) {}

  void begin(int64_t batch, int64_t step) {
    i_ = static_cast<std::size_t>(batch);
    first_ = (call_.reverse ? call_.blocks - 1 - step : step) * kBlockRows;
    rows_ = std::min(kBlockRows, call_.t - first_);
    if (!leveled()) return;
    earlier_ = call_.levels.earlier.data<T>() + batch * call_.t + first_;
    later_ = call_.levels.later.data<T>() + batch * call_.t + first_;
  }

  // y = pairs within the block + pairs with earlier rows.
  void multiply(const Sum<T>& sum) {
    const int64_t e = call_.e;
    const MatrixView<T> y = fresh_matrix_of<T>(call_.y, call_.to_y[i_], first_);
    const bool reverse = call_.reverse;
    gemm<T>(rows_, rows_, call_.m, T{1}, a(), transposed(b()), T{0}, {scores_, rows_, 1});
    for (int64_t row = 0; row < rows_; ++row) {
      std::fill(scores_ + row * rows_ + (reverse ? 0 : row + 1), scores_ + row * rows_ + (reverse ? row : rows_), T{0});
    }
    if (leveled()) level_scores();
    gemm<T>(rows_, e, rows_, T{1}, {scores_, rows_, 1}, call_.finite ? c() : finite_values(), T{0}, y);
    if (!call_.finite) add_other_values(y);
    if (sum.empty) return;
    if (!leveled()) {
      gemm<T>(rows_, e, call_.m, T{1}, a(), {sum.data, e, 1}, T{1}, y);
      return;
    }
    gemm<T>(rows_, e, call_.m, T{1}, a(), {sum.data, e, 1}, T{0}, {rows_of_e_, e, 1});
    for (int64_t row = 0; row < rows_; ++row) {
      const T factor = fixed::exp(reverse ? earlier_[row] - sum.level : sum.level - later_[row]);
      for (int64_t j = 0; j < e; ++j) y.data[row * y.row_stride + j * y.col_stride] += factor * rows_of_e_[row * e + j];
    }
  }

  void add_to(Sum<T>& sum) {
    const int64_t e = call_.e;
    MatrixView<const T> values = c();
    if (leveled()) {
      sum.move_to(later_[call_.reverse ? 0 : rows_ - 1], call_.reverse, call_.m * e);
      for (int64_t row = 0; row < rows_; ++row) {
        const T factor = fixed::exp(call_.reverse ? sum.level - later_[row] : earlier_[row] - sum.level);
        for (int64_t j = 0; j < e; ++j) {
          rows_of_e_[row * e + j] = factor * values.data[row * values.row_stride + j * values.col_stride];
        }
      }
      values = {rows_of_e_, e, 1};
    }
    gemm<T>(call_.m, e, rows_, T{1}, transposed(b()), values, sum.empty ? T{0} : T{1}, {sum.data, e, 1});
    sum.empty = false;
  }

 private:
  bool leveled() const { return call_.levels.earlier.defined(); }
  MatrixView<const T> a() const { return matrix_of<T>(call_.a, call_.from_a[i_], first_); }
  MatrixView<const T> b() const { return matrix_of<T>(call_.b, call_.from_b[i_], first_); }
  MatrixView<const T> c() const { return matrix_of<T>(call_.c, call_.from_c[i_], first_); }

  // NaN and infinities of c reach the rows that see them, but not those whose scores were set to 0.
  MatrixView<const T> finite_values() {
    const MatrixView<const T> values = c();
    for (int64_t row = 0; row < rows_; ++row) {
      for (int64_t j = 0; j < call_.e; ++j) {
        const T value = values.data[row * values.row_stride + j * values.col_stride];
        rows_of_e_[row * call_.e + j] = std::isfinite(value) ? value : T{0};
      }
    }
    return {rows_of_e_, call_.e, 1};
  }
  void add_other_values(const MatrixView<T>& y) {
    const MatrixView<const T> values = c();
    for (int64_t row = 0; row < rows_; ++row) {
      for (int64_t j = 0; j < call_.e; ++j) {
        const T value = values.data[row * values.row_stride + j * values.col_stride];
        if (std::isfinite(value)) continue;
        const int64_t first = call_.reverse ? 0 : row, end = call_.reverse ? row + 1 : rows_;
        for (int64_t to = first; to < end; ++to)
          y.data[to * y.row_stride + j * y.col_stride] += scores_[to * rows_ + row] * value;
      }
    }
  }

  // Multiplies each pair by exp(earlier - later): by two factors relative to the block's first level if these are far
  // from overflow. Each later position decides this separately.
  void level_scores() {
    constexpr T kFar = 40;
    const T reference = later_[0];
    for (int64_t row = 0; row < rows_; ++row) {
      of_earlier_[row] = fixed::exp(std::min(kFar, earlier_[row] - reference));
      of_later_[row] = fixed::exp(reference - later_[row]);
    }
    for (int64_t row = 0; row < rows_; ++row) {
      T* const pair = scores_ + row * rows_;
      if (call_.reverse) {
        for (int64_t j = row; j < rows_; ++j) {
          pair[j] *=
              later_[j] - reference > kFar ? fixed::exp(earlier_[row] - later_[j]) : of_earlier_[row] * of_later_[j];
        }
      } else if (later_[row] - reference > kFar) {
        for (int64_t j = 0; j <= row; ++j) pair[j] *= fixed::exp(earlier_[j] - later_[row]);
      } else {
        for (int64_t j = 0; j <= row; ++j) pair[j] *= of_earlier_[j] * of_later_[row];
      }
    }
  }

  const Call& call_;
  const Tensor memory_;
  T *scores_, *rows_of_e_, *of_earlier_, *of_later_;
  std::size_t i_ = 0;
  int64_t first_ = 0, rows_ = 0;
  const T *earlier_ = nullptr, *later_ = nullptr;  // of the block's rows
};

// Turns the sum of each segment into the sum of all earlier segments.
template <class T>
void sum_segments(Sum<T>* sums, const Call& call) {
  const int64_t segments = call.segments();
  for (int64_t k = 1; k + 1 < segments; ++k) sums[k].add_before(sums[k - 1], call.reverse, call.m * call.e);
  std::rotate(sums, sums + segments - 1, sums + segments);
}

template <class T>
void multiply(const Call& call) {
  const int64_t count = call.batch.numel(), segments = call.segments(), cells = call.m * call.e;
  const int64_t work = std::max<int64_t>(1, call.t * (2 * cells + kBlockRows * (call.m + call.e)) / segments);
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 20) / work);
  const Tensor memory = Tensor::empty({count * segments, cells}, call.a.dtype());
  PoolVector<Sum<T>> sums;  // [count, segments]
  for (int64_t i = 0; i < count * segments; ++i) sums.push_back({memory.mutable_data<T>() + i * cells});
  if (segments > 1) {
    parallel_for(count * segments, grain, [&](int64_t begin, int64_t end) {
      Block<T> block(call);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t segment = i % segments;
        if (segment + 1 == segments) continue;
        for (int64_t step = call.first_step(segment); step < call.first_step(segment + 1); ++step) {
          block.begin(i / segments, step);
          block.add_to(sums[static_cast<std::size_t>(i)]);
        }
      }
    });
    parallel_for(count, std::max<int64_t>(1, (int64_t{1} << 18) / std::max<int64_t>(1, segments * cells)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i)
                     sum_segments(&sums[static_cast<std::size_t>(i * segments)], call);
                 });
  }
  parallel_for(count * segments, grain, [&](int64_t begin, int64_t end) {
    Block<T> block(call);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t segment = i % segments;
      Sum<T>& sum = sums[static_cast<std::size_t>(i)];
      for (int64_t step = call.first_step(segment); step < call.first_step(segment + 1); ++step) {
        block.begin(i / segments, step);
        block.multiply(sum);
        if (step + 1 < call.first_step(segment + 1)) block.add_to(sum);
      }
    }
  });
}

void require_operands(const Tensor& a, const Tensor& b, const Tensor& c) {
  require_floating(kCausalProduct.name, {&a, &b, &c});
  const bool fit = a.dim() >= 2 && b.dim() >= 2 && c.dim() >= 2 && a.size(-1) == b.size(-1) &&
                   a.size(-2) == b.size(-2) && b.size(-2) == c.size(-2);
  require(fit, kCausalProduct, "expected a and b [..., T, M] and c [..., T, E], got {}, {} and {}", a.shape(),
          b.shape(), c.shape());
}

// [..., T], contiguous, for the leading axes `batch`; none stays none.
Tensor stretched_level(const Tensor& level, const Tensor& a, const Shape& batch) {
  if (!level.defined()) return level;
  const Shape shape = with_axes(batch, {a.size(-2)});
  require(level.dtype() == a.dtype() && broadcasts_to(level.shape(), shape), kCausalProduct,
          "expected levels of type {} that broadcast to {}, got {} {}", a.dtype(), shape, level.dtype(), level.shape());
  if (needs_grad(level)) kCausalProduct.fail("expected levels without a gradient: they are constants (pass .detach())");
  return level.expand(shape).contiguous();
}

}  // namespace

Tensor causal_product(const Tensor& a, const Tensor& b, const Tensor& c, bool reverse, const CausalLevels& levels) {
  require_operands(a, b, c);
  const std::string_view where = kCausalProduct.name;
  const Shape batch = broadcast(where, broadcast(where, leading_axes(a), leading_axes(b)), leading_axes(c));
  const auto stretched = [&](const Tensor& x) { return with_leading_axes(x.detach(), batch); };
  const Tensor wide_a = stretched(a), y = empty_laid_out_as(wide_a, c.size(-1));
  const Call call{.a = wide_a,
                  .b = stretched(b),
                  .c = stretched(c),
                  .y = y,
                  .levels = {.earlier = stretched_level(levels.earlier, a, batch),
                             .later = stretched_level(levels.later, a, batch)},
                  .reverse = reverse,
                  .finite = all_finite(c.detach())};
  with_floating_type(y.dtype(), [&](auto type) { multiply<decltype(type)>(call); });
  const bool wants_a = needs_grad(a), wants_b = needs_grad(b), wants_c = needs_grad(c);
  if (!wants_a && !wants_b && !wants_c) return y;
  return record(
      kCausalProduct, y, {a, b, c},
      [a = kept_if(wants_b || wants_c, a), b = kept_if(wants_a || wants_c, b), c = kept_if(wants_a || wants_b, c),
       levels = call.levels, wants_a, wants_b, wants_c, reverse](const Tensor& dy) -> Grads {
        return {wants_a ? causal_product(dy, c, b, reverse, levels) : Tensor(),
                wants_b ? causal_product(c, dy, a, !reverse, levels) : Tensor(),
                wants_c ? causal_product(b, a, dy, !reverse, levels) : Tensor()};
      });
}

}  // namespace tapegrad
