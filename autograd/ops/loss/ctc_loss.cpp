// Connectionist temporal classification: the checks of ctc_loss, its lengths and labels, and its recorded backward. The
// recursions are in ctc_rows.cpp.
// build: -Os
#include <tapegrad/autograd/detail/op_timer.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/matrices.h>
#include <tapegrad/autograd/ops/loss/detail/ctc_rows.h>
#include <tapegrad/autograd/ops/loss/detail/loss.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace tapegrad {
namespace {

const Op kCtcLoss{"ctc_loss"};

// --- checks ---

// The lengths of a batch, each from 0 to `most`.
PoolVector<int64_t> checked_lengths(const Tensor& lengths, const char* what, int64_t batch, int64_t most) {
  const Op& op = kCtcLoss;
  require(is_integer(lengths.dtype()) && lengths.dim() <= 1 && lengths.numel() == batch, op,
          "expected {} int64 [{}], got {} {}", what, batch, lengths.dtype(), lengths.shape());
  const std::vector<int64_t> given = lengths.to(kInt64).to_vector<int64_t>();
  for (std::size_t i = 0; i < given.size(); ++i) {
    require(given[i] >= 0 && given[i] <= most, op, "expected {} from 0 to {}, got {} at [{}]", what, most, given[i], i);
  }
  return {given.begin(), given.end()};
}

// The labels of each sequence, without padding: an offset for each, and one past the end.
void set_labels(CtcBatch& c, const Tensor& targets, const Tensor& target_lengths) {
  const Op& op = kCtcLoss;
  require(is_integer(targets.dtype()) && targets.dim() >= 1 && targets.dim() <= 2, op,
          "expected int64 targets [{0}, S], or [S of all {0}] one after another, got {1} {2}", c.batch, targets.dtype(),
          targets.shape());
  const bool padded = targets.dim() == 2;
  require(!padded || targets.size(0) == c.batch, op, "expected targets [{}, S] for the log-probabilities, got {}",
          c.batch, targets.shape());
  c.label_counts = checked_lengths(target_lengths, "target_lengths", c.batch, targets.size(-1));
  int64_t total = 0;
  for (const int64_t n : c.label_counts) total += n;
  require(padded || total == targets.numel(), op,
          "expected target_lengths whose sum is the number of targets, got {} for targets {}", total, targets.shape());
  const std::vector<int64_t> values = targets.to(kInt64).to_vector<int64_t>();
  c.label_starts.reserve(c.label_counts.size());
  c.labels.reserve(static_cast<std::size_t>(total));
  const std::size_t width = padded ? static_cast<std::size_t>(targets.size(1)) : 0;
  std::size_t next = 0;
  for (std::size_t b = 0; b < c.label_counts.size(); ++b) {
    const std::size_t from = padded ? b * width : next, count = static_cast<std::size_t>(c.label_counts[b]);
    c.label_starts.push_back(static_cast<int64_t>(c.labels.size()));
    c.labels.insert(c.labels.end(), values.begin() + static_cast<std::ptrdiff_t>(from),
                    values.begin() + static_cast<std::ptrdiff_t>(from + count));
    next = from + count;
    c.most_labels = std::max(c.most_labels, c.label_counts[b]);
  }
  for (const int64_t label : c.labels) {
    require(label >= 0 && label < c.classes && label != c.blank, op,
            "expected targets from 0 to {} that are not the blank ({}), got {}", c.classes - 1, c.blank, label);
  }
}

CtcBatch checked_batch(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                       const Tensor& target_lengths, const CtcOptions& options) {
  const Op& op = kCtcLoss;
  require_floating(op.name, log_probs.dtype());
  require(log_probs.dim() == 2 || log_probs.dim() == 3, op, "expected log-probabilities [T, B, C] or [T, C], got {}",
          log_probs.shape());
  CtcBatch c;
  c.dtype = log_probs.dtype();
  c.steps = log_probs.size(0);
  c.batch = log_probs.dim() == 3 ? log_probs.size(1) : 1;
  c.classes = log_probs.size(-1);
  c.blank = options.blank;
  c.zero_infinity = options.zero_infinity;
  require(c.blank >= 0 && c.blank < c.classes, op, "expected a blank from 0 to {}, got {}", c.classes - 1, c.blank);
  c.lengths = checked_lengths(input_lengths, "input_lengths", c.batch, c.steps);
  const bool alone = log_probs.dim() == 2 && targets.dim() == 1;
  set_labels(c, alone ? targets.unsqueeze(0) : targets, target_lengths);
  return c;
}

// The factor of each loss in the result: 1, or that of a mean.
Tensor factors(const CtcBatch& c, Reduction reduction) {
  const Tensor f = Tensor::empty({c.batch}, kFloat64);
  for (int64_t b = 0; b < c.batch; ++b) {
    const auto labels = std::max<int64_t>(1, c.label_counts[static_cast<std::size_t>(b)]);
    f.mutable_data<double>()[b] =
        reduction == Reduction::mean ? 1 / (static_cast<double>(labels) * static_cast<double>(c.batch)) : 1;
  }
  return f.to(c.dtype);
}

// --- the recorded backward, for gradients of the second order ---

// A logarithm of 0 that is finite, so that no difference of two of them is NaN.
constexpr double kNever = -1e30;

// The states of all sequences, 2 most_labels + 1 each, as constants [B, L].
struct CtcStates {
  Tensor classes;           // of each state
  Tensor skip, start, end;  // kNever, or 0: from two states before; in the first step; in the last one
};

CtcStates states_of(const CtcBatch& c) {
  const int64_t width = 2 * c.most_labels + 1;
  const auto filled = [&] { return full({c.batch, width}, kNever, kFloat64); };
  CtcStates s{full({c.batch, width}, static_cast<double>(c.blank), kInt64), filled(), filled(), filled()};
  for (int64_t b = 0; b < c.batch; ++b) {
    const auto i = static_cast<std::size_t>(b);
    const int64_t* const labels = c.labels.data() + c.label_starts[i];
    const int64_t count = c.label_counts[i], last = 2 * count, row = b * width;
    for (int64_t j = 0; j < count; ++j) {
      s.classes.mutable_data<int64_t>()[row + 2 * j + 1] = labels[j];
      if (j > 0 && labels[j] != labels[j - 1]) s.skip.mutable_data<double>()[row + 2 * j + 1] = 0;
    }
    for (const int64_t at : {int64_t{0}, std::min<int64_t>(1, last)}) s.start.mutable_data<double>()[row + at] = 0;
    for (const int64_t at : {last, std::max<int64_t>(0, last - 1)}) s.end.mutable_data<double>()[row + at] = 0;
  }
  for (Tensor* const x : {&s.skip, &s.start, &s.end}) *x = x->to(c.dtype);
  return s;
}

// x [B, L] moved to later states, or to earlier ones if `by` is negative.
Tensor moved(const Tensor& x, int64_t by) {
  const int64_t width = x.size(1), n = std::min(width, std::abs(by));
  const Tensor never = full({x.size(0), n}, kNever, x.dtype());
  return by > 0 ? cat({never, x.slice(1, 0, width - n)}, 1) : cat({x.slice(1, n, width), never}, 1);
}

Tensor sum_of_ways(const Tensor& a, const Tensor& b, const Tensor& c) { return logsumexp(stack({a, b, c}, 0), 0); }

// What a sequence's gradient is multiplied by: 1, or NaN for a loss that is not finite; 0 for an infinite one with
// zero_infinity.
Tensor of_infinite_losses(const CtcBatch& c, const Tensor& losses) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const Tensor factors = masked_fill(ones_like(losses), isinf(losses), c.zero_infinity ? 0 : kNan);
  return masked_fill(factors, isnan(losses), kNan);
}

