// Losses of classes, sequences, elements and vectors.
//
// The last argument is the reduction, or a struct of options that begins with it:
//
//   mse_loss(y, target, Reduction::sum);
//   huber_loss(y, target, {.reduction = Reduction::sum, .delta = 0.5});
//   cross_entropy(logits, classes, Reduction::sum);
//   cross_entropy(logits, classes, {.label_smoothing = 0.1});
//
// float32 and float64; operands are converted to the later type. Included by ops.h.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <concepts>

namespace tapegrad {

/// How losses are combined: none, sum or mean; the mean of no losses is NaN, with gradient 0. Where a loss takes a
/// struct of options, a reduction converts to it.
class Reduction {
 public:
  static const Reduction none, sum, mean;  ///< as PyTorch's
  constexpr Reduction() = default;         ///< none
  /// The options of a loss with this reduction: cross_entropy(logits, classes, Reduction::sum).
  template <class Options>
  requires requires(Options& o) {
    { o.reduction } -> std::same_as<Reduction&>;
  }
  operator Options() const {  // NOLINT: converts
    Options options;
    options.reduction = *this;
    return options;
  }
  friend constexpr bool operator==(const Reduction&, const Reduction&) = default;

 private:
  constexpr explicit Reduction(int kind) : kind_(kind) {}
  int kind_ = 0;
};
inline constexpr Reduction Reduction::none{0}, Reduction::sum{1}, Reduction::mean{2};

// --- of classes (autograd/ops/loss/cross_entropy.cpp, linear_cross_entropy.cpp, loss_of_classes.cpp): [..., V] -> a
// scalar, or [...] ---

struct CrossEntropyOptions {
  Reduction reduction = Reduction::mean;  ///< mean: over the weights of the targets that count
  int64_t ignore_index = -100;            ///< targets with this value count neither in the loss nor in the mean
  double label_smoothing = 0;  ///< the share of the target distribution that is spread evenly over the classes, 0 to 1
  Tensor weight = {};          ///< [V] in the type of the logits: one factor per class
  int64_t axis = -1;           ///< of the classes; 1 for PyTorch's [N, V, ...]
};
/// -log softmax(logits)[target]: logits [..., V], int64 target [...]. Fused. inf, with gradient 0, where all logits are
/// -inf. With weights, a mean divides by the sum of the targets' weights, and smoothing multiplies each class by its
/// own; without smoothing, the weights of classes that are not a target have no effect, even if they are infinite or
/// NaN. Error for a target that is neither a class nor ignored, and for weights that need a gradient.
///
/// A floating target of the logits' shape has one factor per class, usually probabilities: then the loss is -sum(target
/// log softmax(logits)) over the classes, the target and the weights have gradients, too, and a mean is over all rows,
/// weighted or not. Error for an ignore_index of 0 or more.
///
/// If the target has class indices, and nothing else holds the logits or shares their memory, as in
/// cross_entropy(model(x), y), backward overwrites them with their gradient: with a large vocabulary they are the
/// largest tensor of a training step.
Tensor cross_entropy(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options = {});

struct LinearCrossEntropyOptions {
  Reduction reduction = Reduction::mean;  ///< as for cross_entropy
  Tensor bias = {};                       ///< [V] in the type of x
  int64_t ignore_index = -100;            ///< as for cross_entropy, as are the next ones
  double label_smoothing = 0;             ///< as for cross_entropy
  Tensor class_weight = {};               ///< [V], as CrossEntropyOptions::weight
};
/// cross_entropy(linear(x, weight, bias), target) without its logits: x [..., D], weight [V, D], int64 target [...].
/// Forward and backward compute the logits of one chunk of rows at a time, at most 2^24 of them (or a row), so that a
/// training step with a large vocabulary needs a fraction of the memory. With hidden [B, T, D], after the last norm,
/// and y [B, T]:
///
///     const Tensor loss = linear_cross_entropy(hidden, gpt.out_head.weight, y);
///
/// Its gradients are computed together with the loss and kept for backward, unless `reduction` is none. They are
/// computed for a gradient of 1 of the loss. If the gradient is another power of two, backward scales them; otherwise
/// it computes the logits and the gradients again. Up to 2^24 logits are one chunk: then the loss and all gradients are
/// bit-identical to the composition (unless the head runs in InferenceMode, where linear uses other kernels for few
/// rows). With more logits, the gradient of the bias is a sum over the chunks, and with more than 65,536 classes the
/// gradient of the weight, too. These values are equal up to rounding, and depend on neither the machine nor the number
/// of threads. Under Autocast, products are rounded as those of linear, but gradients of the second order are computed
/// from all logits. Errors as for linear and cross_entropy; a weight in bfloat16 or a quantized one, probabilities as
/// targets and another axis are not supported: use the composition. Wijmans et al. 2024 (Cut Your Losses), Hsu et al.
/// 2024 (Liger Kernel).
Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& target,
                            const LinearCrossEntropyOptions& options = {});

