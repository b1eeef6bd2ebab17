// Every operation on tensors. All are recorded on the tape; all but those marked "once" can be differentiated twice.
//
// Unless said otherwise an operation takes bool, int64, float32 and float64, promotes its operands to the later type in
// that order, and broadcasts them by NumPy's rule. Axes count from the end when negative. Errors name the operation and
// the shapes.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tapegrad {

class Generator;

// --- elementwise: arithmetic (ops/arithmetic.cpp) ---
Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);  // true division: integers become float32
Tensor pow(const Tensor& a, const Tensor& b);  // dL/db is 0 where a is 0, as in PyTorch
Tensor add(const Tensor& a, double b);
Tensor sub(const Tensor& a, double b);
Tensor sub(double a, const Tensor& b);
Tensor mul(const Tensor& a, double b);
Tensor div(const Tensor& a, double b);
Tensor div(double a, const Tensor& b);
Tensor pow(const Tensor& a, double exponent);
Tensor neg(const Tensor& x);
Tensor maximum(const Tensor& a, const Tensor& b);  // NaN wins; at a tie each side takes half of the gradient
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor maximum(const Tensor& a, double b);
Tensor minimum(const Tensor& a, double b);
// Values outside [low, high] become the bound and pass no gradient. NaN stays.
Tensor clamp(const Tensor& x, std::optional<double> low, std::optional<double> high);

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator+(const Tensor& a, double b) { return add(a, b); }
inline Tensor operator+(double a, const Tensor& b) { return add(b, a); }
inline Tensor operator-(const Tensor& a, double b) { return sub(a, b); }
inline Tensor operator-(double a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, double b) { return mul(a, b); }
inline Tensor operator*(double a, const Tensor& b) { return mul(b, a); }
inline Tensor operator/(const Tensor& a, double b) { return div(a, b); }
inline Tensor operator/(double a, const Tensor& b) { return div(a, b); }
inline Tensor operator-(const Tensor& x) { return neg(x); }

// --- elementwise: functions of one tensor, float32 and float64 (ops/elementwise.cpp) ---
Tensor exp(const Tensor& x);
Tensor expm1(const Tensor& x);
Tensor log(const Tensor& x);
Tensor log1p(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);
Tensor abs(const Tensor& x);   // slope 0 at 0
Tensor sign(const Tensor& x);  // gradient 0
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor erf(const Tensor& x);
// Activations (ops/activation.cpp).
Tensor sigmoid(const Tensor& x);
Tensor relu(const Tensor& x);  // slope 0 at 0
Tensor silu(const Tensor& x);  // x sigmoid(x)
enum class Gelu { erf, tanh };
Tensor gelu(const Tensor& x, Gelu form = Gelu::erf);

// --- comparison and logic: bool results, no gradient (ops/compare.cpp) ---
Tensor eq(const Tensor& a, const Tensor& b);
Tensor ne(const Tensor& a, const Tensor& b);
Tensor lt(const Tensor& a, const Tensor& b);
Tensor le(const Tensor& a, const Tensor& b);
Tensor gt(const Tensor& a, const Tensor& b);
Tensor ge(const Tensor& a, const Tensor& b);
Tensor eq(const Tensor& a, double b);
Tensor ne(const Tensor& a, double b);
Tensor lt(const Tensor& a, double b);
Tensor le(const Tensor& a, double b);
Tensor gt(const Tensor& a, double b);
Tensor ge(const Tensor& a, double b);
Tensor logical_and(const Tensor& a, const Tensor& b);  // bool operands
Tensor logical_or(const Tensor& a, const Tensor& b);
Tensor logical_xor(const Tensor& a, const Tensor& b);
Tensor logical_not(const Tensor& x);
Tensor isnan(const Tensor& x);
Tensor isfinite(const Tensor& x);
bool all(const Tensor& x);  // of a bool tensor; true of an empty one
bool any(const Tensor& x);
Tensor all(const Tensor& x, int axis, bool keepdim = false);
Tensor any(const Tensor& x, int axis, bool keepdim = false);
inline Tensor operator==(const Tensor& a, const Tensor& b) { return eq(a, b); }
inline Tensor operator!=(const Tensor& a, const Tensor& b) { return ne(a, b); }
inline Tensor operator<(const Tensor& a, const Tensor& b) { return lt(a, b); }
inline Tensor operator<=(const Tensor& a, const Tensor& b) { return le(a, b); }
inline Tensor operator>(const Tensor& a, const Tensor& b) { return gt(a, b); }
inline Tensor operator>=(const Tensor& a, const Tensor& b) { return ge(a, b); }
inline Tensor operator==(const Tensor& a, double b) { return eq(a, b); }
inline Tensor operator!=(const Tensor& a, double b) { return ne(a, b); }
inline Tensor operator<(const Tensor& a, double b) { return lt(a, b); }
inline Tensor operator<=(const Tensor& a, double b) { return le(a, b); }
inline Tensor operator>(const Tensor& a, double b) { return gt(a, b); }
inline Tensor operator>=(const Tensor& a, double b) { return ge(a, b); }
inline Tensor operator&&(const Tensor& a, const Tensor& b) { return logical_and(a, b); }
inline Tensor operator||(const Tensor& a, const Tensor& b) { return logical_or(a, b); }
inline Tensor operator!(const Tensor& x) { return logical_not(x); }

