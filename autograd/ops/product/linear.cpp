// The affine product of layers: for training, and for generation, where few rows meet weights that are read from
// memory.
#include <tapegrad/autograd/detail/op_timer.h>
#include <tapegrad/autograd/inference.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/product/blas.h>
#include <tapegrad/autograd/kernels/product/few_rows.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/by_example.h>
#include <tapegrad/autograd/ops/detail/shapes.h>
#include <tapegrad/autograd/ops/product/detail/one_matrix.h>
#include <tapegrad/autograd/ops/product/detail/quantized_matrix.h>
#include <tapegrad/autograd/weight_format.h>

namespace tapegrad {
namespace {

const RuledOp kLinear{"linear", RowRule::first};

int64_t row_count(const Tensor& x) {
  int64_t count = 1;
  for (int i = 0; i + 1 < x.dim(); ++i) count *= x.shape()[i];
  return count;
}

bool no_gradient(const Tensor& x) { return !x.defined() || !needs_grad(x); }

// --- checks ---

// Stored in a half, for float32 inputs.
bool is_stored(const Tensor& x, const Tensor& weight) { return is_half(weight.dtype()) && x.dtype() == kFloat32; }

void check(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const bool stored = is_stored(x, weight);
  if (!stored) require_floating(kLinear.name, {&x, &weight});
  if (weight.dim() != 2) fail(kLinear, "expected a weight [out, in], got {}", weight.shape());
  const int64_t out = weight.size(0), in = weight.size(1);
  require(x.dim() != 0 && x.size(-1) == in, kLinear,
          "expected an input with last axis {} for weight {} [out, in], got {}", in, weight.shape(), x.shape());
  if (bias.defined() && (!(bias.shape() == Shape{out}) || bias.dtype() != x.dtype())) {
    fail(kLinear, "expected a bias {} [{}], got {} {}", x.dtype(), out, bias.dtype(), bias.shape());
  }
  require(!stored || (no_gradient(x) && no_gradient(bias)), kLinear,
          "a {} weight cannot be used while a tape records (use PauseRecording, or to(kFloat32))", weight.dtype());
}

void check(const Tensor& x, const QuantizedMatrix& weight, const Tensor& bias) {
  const std::string_view format = weight.format->name;
  require(x.dtype() == kFloat32 && x.dim() != 0, kLinear,
          "expected an input float32 [..., in] with an {} weight, got {} {}", format, x.dtype(), x.shape());
  require_quantized(kLinear.name, weight, x.size(-1));
  const int64_t out = weight.values.size(0);
  if (bias.defined() && (bias.dtype() != kFloat32 || !(bias.shape() == Shape{out}))) {
    fail(kLinear, "expected a bias float32 [{}], got {} {}", out, bias.dtype(), bias.shape());
  }
  require(no_gradient(x) && no_gradient(bias), kLinear,
          "an {} weight cannot be used while a tape records (use PauseRecording, or float32 weights)", format);
}

void check(const Tensor& x, const LinearWeight& w) {
  return w.quantized.defined() ? check(x, w.quantized, w.bias) : check(x, w.weight, w.bias);
}

// --- weights that are read once ---

// Of checked arguments.
bool reads_once(const Tensor& x, const LinearWeight& w) {
  if (w.quantized.defined() || is_stored(x, w.weight)) return true;
  return InferenceMode::on() && x.dtype() == kFloat32 && w.weight.is_contiguous() && row_count(x) <= kFewRows &&
         x.size(-1) <= kLongestSum && !multiplies_rounded(x, w.weight) && no_gradient(x) && no_gradient(w.weight) &&
         no_gradient(w.bias);
}

constexpr std::size_t kMostStreams = 4;

const RowsFormat* rows_format(DType dtype) {
  return dtype == kFloat16 ? &kFloat16Rows : dtype == kBFloat16 ? &kBFloat16Rows : &kFloat32Rows;
}

// At most kMostStreams weights.
void stream(const Tensor& x, std::span<const LinearWeight> weights, std::span<Tensor> results) {
  StreamedWeight streams[kMostStreams];
  Tensor contiguous[kMostStreams], biases[kMostStreams];
  const Tensor from = x.detach().contiguous();
  const int64_t rows = row_count(x), in = x.size(-1);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const LinearWeight& w = weights[i];
    StreamedWeight& s = streams[i];
    if (w.quantized.defined()) {
      s = {.format = w.quantized.format->rows, .n = w.quantized.values.size(0), .data = w.quantized.values.raw_data()};
      s.scales = w.quantized.scales.data<float>();
    } else {
      contiguous[i] = w.weight.contiguous();
      s = {.format = rows_format(w.weight.dtype()), .n = w.weight.size(0), .data = contiguous[i].raw_data()};
    }
    results[i] = Tensor::empty(with_size(x.shape(), -1, s.n));
    s.c = results[i].mutable_data<float>();
    if (!w.bias.defined()) continue;
    biases[i] = w.bias.detach().contiguous();
    s.bias = biases[i].data<float>();
  }
  if (rows <= kFewRows) return multiply_few_rows(rows, in, from.data<float>(), {streams, weights.size()});
  for (std::size_t i = 0; i < weights.size(); ++i) multiply_rows(rows, in, from.data<float>(), streams[i]);
}

// --- floating weights ---

// The epilogue of linear: adds the bias to each finished tile of y, whose rows are contiguous. Without a bias, none.
template <class T>
class AddBias {
 public:
  AddBias(const Tensor& bias, const Tensor& y) : y_(y.mutable_data<T>()), out_(y.size(-1)) {
    if (bias.defined()) bias_ = bias.detach().contiguous();
  }
  void operator()(int64_t row, int64_t row_end, int64_t column, int64_t column_end) const {
    const T* const bias = bias_.data<T>();
    for (int64_t i = row; i < row_end; ++i) {
      for (int64_t j = column; j < column_end; ++j) y_[i * out_ + j] += bias[j];
    }
  }
  Epilogue done() const { return bias_.defined() ? Epilogue(*this) : Epilogue(); }

