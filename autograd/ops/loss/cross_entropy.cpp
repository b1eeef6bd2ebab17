// cross_entropy: the loss in one pass over the logits, the gradient in another, which writes over them if it may.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/loss/cross_entropy.cpp"
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/simd/softmax-inl.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/reduce.h>
#include <tapegrad/autograd/ops/loss/detail/class_rows.h>
#include <tapegrad/autograd/ops/loss/detail/loss.h>

#ifndef TAPEGRAD_CROSS_ENTROPY_TYPES
#define TAPEGRAD_CROSS_ENTROPY_TYPES
namespace tapegrad {

inline constexpr int64_t kStreamFrom = 8192;  // classes from which a gradient is too large to stay in the caches

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// What the loss of a row consists of, besides the logarithm of `sum`.
template <class T>
struct RowParts {
  T highest, sum;
  T origin, logits;  // the sum of the logits, relative to the largest of the first chunk
};

// One row of V logits: loss = log(sum exp x) - x[target], dx = (softmax(x) - target distribution) * factor. Logits are
// taken relative to a large one before anything is added to them, so that large logits lose no digits of a small loss.
// The row is read from memory once, chunk by chunk. The exp of each chunk is taken relative to the largest logit so
// far.
//
// With class weights w, the target's part has the factor w[target], and the part that is spread evenly multiplies the
// loss of each class by its own: dx = softmax(x) (total) - (target part) - even w, total being the sum of both parts.
// Without an even part, the weights of the other classes do not matter: they may be infinite or NaN.
template <bool kWeighted, class T>
struct CrossEntropyRow {
  static constexpr T kLowest = -std::numeric_limits<T>::infinity();

  CrossEntropyRow(const CrossEntropyArgs& given, int64_t target_of_row)
      : args(given),
        target(target_of_row),
        n(args.classes),
        w(static_cast<const T*>(args.weights)),
        smoothing(static_cast<T>(args.smoothing)),
        hot((1 - smoothing) * (kWeighted ? w[target] : T{1})),
        each(smoothing / static_cast<T>(n)) {}

  HWY_INLINE RowParts<T> parts(const T* x, T* kept) const {
    RunningSoftmax<T> softmax;
    T origin = 0, logits = 0;
    for (int64_t at = 0, chunk = 0; at < n; at += kClassChunk, ++chunk) {
      const int64_t length = std::min(kClassChunk, n - at);
      softmax.raise(largest(x + at, length));
      const T here = softmax.origin();
      if (chunk == 0) origin = here;
      if (kept) kept[chunk] = softmax.highest;
      softmax.sum += reduce_sum(sum_spans<T>(length, [&](auto s) { return exp_nonpositive(s.load(x + at) - here); }));
      if (smoothing != 0) {
        logits += reduce_sum(sum_spans<T>(length, [&](auto s) {
          const Vec<T> v = s.load(x + at) - origin;
          if constexpr (kWeighted) return v * s.load(w + at);
          return v;
        }));
      }
    }
    if (kept) kept[kept_of_row(n) - 1] = softmax.sum;
    return {softmax.highest, softmax.sum, origin, logits};
  }

  HWY_INLINE T loss(const T* x, const RowParts<T>& of, T log) const {
    if (of.sum == 0) return -kLowest;  // all -inf: every class has probability 0
    const T loss = log + (of.highest - x[target]);
    if (smoothing == 0) return kWeighted ? hot * loss : loss;
    const T log_sum = log + (of.highest - of.origin);  // relative to origin, too
    if constexpr (kWeighted) return hot * loss + each * (static_cast<T>(args.weight_sum) * log_sum - of.logits);
    return hot * loss + smoothing * (log_sum - of.logits / static_cast<T>(n));
  }

  // dx may be x. Otherwise, a large one is written past the caches.
  HWY_INLINE void gradient(const T* x, const T* kept, T dy, T* dx) const {
    const T factor = static_cast<T>(args.factor);
    const T total = !kWeighted ? T{1} : smoothing == 0 ? hot : hot + each * static_cast<T>(args.weight_sum);
    const T m = kept[kept_of_row(n) - 2], sum = kept[kept_of_row(n) - 1];
    const Vec<T> even = sum == 0 ? T{0} : each * factor;
    const auto slopes = [&](int64_t chunk) {
      const T here = softmax_origin(kept[chunk]);
      const T below = kept[chunk] == kLowest ? T{0} : kept[chunk] - m;
      const Vec<T> scale = sum == 0 ? T{0} : (below == 0 ? T{1} : fixed::exp(below)) / sum * (total * factor);
      const T* const logits = x + chunk * kClassChunk;
      const T* const of_class = kWeighted ? w + chunk * kClassChunk : nullptr;
      return [=](auto s) {  // of a span of the chunk's classes, without the target's part
        const Vec<T> p = exp_nonpositive(s.load(logits) - here) * scale;
        if constexpr (kWeighted) return p - where(even == T{0}, T{0}, even * s.load(of_class));
        return p - even;
      };
    };
    T of_target;
    store(slopes(target / kClassChunk)(LastSpan<T>{target % kClassChunk, 1}), &of_target, 1);
    const bool past_caches = dx != x && n >= kStreamFrom;
    for (int64_t at = 0, chunk = 0; at < n; at += kClassChunk, ++chunk) {
      const auto slope = slopes(chunk);
      store_spans(std::min(kClassChunk, n - at), dx + at, past_caches, [&](auto s) { return slope(s) * dy; });
    }
    if (past_caches) stream_end();
    if (sum != 0) dx[target] = (of_target - hot * factor) * dy;
  }