// log_probs [T, B, C], dlosses [B].
Tensor composed_backward(const CtcBatch& c, const Tensor& log_probs, const Tensor& losses, const Tensor& dlosses) {
  if (c.steps == 0 || c.batch == 0) return zeros_like(log_probs);
  const CtcStates states = states_of(c);
  const auto steps = static_cast<std::size_t>(c.steps);
  const Tensor lengths = Tensor::empty({c.batch, 1}, kInt64);
  std::copy(c.lengths.begin(), c.lengths.end(), lengths.mutable_data<int64_t>());
  std::vector<Tensor> here(steps), before(steps),
      gradients(steps);  // `before`: the ways to each state, with its own step
  for (std::size_t t = 0; t < steps; ++t) {
    here[t] = gather(log_probs[static_cast<int64_t>(t)], 1, states.classes);
    here[t] = masked_fill(here[t], here[t] < kNever, kNever);
    before[t] =
        here[t] + (t == 0 ? states.start
                          : sum_of_ways(before[t - 1], moved(before[t - 1], 1), moved(before[t - 1], 2) + states.skip));
  }
  const Tensor factor = (dlosses * of_infinite_losses(c, losses)).unsqueeze(1);
  const Tensor skip = moved(states.skip, -2);
  Tensor after = states.end;  // the ways from each state to the end, without its own step
  for (std::size_t t = steps; t-- > 0;) {
    if (t + 1 < steps) {
      const Tensor next = after + here[t + 1];
      after = sum_of_ways(next, moved(next, -1), moved(next, -2) + skip);
      after = where(lengths <= static_cast<double>(t + 1), states.end, after);
    }
    const Tensor log_p = log_probs[static_cast<int64_t>(t)];
    const Tensor slope = scatter_add(exp(log_p), 1, states.classes, -softmax(before[t] + after, 1)) * factor;
    gradients[t] = masked_fill(slope, lengths <= static_cast<double>(t), 0);
  }
  return stack(gradients, 0);
}

}  // namespace

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CtcOptions& options) {
  const OpTimer timer(kCtcLoss, {log_probs});
  CtcBatch c = checked_batch(log_probs, targets, input_lengths, target_lengths, options);
  const bool wanted = needs_grad(log_probs);
  const Tensor p = packed(log_probs);
  const Tensor losses = Tensor::empty({c.batch}, c.dtype);
  const Tensor ways = wanted ? Tensor::empty({c.batch, c.steps, c.row_size()}, c.dtype) : Tensor();
  write_ctc_losses(c, p, losses, ways);
  Tensor y = c.zero_infinity ? masked_fill(losses.detach(), isinf(losses), 0) : losses;
  const Tensor factor = factors(c, options.reduction);
  if (options.reduction == Reduction::none) {
    y = y.view(log_probs.dim() == 2 ? Shape{} : y.shape(), log_probs.dim() == 2 ? Strides{} : y.strides());
  } else {
    y = reduce_losses(y * factor, Reduction::sum, 1);
    if (c.batch == 0 && options.reduction == Reduction::mean) y = full({}, std::nan(""), c.dtype);
  }
  if (!wanted) return y;
  return record(kCtcLoss, y, {log_probs}, [c = std::move(c), log_probs, losses, ways, factor](const Tensor& dy) {
    const Tensor dlosses = dy.dim() == 0 ? dy * factor : dy;
    if (records_backward()) {
      const Tensor each = log_probs.dim() == 2 ? log_probs.unsqueeze(1) : log_probs;
      return Grads(composed_backward(c, each, losses, dlosses).reshape(log_probs.shape()));
    }
    const Tensor dx = Tensor::empty(log_probs.shape(), c.dtype);
    write_ctc_gradient(c, packed(log_probs), losses, ways, packed(dlosses), dx);
    return Grads(dx);
  });
}

}  // namespace tapegrad