 private:
  Tensor bias_;
  T* y_;
  int64_t out_;
};

// y' = x' W^T + x W'^T + b', of those that are given.
[[gnu::cold]] Tensor tangent_of(const Tensor& x, const Tensor& w, bool narrow, const Shape& shape,
                                std::span<const Tensor> t) {
  Tensor sum;
  const auto add_term = [&](const Tensor& term) { sum = sum.defined() ? add(sum, term) : term; };
  if (t[0].defined()) add_term(matmul_of(t[0], w.t(), narrow));
  if (t[1].defined()) add_term(matmul_of(x, t[1].t(), narrow));
  if (t[2].defined()) add_term(t[2].expand(shape));
  return sum;
}

// In bfloat16 if `narrow`.
Tensor affine(const Tensor& input, const Tensor& weight, const Tensor& bias, bool narrow) {
  const int64_t out = weight.size(0);
  const bool wants_x = needs_grad(input), wants_weight = needs_grad(weight),
             wants_bias = bias.defined() && needs_grad(bias);
  const Tensor x = narrow && wants_weight ? rounded(input) : input;
  const Tensor w = narrow && wants_x ? rounded(weight) : weight;
  const Tensor y = Tensor::empty(with_size(x.shape(), -1, out), input.dtype());
  with_floating_type(y.dtype(), [&]<class T>(T) {
    const AddBias<T> add_bias(bias, y);
    multiply_matrices<T>(rows_of(x.detach()), transposed_view(w), narrow, {y.mutable_data<T>(), out, 1},
                         add_bias.done());
  });
  if (!wants_x && !wants_weight && !wants_bias) return y;
  return record(kLinear, y, {x, w, bias},
                [x = kept_if(wants_weight, x), w = kept_if(wants_x, w), wants_bias, narrow](
                    const Tensor& dy, const BackwardPass& pass) -> Grads {
                  if (pass.is_forward()) return tangent_of(x, w, narrow, dy.shape(), pass.tangents);
                  Tensor dx, dweight, dbias;
                  if (w.defined() && pass.wants(0)) dx = matmul_of(dy, w, narrow);
                  const int64_t examples = pass.examples;
                  if (examples > 0 && has_rows_of(dy, examples)) {
                    if (x.defined() && pass.wants(1)) dweight = products_by_example(dy, x, examples, narrow);
                    if (wants_bias && pass.wants(2)) dbias = sum_of_rows(rows_by_example(dy, examples));
                    return {dx, dweight, dbias};
                  }
                  if (x.defined() && pass.wants(1)) dweight = matmul_of(rows_of(dy).t(), rows_of(x), narrow);
                  if (wants_bias && pass.wants(2)) dbias = sum(rows_of(dy), 0);
                  return {dx, dweight, dbias};
                });
}

// The choice, for checked arguments.
Tensor product(const Tensor& x, const LinearWeight& w) {
  const OpTimer timer(kLinear, {x, w.weight, w.bias});
  if (!reads_once(x, w)) return affine(x, w.weight, w.bias, multiplies_rounded(x, w.weight));
  Tensor y;
  stream(x, {&w, 1}, {&y, 1});
  return y;
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check(x, weight, bias);
  return product(x, {weight, {}, bias});
}

Tensor linear(const Tensor& x, const QuantizedMatrix& weight, const Tensor& bias) {
  static const Tensor kNone;
  check(x, weight, bias);
  return product(x, {kNone, weight, bias});
}

void linear_each(const Tensor& x, std::span<const LinearWeight> weights, std::span<Tensor> results) {
  bool once = weights.size() <= kMostStreams && row_count(x) <= kFewRows;
  for (const LinearWeight& w : weights) {
    check(x, w);
    once = once && reads_once(x, w);
  }
  if (once) {
    const OpTimer timer(kLinear, {x});
    return stream(x, weights, results);
  }
  for (std::size_t i = 0; i < weights.size(); ++i) results[i] = product(x, weights[i]);
}

}  // namespace tapegrad