  const CrossEntropyArgs& args;
  const int64_t target, n;
  const T* const w;
  const T smoothing, hot;
  const T each;  // of the part that is spread evenly, per class
};

// Calls f(row, its number) for all rows whose target is not ignored, ignored(its number) for the others.
template <class T, class F, class Ignored>
HWY_INLINE void for_rows(const CrossEntropyArgs& args, int64_t begin, int64_t end, F f, Ignored ignored) {
  for (int64_t i = begin; i < end; ++i) {
    const int64_t target = args.targets[i];
    if (target == args.ignore_index) {
      ignored(i);
    } else if (args.weights) {
      f(CrossEntropyRow<true, T>(args, target), i);
    } else {
      f(CrossEntropyRow<false, T>(args, target), i);
    }
  }
}

void cross_entropy_losses(const CrossEntropyArgs& args, int64_t begin, int64_t end) {
  with_floating_type(args.dtype, [&]<class T>(T) {
    const T* const x = static_cast<const T*>(args.logits);
    T *const losses = static_cast<T*>(args.losses), *const kept = static_cast<T*>(args.kept);
    for (int64_t first = begin; first < end; first += kLanes<T>) {  // whose logarithms are computed at once
      const int64_t last = std::min(first + kLanes<T>, end);
      RowParts<T> parts[kLanes<T>];
      T logs[kLanes<T>];
      std::fill(logs, logs + kLanes<T>, T{1});
      for_rows<T>(
          args, first, last,
          [&](const auto& row, int64_t i) {
            parts[i - first] = row.parts(x + i * row.n, kept ? kept + i * kept_of_row(row.n) : nullptr);
            logs[i - first] = parts[i - first].sum;
          },
          [](int64_t) {});
      store(log_of_each(load(logs)), logs);
      for_rows<T>(
          args, first, last,
          [&](const auto& row, int64_t i) { losses[i] = row.loss(x + i * row.n, parts[i - first], logs[i - first]); },
          [&](int64_t i) { losses[i] = 0; });
    }
  });
}

void cross_entropy_gradients(const CrossEntropyArgs& args, int64_t begin, int64_t end) {
  with_floating_type(args.dtype, [&]<class T>(T) {
    const T *const x = static_cast<const T*>(args.logits), *const dy = static_cast<const T*>(args.dy);
    const T* const kept = static_cast<const T*>(args.kept);
    T* const dx = static_cast<T*>(args.gradient);
    const int64_t n = args.classes;
    for_rows<T>(
        args, begin, end,
        [&](const auto& row, int64_t i) {
          row.gradient(x + i * n, kept + i * kept_of_row(n), dy[i * args.dy_stride], dx + i * n);
        },
        [&](int64_t i) { std::fill(dx + i * n, dx + (i + 1) * n, T{0}); });
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/tape_watch.h>

namespace tapegrad {

HWY_EXPORT(cross_entropy_losses);
HWY_EXPORT(cross_entropy_gradients);

namespace {

const Op kCrossEntropy{"cross_entropy", {.rows = RowRule::classes}};

// dy times the gradient of the loss. Logits that nobody else holds, such as those of a training step, become it: they
// may be the largest tensor of the step.
Tensor gradient_of(CrossEntropyArgs args, const Tensor& logits, int64_t rows, const Tensor& dy,
                   const BackwardPass& pass) {
  const bool ours = logits.unique() && !pass.retained;
  const Tensor gradient = ours ? logits.detach() : Tensor::empty(logits.shape(), logits.dtype());
  const Tensor factors = packed(dy);
  args.gradient = gradient.mutable_raw_data();
  args.dy = factors.raw_data();
  args.dy_stride = dy.dim() > 0 ? 1 : 0;
  write_class_gradients(args, rows);
  return gradient;
}

// The loss of a floating target, made of recorded operations.
Tensor of_distribution(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options) {
  require_floating(kCrossEntropy.name, {&logits});
  require(target.shape() == logits.shape(), kCrossEntropy,
          "expected int64 class numbers, or probabilities of shape {}, got {} of shape {}", logits.shape(),
          target.dtype(), target.shape());
  require(options.ignore_index < 0, kCrossEntropy, "expected no ignore_index for probabilities, got {}",
          options.ignore_index);
  const int axis = require_weight(kCrossEntropy.name, logits, options.weight, options.axis);
  Tensor parts = target;
  if (options.label_smoothing > 0) {
    const double even = options.label_smoothing / static_cast<double>(logits.size(axis));
    parts = parts * (1 - options.label_smoothing) + even;
  }
  if (options.weight.defined()) {
    Shape along = Shape{logits.size(axis)};
    for (int i = axis + 1; i < logits.dim(); ++i) along.push_back(1);
    parts = parts * options.weight.reshape(along);
  }
  return reduce_recorded(-sum(parts * log_softmax(logits, axis), axis), options.reduction);
}

}  // namespace

void write_class_losses(const CrossEntropyArgs& args, int64_t rows) {
  parallel_for(rows, rows_grain(args.classes), [&](int64_t begin, int64_t end) {
    kernel_of(HWY_DISPATCH_TABLE(cross_entropy_losses))(args, begin, end);
  });
}

void write_class_gradients(const CrossEntropyArgs& args, int64_t rows) {
  parallel_for(rows, rows_grain(args.classes), [&](int64_t begin, int64_t end) {
    kernel_of(HWY_DISPATCH_TABLE(cross_entropy_gradients))(args, begin, end);
  });
}

Tensor composed_class_gradient(const Tensor& logits, const Tensor& target, const Tensor& weight,
                               const CrossEntropyOptions& options, double factor) {
  if (logits.numel() == 0) return zeros_like(logits);
  const DType dtype = logits.dtype();
  const int64_t classes = logits.shape().back();
  const Tensor ignored = target == static_cast<double>(options.ignore_index);
  const Tensor skipped = ignored.unsqueeze(-1) || rows_of_minus_infinity(logits);
  const Tensor hot = one_hot(where(ignored, zeros_like(target), target), classes).to(dtype);
  const Tensor even = full({classes}, options.label_smoothing / static_cast<double>(classes), dtype);
  Tensor parts = hot * (1 - options.label_smoothing) + even;
  Tensor spread = softmax(masked_fill(logits, skipped, 0));
  if (weight.defined()) {
    parts = options.label_smoothing == 0 ? where(hot == 1, weight, 0.) : parts * weight;
    spread = spread * sum(parts, -1, true);
  }
  return masked_fill((spread - parts) * factor, skipped, 0);
}

Tensor cross_entropy(const Tensor& given, const Tensor& target_given, const CrossEntropyOptions& options) {
  const double smoothing = options.label_smoothing;
  if (is_floating(target_given.dtype())) {
    require_probability(kCrossEntropy.name, "label smoothing", smoothing);
    return of_distribution(given, target_given, options);
  }
  const int axis = require_classes(kCrossEntropy.name, given, target_given, options.weight, options.axis);
  require_probability(kCrossEntropy.name, "label smoothing", smoothing);
  const Tensor logits = last_axis(given, axis).contiguous();
  const Tensor target = packed(target_given.to(kInt64));
  const int64_t classes = logits.shape().back();
  const Tensor weight = options.weight.defined() ? packed(options.weight).detach() : Tensor();
  const double counted = count_targets(kCrossEntropy.name, target, weight, classes, options.ignore_index);
  const DType dtype = logits.dtype();
  const double factor = options.reduction == Reduction::mean ? 1 / counted : 1;
  const bool wanted = needs_grad(logits);

  const Tensor losses = Tensor::empty(target.shape(), dtype);
  const Tensor kept = wanted ? Tensor::empty({target.numel(), kept_of_row(classes)}, dtype) : Tensor();
  CrossEntropyArgs args{.dtype = dtype,
                        .classes = classes,
                        .ignore_index = options.ignore_index,
                        .smoothing = smoothing,
                        .factor = factor,
                        .weights = weight.defined() ? weight.raw_data() : nullptr,
                        .weight_sum = weight.defined() ? sum(weight).item() : 0,
                        .logits = logits.raw_data(),
                        .targets = target.data<int64_t>(),
                        .losses = losses.mutable_raw_data(),
                        .kept = wanted ? kept.mutable_raw_data() : nullptr,
                        .gradient = nullptr,
                        .dy = nullptr};
  write_class_losses(args, target.numel());
  const Tensor y = reduce_losses(losses, options.reduction, counted);
  if (!wanted) return y;
  args.losses = nullptr;  // backward outlives them
  auto backward = [logits, target, weight, kept, options, args](const Tensor& dy, const BackwardPass& pass) -> Grads {
    if (!Tape::current()) return gradient_of(args, logits, target.numel(), dy, pass);
    const Tensor each = options.reduction == Reduction::none ? dy.unsqueeze(-1) : dy;
    return composed_class_gradient(logits, target, weight, options, args.factor) * each;
  };
  return with_settings(record(kCrossEntropy, y, {logits}, std::move(backward)), "target", target_given, "weight",
                       weight, "ignored", options.ignore_index, "mean", options.reduction == Reduction::mean,
                       "smoothing", smoothing);
}

}  // namespace tapegrad
#endif  // HWY_ONCE
