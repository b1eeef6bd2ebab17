// The recursions of ctc_loss, a sequence per thread and its states in the lanes of vectors. Probabilities are
// logarithms throughout: a way that is improbable now may be the only one later.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/loss/ctc_rows.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/detail/scratch.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/simd/softmax-inl.h>
#include <tapegrad/autograd/ops/loss/detail/ctc_rows.h>

#include <algorithm>

#ifndef TAPEGRAD_CTC_ARGS
#define TAPEGRAD_CTC_ARGS
namespace tapegrad {

struct CtcArgs {
  const CtcBatch& c;
  const void* log_probs;
  void* losses;
  void* ways;  // nullptr: two rows are enough
  const void* dlosses = nullptr;
  void* dx = nullptr;
};

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// log(exp a + exp b + exp c), -inf where all are.
template <class T>
HWY_INLINE Vec<T> log_of_sum(Vec<T> a, Vec<T> b, Vec<T> c) {
  const Vec<T> top = max(max(a, b), c);
  const Vec<T> origin = where(top == kNothing<T>, Vec<T>(0), top);
  return log(exp_nonpositive(a - origin) + exp_nonpositive(b - origin) + exp_nonpositive(c - origin)) + origin;
}

// One sequence.
template <class T>
class CtcSequence {
 public:
  CtcSequence(const CtcArgs& args, int64_t b)
      : c_(args.c),
        b_(b),
        length_(c_.lengths[static_cast<std::size_t>(b)]),
        states_(2 * c_.label_counts[static_cast<std::size_t>(b)] + 1),
        log_probs_(static_cast<const T*>(args.log_probs) + b * c_.classes),
        classes_(states_),
        numbers_(4 * (states_ + 2)),
        skip_(numbers_.get()),
        here_(skip_ + states_ + 2) {
    const int64_t* const labels = c_.labels.data() + c_.label_starts[static_cast<std::size_t>(b)];
    std::fill_n(skip_, states_ + 2, kNothing<T>);
    for (int64_t s = 0; s < states_; ++s) {
      classes_.get()[s] = s % 2 == 0 ? c_.blank : labels[s / 2];
      if (s % 2 == 1 && s > 1 && labels[s / 2] != labels[s / 2 - 1]) skip_[s] = 0;
    }
  }

  // `kept`: a row for each step, or nullptr.
  T loss(T* kept) {
    if (length_ == 0) return states_ == 1 ? T{0} : -kNothing<T>;
    T* const rows = kept ? kept : here_ + states_ + 2;
    const int64_t row_size = kept ? c_.row_size() : states_ + 2;
    const Scratch<T> other(kept ? 0 : row_size);
    const auto row = [&](int64_t t) { return kept ? rows + t * row_size : t % 2 == 0 ? rows : other.get(); };
    for (int64_t t = 0; t < length_; ++t) {
      read_step(t);
      T* const to = row(t);
      to[0] = to[1] = kNothing<T>;
      if (t == 0) {
        std::fill_n(to + 2, states_, kNothing<T>);
        std::copy_n(here_, std::min<int64_t>(2, states_), to + 2);
        continue;
      }
      const T* const from = row(t - 1);
      each_span<T>(states_, [&](auto s) HWY_ATTR {
        s.store(log_of_sum(s.load(from + 2), s.load(from + 1), s.load(from) + s.load(skip_)) + s.load(here_), to + 2);
      });
    }
    const T* const end = row(length_ - 1) + states_;  // the last two states
    const T top = std::max(end[1], states_ > 1 ? end[0] : kNothing<T>);
    if (top == kNothing<T>) return -top;
    const T both = fixed::exp(end[1] - top) + (states_ > 1 ? fixed::exp(end[0] - top) : T{0});
    return -(fixed::log(both) + top);
  }