struct NllOptions {
  Reduction reduction = Reduction::mean;  ///< as for cross_entropy
  int64_t ignore_index = -100;            ///< as for cross_entropy, as are the next ones
  Tensor weight = {};                     ///< [V]: one factor per class
  int64_t axis = -1;                      ///< of the classes
};
/// cross_entropy from log-probabilities [..., V], with an int64 target [...].
Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target, const NllOptions& options = {});

struct MultiMarginOptions {
  Reduction reduction = Reduction::mean;  ///< over the rows
  int p = 1;                              ///< 1 or 2
  double margin = 1;                      ///< by which the score of the target should exceed the others
  Tensor weight = {};  ///< [V] in the type of x: a factor for the rows of each class; Error if it needs a gradient
};
/// The mean over all V classes of max(margin - x[target] + x[class], 0)^p, with 0 for the target: x [..., V], int64
/// target [...]. Error for a target that is not a class.
Tensor multi_margin_loss(const Tensor& x, const Tensor& target, const MultiMarginOptions& options = {});

// --- of sequences (autograd/ops/loss/ctc_loss.cpp, ctc_rows.cpp): [T, B, C] -> a scalar, [B]; [T, C] -> a scalar ---

struct CtcOptions {
  Reduction reduction = Reduction::mean;  ///< mean: of the losses, each divided by its number of labels (at least 1)
  int64_t blank = 0;                      ///< the class that stands for no label
  bool zero_infinity = false;             ///< a loss is 0, with gradient 0, where it would be infinite
};
/// Minus the logarithm of the probability that the labels of a sequence are read, in order, from its steps: each step
/// has a label or a blank, and equal neighbours that no blank separates are one label. `log_probs` [T, B, C], or [T, C]
/// for one sequence, are log_softmax of the outputs. int64 or int32 `targets` are padded, [B, S], or one after another,
/// [sum of target_lengths]; [S] for one sequence. input_lengths and target_lengths [B] say how many steps and labels
/// count. Infinite where the labels, with blanks between equal ones, are more than the steps. Graves et al. 2006.
///
/// As in PyTorch, the gradient is that of distributions: exp(log_probs) minus the probability that the step has that
/// class. It is the derivative as far as sums of probabilities stay 1, so that gradients of the outputs before
/// log_softmax are exact, to second order, too. An infinite loss has gradient NaN. Unlike PyTorch's, the gradient at a
/// log-probability of -inf is 0. Error for targets that are not classes or are blank, and for lengths out of range.
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CtcOptions& options = {});

// --- of elements (autograd/ops/loss/loss.cpp), fused ---
// Operands broadcast to the shape of one of them, and the mean is over all elements. Error if no operand has that
// shape: an output [N, 1] and a target [N] would give a table of all pairs.