// --- selection (ops/select.cpp) ---
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);  // bool condition; all three broadcast
Tensor where(const Tensor& condition, const Tensor& a, double b);
Tensor where(const Tensor& condition, double a, const Tensor& b);
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);  // value where the bool mask is true
// Keeps the lower (upper) triangle of the last two axes, from `diagonal` down (up); zeros elsewhere.
Tensor tril(const Tensor& x, int64_t diagonal = 0);
Tensor triu(const Tensor& x, int64_t diagonal = 0);

// --- reductions (ops/reduce.cpp): over `axes`, or over all of them when none is named ---
Tensor sum(const Tensor& x, const Axes& axes = {}, bool keepdim = false);   // bool counts as int64
Tensor mean(const Tensor& x, const Axes& axes = {}, bool keepdim = false);  // floating
// Divides by (n - correction): 1 gives the sample variance (PyTorch's default), 0 the population's.
Tensor var(const Tensor& x, const Axes& axes = {}, bool keepdim = false, double correction = 1);
Tensor std(const Tensor& x, const Axes& axes = {}, bool keepdim = false, double correction = 1);
Tensor prod(const Tensor& x, const Axes& axes = {}, bool keepdim = false);  // right with any number of zeros
// Equal extremes share the gradient evenly. NaN wins. Error on an empty reduction.
Tensor amax(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
Tensor amin(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
Tensor logsumexp(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
Tensor cumsum(const Tensor& x, int64_t axis);
// int64 index of the first extreme (or NaN) along one axis; the second form over the flattened tensor.
Tensor argmax(const Tensor& x, int64_t axis, bool keepdim = false);
Tensor argmax(const Tensor& x);
Tensor argmin(const Tensor& x, int64_t axis, bool keepdim = false);
Tensor argmin(const Tensor& x);

// --- matrix products (ops/matmul.cpp), floating ---
// a [..., m, k] @ b [..., k, n] -> [..., m, n]; leading axes broadcast; a vector on either side as in NumPy.
Tensor matmul(const Tensor& a, const Tensor& b);
// x [..., in], weight [out, in], bias [out] or empty -> x weight^T + bias, [..., out]. The weight may be bfloat16
// beside a float32 x that is not recorded.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

// --- joining and cutting (ops/join.cpp) ---
Tensor cat(std::span<const Tensor> parts, int64_t axis = 0);
Tensor cat(std::initializer_list<Tensor> parts, int64_t axis = 0);
Tensor stack(std::span<const Tensor> parts, int64_t axis = 0);
Tensor stack(std::initializer_list<Tensor> parts, int64_t axis = 0);
std::vector<Tensor> split(const Tensor& x, int64_t size,
                          int64_t axis = 0);  // pieces of `size`, the last shorter
std::vector<Tensor> split(const Tensor& x, const std::vector<int64_t>& sizes, int64_t axis = 0);
std::vector<Tensor> chunk(const Tensor& x, int64_t count, int64_t axis = 0);
Tensor narrow(const Tensor& x, int64_t axis, int64_t start, int64_t length);  // a view
Tensor flip(const Tensor& x, const Axes& axes);

// --- indexing (ops/index.cpp): int64 indices; one out of range is an Error that names it ---
Tensor index_select(const Tensor& x, int64_t axis, const Tensor& index);  // index [n]
Tensor gather(const Tensor& x, int64_t axis, const Tensor& index);        // as torch.gather
Tensor scatter_add(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source);
Tensor one_hot(const Tensor& index, int64_t classes);  // int64 [...] -> int64 [..., classes]
// weight [V, C], ids [...] -> [..., C]; the row `padding` gets no gradient. Of a bfloat16 table, float32 vectors.
Tensor embedding(const Tensor& weight, const Tensor& ids, std::optional<int64_t> padding = {});

// --- order (ops/sort.cpp) ---
struct Sorted {
  Tensor values;
  Tensor indices;  // int64
};
Sorted sort(const Tensor& x, int64_t axis = -1, bool descending = false);         // stable; NaN is the largest
Sorted topk(const Tensor& x, int64_t k, int64_t axis = -1, bool largest = true);  // in order

// --- softmax (ops/softmax.cpp), floating; a row of nothing but -inf gives zeros and no gradient ---
Tensor softmax(const Tensor& x, int64_t axis = -1);
Tensor log_softmax(const Tensor& x, int64_t axis = -1);

// --- normalisation over the last axes (ops/norm.cpp), fused ---
// (x - mean) / sqrt(var + eps) * weight + bias over the axes of `weight`; weight and bias may be empty handles: then
// over the last axis. Population variance. Ba, Kiros, Hinton 2016.
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps = 1e-5);
// gamma * (x - mean) / (std + eps) + beta, population std, eps outside of the root: the tutorial's form (8.4.1).
Tensor layer_norm_std(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps = 1e-6);
// x / sqrt(mean(x^2) + eps) * weight over the last axis. Zhang, Sennrich 2019.
Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps = 1e-6);

// --- dropout (ops/dropout.cpp) ---
// In training zeroes each element with probability p and multiplies the others by 1/(1-p); draws one number an element
// in row-major order, as PyTorch does. p = 0, p = 1, evaluation and empty tensors draw nothing. No generator: the
// global one.
Tensor dropout(const Tensor& x, double p, bool training = true, Generator* generator = nullptr);

// --- attention (ops/attention.cpp) ---
struct AttentionOptions {
  Tensor mask = {};     // bool: true may be seen; floating: added to the scores; broadcasts to [..., T, S]
  bool causal = false;  // position t sees the keys up to t
  double dropout = 0;   // on the weights, in training
  bool training = true;
  std::optional<double> scale = {};  // 1/sqrt(D) where it is left out
  Generator* generator = nullptr;
};
// query [..., T, D], key [..., S, D], value [..., S, E] -> [..., T, E]. A query that may see nothing gives zeros.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options = {});
// The same, and the weights [..., T, S] before dropout, detached.
std::pair<Tensor, Tensor> attention_with_weights(const Tensor& query, const Tensor& key, const Tensor& value,
                                                 const AttentionOptions& options = {});

// --- losses (ops/loss.cpp), fused ---
enum class Reduction { none, sum, mean };
struct CrossEntropyOptions {
  Reduction reduction = Reduction::mean;
  int64_t ignore_index = -100;  // targets that count neither in the loss nor in the mean
  double label_smoothing = 0;
};
// logits [..., V] floating, target [...] int64. (Classes stand in the last axis, wherever PyTorch puts them.)
Tensor cross_entropy(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options = {});
// The same from log-probabilities.
Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target, Reduction reduction = Reduction::mean,
                int64_t ignore_index = -100);
// target * (log target - input), input being log-probabilities; with mean over all elements.
Tensor kl_div(const Tensor& input, const Tensor& target, Reduction reduction = Reduction::mean);
Tensor mse_loss(const Tensor& input, const Tensor& target, Reduction reduction = Reduction::mean);
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target,
                                        Reduction reduction = Reduction::mean);

// --- for the engine ---
// Sums x over what broadcasting stretched: the inverse of expand(shape -> x.shape()).
Tensor sum_to(const Tensor& x, const Shape& shape);
// sum += x in place, for a tensor that is unique(); x broadcasts to it. Not recorded.
void accumulate_into(Tensor& sum, const Tensor& x);
bool all_finite(const Tensor& x);

}  // namespace tapegrad