  // The derivative by a log-probability, for a distribution p, is p minus the probability to be in a state of that
  // class: the part that would change the sum of the distribution is left out, as log_softmax's backward would do.
  void gradient(const T* kept, T loss, T dloss, T* dx) {
    const int64_t step = c_.batch * c_.classes;
    dx += b_ * c_.classes;
    for (int64_t t = length_; t < c_.steps; ++t) std::fill_n(dx + t * step, c_.classes, T{0});
    if (loss == -kNothing<T>) {
      const T instead = c_.zero_infinity ? T{0} : std::numeric_limits<T>::quiet_NaN();
      for (int64_t t = 0; t < length_; ++t) std::fill_n(dx + t * step, c_.classes, instead);
      return;
    }
    T *const after = here_ + states_ + 2, *const next = after + states_ + 2;  // logarithms of the ways to the end
    std::fill_n(after, states_, kNothing<T>);
    std::fill_n(after + std::max<int64_t>(0, states_ - 2), std::min<int64_t>(2, states_), T{0});
    for (int64_t t = length_ - 1; t >= 0; --t) {
      read_step(t);
      T* const to = dx + t * step;
      map_row(
          c_.classes, to, [dloss](Vec<T> p) HWY_ATTR { return exp(p) * dloss; }, log_probs_ + t * step);
      const T* const before = kept + t * c_.row_size() + 2;
      next[states_] = next[states_ + 1] = kNothing<T>;
      each_span<T>(states_, [&](auto s) HWY_ATTR {
        const Vec<T> rest = s.load(after), own = s.load(here_);
        s.store(rest + own, next);
        s.store(exp(s.load(before) + rest + loss) * dloss, here_);
      });
      for (int64_t s = 0; s < states_; ++s) to[classes_.get()[s]] -= here_[s];
      each_span<T>(states_, [&](auto s) HWY_ATTR {
        s.store(log_of_sum(s.load(next), s.load(next + 1), s.load(next + 2) + s.load(skip_ + 2)), after);
      });
    }
  }

 private:
  void read_step(int64_t t) {
    const T* const p = log_probs_ + t * c_.batch * c_.classes;
    for (int64_t s = 0; s < states_; ++s) here_[s] = p[classes_.get()[s]];
  }

  const CtcBatch& c_;
  const int64_t b_, length_, states_;
  const T* const log_probs_;
  const Scratch<int64_t> classes_;
  const Scratch<T> numbers_;
  T *const skip_, *const here_;  // [states + 2]: 0 or -inf, log-probabilities of this step; two more such rows follow
};

void ctc_losses(const CtcArgs& args, int64_t begin, int64_t end) {
  with_floating_type(args.c.dtype, [&](auto t) {
    using T = decltype(t);
    const int64_t size = args.c.steps * args.c.row_size();
    for (int64_t b = begin; b < end; ++b) {
      T* const kept = args.ways ? static_cast<T*>(args.ways) + b * size : nullptr;
      static_cast<T*>(args.losses)[b] = CtcSequence<T>(args, b).loss(kept);
    }
  });
}

void ctc_gradients(const CtcArgs& args, int64_t begin, int64_t end) {
  with_floating_type(args.c.dtype, [&](auto t) {
    using T = decltype(t);
    const int64_t size = args.c.steps * args.c.row_size();
    for (int64_t b = begin; b < end; ++b) {
      CtcSequence<T>(args, b).gradient(static_cast<const T*>(args.ways) + b * size,
                                       static_cast<const T*>(args.losses)[b], static_cast<const T*>(args.dlosses)[b],
                                       static_cast<T*>(args.dx));
    }
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad {
namespace {

HWY_EXPORT(ctc_losses);
HWY_EXPORT(ctc_gradients);

// Elements of one sequence, for the division among threads.
int64_t sequence_work(const CtcBatch& c) { return c.steps * (c.row_size() * 4 + c.classes); }

}  // namespace

void write_ctc_losses(const CtcBatch& c, const Tensor& log_probs, const Tensor& losses, const Tensor& ways) {
  run_rows(kernel_of(HWY_DISPATCH_TABLE(ctc_losses)),
           {.c = c,
            .log_probs = log_probs.raw_data(),
            .losses = losses.mutable_raw_data(),
            .ways = mutable_data_or_null(ways)},
           c.batch, sequence_work(c));
}

void write_ctc_gradient(const CtcBatch& c, const Tensor& log_probs, const Tensor& losses, const Tensor& ways,
                        const Tensor& dlosses, const Tensor& dx) {
  run_rows(kernel_of(HWY_DISPATCH_TABLE(ctc_gradients)),
           {.c = c,
            .log_probs = log_probs.raw_data(),
            .losses = losses.mutable_raw_data(),
            .ways = ways.mutable_raw_data(),
            .dlosses = dlosses.raw_data(),
            .dx = dx.mutable_raw_data()},
           c.batch, sequence_work(c));
}

}  // namespace tapegrad
#endif  // HWY_ONCE