/// (input - target)^2.
Tensor mse_loss(const Tensor& input, const Tensor& target, Reduction reduction = Reduction::mean);
/// |input - target|; slope 0 at 0.
Tensor l1_loss(const Tensor& input, const Tensor& target, Reduction reduction = Reduction::mean);
struct HuberOptions {
  Reduction reduction = Reduction::mean;  ///< over all elements
  double delta = 1;                       ///< above 0
};
/// With d = |input - target|: d^2 / 2 up to delta, delta (d - delta / 2) above. Huber 1964.
Tensor huber_loss(const Tensor& input, const Tensor& target, const HuberOptions& options = {});
struct SmoothL1Options {
  Reduction reduction = Reduction::mean;  ///< over all elements
  double beta = 1;                        ///< 0 or more
};
/// With d = |input - target|: d^2 / (2 beta) below beta, d - beta / 2 from there on; l1_loss for beta = 0. Girshick
/// 2015.
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, const SmoothL1Options& options = {});
struct KlDivOptions {
  Reduction reduction = Reduction::mean;  ///< over all elements; see batchmean
  bool log_target = false;                ///< the target has log-probabilities, too: exp(target) (target - input)
  bool batchmean = false;  ///< the mean divides by the size of the input's first axis, not by all elements
};
/// target (log target - input), where the input is a log-probability; 0 where the target is 0. Error for batchmean with
/// another reduction than the mean.
Tensor kl_div(const Tensor& input, const Tensor& target, const KlDivOptions& options = {});
struct BinaryCrossEntropyOptions {
  Reduction reduction = Reduction::mean;  ///< over all elements
  Tensor weight = {};                     ///< factor of each element; broadcasts
};
/// -target log(p) - (1 - target) log(1 - p). Logarithms are clamped to at least -100, and the divisor of the gradient
/// (p - target) / (p (1 - p)) to at least 1e-12, as in PyTorch. Error for p outside [0, 1].
Tensor binary_cross_entropy(const Tensor& p, const Tensor& target, const BinaryCrossEntropyOptions& options = {});
struct BinaryCrossEntropyWithLogitsOptions {
  Reduction reduction = Reduction::mean;  ///< over all elements
  Tensor weight = {};                     ///< factor of each element; broadcasts
  Tensor pos_weight = {};                 ///< factor of the term target log(p); broadcasts, usually [classes]
};
/// The same with p = sigmoid(logits), without overflow.
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target,
                                        const BinaryCrossEntropyWithLogitsOptions& options = {});
struct GaussianNllOptions {
  Reduction reduction = Reduction::mean;  ///< over all elements
  bool full = false;                      ///< adds log(2 pi) / 2
  double eps = 1e-6;                      ///< values of var below it count as eps, and get the gradient at eps
};
/// (log(var) + (input - target)^2 / var) / 2. var broadcasts, or lacks the last axis. Error for a negative var. Nix,
/// Weigend 1994.
Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& var,
                         const GaussianNllOptions& options = {});

// --- of elements (autograd/ops/loss/loss_composed.cpp), of recorded operations: shapes as above; an int64 target is
// converted ---

struct PoissonNllOptions {
  Reduction reduction = Reduction::mean;  ///< over all elements
  bool log_input = true;                  ///< the input is the logarithm of the expected count
  bool full = false;  ///< adds Stirling's target log(target) - target + log(2 pi target) / 2 where target > 1
  double eps = 1e-8;  ///< added to the input before its logarithm, without log_input
};
/// exp(input) - target input, or input - target log(input + eps).
Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, const PoissonNllOptions& options = {});
/// log(1 + exp(-target x)) without overflow, for targets of 1 and -1.
Tensor soft_margin_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
struct HingeEmbeddingOptions {
  Reduction reduction = Reduction::mean;  ///< over all elements
  double margin = 1;                      ///< distance above which the loss for a target of -1 is 0
};
/// x where the target is 1, max(margin - x, 0) where it is -1; the sum of both elsewhere, as in PyTorch.
Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target, const HingeEmbeddingOptions& options = {});
struct MarginOptions {
  Reduction reduction = Reduction::mean;  ///< over all elements
  double margin = 0;                      ///< by which a and b should differ
};
/// max(margin - target (a - b), 0): a should be larger than b where the target is 1, smaller where it is -1.
Tensor margin_ranking_loss(const Tensor& a, const Tensor& b, const Tensor& target, const MarginOptions& options = {});

// --- of vectors (autograd/ops/loss/loss_composed.cpp), made of recorded operations: [..., D] -> a scalar, or [...] ---

struct TripletMarginOptions {
  Reduction reduction = Reduction::mean;  ///< over the triplets
  double margin = 1;                      ///< by which the negative should be farther away than the positive
  double p = 2;                           ///< of pairwise_distance
  double eps = 1e-6;                      ///< of pairwise_distance
  bool swap = false;                      ///< use the distance from positive to negative instead where it is smaller
};
/// max(distance(anchor, positive) - distance(anchor, negative) + margin, 0) by pairwise_distance. Balntas et al. 2016.
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletMarginOptions& options = {});
/// 1 - cos(a, b) where the target is 1, max(cos(a, b) - margin, 0) where it is -1; 0 for other targets. a and b [...,
/// D] broadcast, target [...]. The cosine is sum(a b) / sqrt((sum(a^2) + 1e-12) (sum(b^2) + 1e-12)).
Tensor cosine_embedding_loss(const Tensor& a, const Tensor& b, const Tensor& target, const MarginOptions& options = {});

}  // namespace tapegrad
