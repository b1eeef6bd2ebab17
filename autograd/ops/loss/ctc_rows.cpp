// The recursions of ctc_loss, a sequence per thread and its states in the lanes of vectors. Probabilities are
// logarithms throughout: a way that is improbable now may be the only one later.
// build: -Os
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/loss/ctc_rows.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/detail/scratch.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/simd/softmax-inl.h>
#include <tapegrad/autograd/ops/loss/detail/ctc_rows.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#ifndef TAPEGRAD_CTC_KERNELS
#define TAPEGRAD_CTC_KERNELS
namespace tapegrad {

template <class T>
struct CtcKernels {
  // to = log(exp a + exp b + exp(c + skip)) + own - shift, -inf where nothing is left of the sum. Returns the next
  // shift: the largest element, or 0 if all are -inf.
  T (*sums_of_ways)(int64_t n, const T* a, const T* b, const T* c, const T* skip, const T* own, T shift, T* to);
  // y = exp(x - the largest x), in place; returns their sum.
  T (*shares)(int64_t n, T* x);
  // to = exp(x) factor.
  void (*scaled_exps)(int64_t n, const T* x, T factor, T* to);
};

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// The largest element, or 0 if all are -inf.
template <class T>
HWY_NOINLINE T origin_of(int64_t n, const T* x) {
  return softmax_origin(largest(x, n));
}

template <class T>
T sums_of_ways(int64_t n, const T* a, const T* b, const T* c, const T* skip, const T* own, T shift, T* to) {
  map_row(
      n, to,
      [shift](Vec<T> x, Vec<T> y, Vec<T> far, Vec<T> more, Vec<T> added) HWY_ATTR {
        const Vec<T> z = far + more, top = max(max(x, y), z);
        const Vec<T> origin = where(top == kNothing<T>, Vec<T>(0), top);
        return log(exp_nonpositive(x - origin) + exp_nonpositive(y - origin) + exp_nonpositive(z - origin)) +
               (origin - shift) + added;
      },
      a, b, c, skip, own);
  return origin_of(n, to);
}

template <class T>
T shares(int64_t n, T* x) {
  const T origin = origin_of(n, x);
  map_row(
      n, x, [origin](Vec<T> v) HWY_ATTR { return exp_nonpositive(v - origin); }, x);
  return reduce_sum(sum_spans<T>(n, [x](auto s) HWY_ATTR { return s.load(x); }));
}

template <class T>
void scaled_exps(int64_t n, const T* x, T factor, T* to) {
  map_row(
      n, to, [factor](Vec<T> v) HWY_ATTR { return exp(v) * factor; }, x);
}

template <class T>
const CtcKernels<T>& ctc_kernels() {
  static constexpr CtcKernels<T> kernels{&sums_of_ways<T>, &shares<T>, &scaled_exps<T>};
  return kernels;
}
const CtcKernels<float>& ctc_kernels_float() { return ctc_kernels<float>(); }
const CtcKernels<double>& ctc_kernels_double() { return ctc_kernels<double>(); }

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad {
namespace {

HWY_EXPORT(ctc_kernels_float);
HWY_EXPORT(ctc_kernels_double);

template <class T>
const CtcKernels<T>& kernels_of() {
  if constexpr (std::is_same_v<T, float>) {
    return chosen<HWY_DISPATCH_TABLE(ctc_kernels_float)>();
  } else {
    return chosen<HWY_DISPATCH_TABLE(ctc_kernels_double)>();
  }
}

// One sequence.
template <class T>
class CtcSequence {
 public:
  CtcSequence(const CtcBatch& c, const Tensor& log_probs, int64_t b)
      : c_(c),
        b_(b),
        length_(c_.lengths[static_cast<std::size_t>(b)]),
        states_(2 * c_.label_counts[static_cast<std::size_t>(b)] + 1),
        log_probs_(log_probs.data<T>() + b * c_.classes),
        classes_(states_),
        numbers_(5 * (states_ + 2)),
        skip_(numbers_.get()),
        here_(skip_ + states_ + 2) {
    const int64_t* const labels = c_.labels.data() + c_.label_starts[static_cast<std::size_t>(b)];
    std::fill_n(skip_, states_ + 2, kNever);
    for (int64_t s = 0; s < states_; ++s) {
      classes_.get()[s] = s % 2 == 0 ? c_.blank : labels[s / 2];
      if (s % 2 == 1 && s > 1 && labels[s / 2] != labels[s / 2 - 1]) skip_[s] = 0;
    }
  }

  // `kept`: a row for each step, or nullptr.
  T loss(T* kept) {
    if (length_ == 0) return states_ == 1 ? T{0} : -kNever;
    T* const rows = kept ? kept : here_ + states_ + 2;
    const int64_t row_size = kept ? c_.row_size() : states_ + 2;
    const auto row = [&](int64_t t) { return rows + (kept ? t : t % 2) * row_size; };
    const int64_t first = std::min<int64_t>(2, states_);
    double shifts = 0;  // of all steps before
    T shift = 0;
    for (int64_t t = 0; t < length_; ++t) {
      read_step(t);
      T* const to = row(t);
      to[0] = to[1] = kNever;
      if (t == 0) {
        std::fill_n(to + 2, states_, kNever);
        std::copy_n(here_, first, to + 2);
        shift = std::max(here_[0], here_[first - 1]);
        if (shift == kNever) shift = 0;
        continue;
      }
      const T* const from = row(t - 1);
      shifts += static_cast<double>(shift);
      shift = use_.sums_of_ways(states_, from + 2, from + 1, from, skip_, here_, shift, to + 2);
    }
    const T* const end = row(length_ - 1) + 2 + states_ - first;  // the last two states
    const double top = std::max(end[0], end[first - 1]);
    if (top == kNever) return -kNever;
    double both = 0;
    for (int64_t i = 0; i < first; ++i) both += fixed::exp(static_cast<double>(end[i]) - top);
    return static_cast<T>(-(fixed::log(both) + top + shifts));
  }

  // The derivative by a log-probability, for a distribution p, is p minus the probability to be in a state of that
  // class: the part that would change the sum of the distribution is left out, as log_softmax's backward would do.
  void gradient(const T* kept, T loss, T dloss, T* dx) {
    const int64_t step = c_.batch * c_.classes;
    dx += b_ * c_.classes;
    for (int64_t t = length_; t < c_.steps; ++t) std::fill_n(dx + t * step, c_.classes, T{0});
    if (loss == -kNever || loss != loss) {
      const T instead = c_.zero_infinity && loss == loss ? T{0} : std::numeric_limits<T>::quiet_NaN();
      for (int64_t t = 0; t < length_; ++t) std::fill_n(dx + t * step, c_.classes, instead);
      return;
    }
    T *const after = here_ + states_ + 2, *const next = after + states_ + 2;  // logarithms of the ways to the end
    T* const nothing = next + states_ + 2;
    std::fill_n(nothing, states_, T{0});
    std::fill_n(after, states_, kNever);
    std::fill_n(after + std::max<int64_t>(0, states_ - 2), std::min<int64_t>(2, states_), T{0});
    T shift = 0;
    for (int64_t t = length_ - 1; t >= 0; --t) {
      read_step(t);
      T* const to = dx + t * step;
      use_.scaled_exps(c_.classes, log_probs_ + t * step, dloss, to);
      const T* const before = kept + t * c_.row_size() + 2;
      next[states_] = next[states_ + 1] = kNever;
      for (int64_t s = 0; s < states_; ++s) {
        next[s] = after[s] + here_[s];
        here_[s] = before[s] + after[s];
      }
      const T factor = dloss / use_.shares(states_, here_);
      for (int64_t s = 0; s < states_; ++s) to[classes_.get()[s]] -= here_[s] * factor;
      shift = use_.sums_of_ways(states_, next, next + 1, next + 2, skip_ + 2, nothing, shift, after);
    }
  }

 private:
  static constexpr T kNever = -std::numeric_limits<T>::infinity();

  void read_step(int64_t t) {
    const T* const p = log_probs_ + t * c_.batch * c_.classes;
    for (int64_t s = 0; s < states_; ++s) here_[s] = p[classes_.get()[s]];
  }

  const CtcKernels<T>& use_ = kernels_of<T>();
  const CtcBatch& c_;
  const int64_t b_, length_, states_;
  const T* const log_probs_;
  const Scratch<int64_t> classes_;
  const Scratch<T> numbers_;
  T *const skip_, *const here_;  // [states + 2]: 0 or -inf, log-probabilities of this step; three more such rows follow
};

// f(t, b) for all sequences, on several threads, with t a number of the batch's type.
void each_sequence(const CtcBatch& c, const auto& f) {
  const int64_t work = c.steps * (4 * c.row_size() + c.classes);
  parallel_for(c.batch, rows_grain(work), [&](int64_t begin, int64_t end) {
    with_floating_type(c.dtype, [&](auto t) {
      for (int64_t b = begin; b < end; ++b) f(t, b);
    });
  });
}

}  // namespace

void write_ctc_losses(const CtcBatch& c, const Tensor& log_probs, const Tensor& losses, const Tensor& ways) {
  each_sequence(c, [&]<class T>(T, int64_t b) {
    T* const kept = ways.defined() ? ways.mutable_data<T>() + b * c.steps * c.row_size() : nullptr;
    losses.mutable_data<T>()[b] = CtcSequence<T>(c, log_probs, b).loss(kept);
  });
}

void write_ctc_gradient(const CtcBatch& c, const Tensor& log_probs, const Tensor& losses, const Tensor& ways,
                        const Tensor& dlosses, const Tensor& dx) {
  each_sequence(c, [&]<class T>(T, int64_t b) {
    CtcSequence<T>(c, log_probs, b)
        .gradient(ways.data<T>() + b * c.steps * c.row_size(), losses.data<T>()[b], dlosses.data<T>()[b],
                  dx.mutable_data<T>());
  });
}

}  // namespace tapegrad
#endif  // HWY_ONCE
