// linear_cross_entropy: the loss of a large vocabulary, whose logits exist for one chunk of rows at a time.
#include <tapegrad/autograd/detail/op_timer.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/op_path.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/product/bfloat16_product.h>
#include <tapegrad/autograd/kernels/product/blas.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/matrices.h>
#include <tapegrad/autograd/ops/detail/rounded.h>
#include <tapegrad/autograd/ops/loss/detail/class_rows.h>
#include <tapegrad/autograd/ops/loss/detail/loss.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace tapegrad {
namespace {

const Op kLinearCrossEntropy{"linear_cross_entropy"};
const detail::OpPath kInOneChunk{kLinearCrossEntropy, "in one chunk of rows"},
    kInChunks{kLinearCrossEntropy, "in several chunks of rows"};

// The most logits of a chunk, unless a single row has more. Each chunk reads the weight twice, and its gradient once.
// Sums over the rows of a product are sums of blocks of kBlock rows: chunks of whole blocks give the same bits. Other
// bits depend on the size of chunks, so it is the same on every machine.
constexpr int64_t kChunkLogits = int64_t{16} << 20;
constexpr int64_t kBlock = 256;

// What backward keeps: N rows of D features, V classes.
struct Head {
  Tensor x;       // [..., D]
  Tensor weight;  // [V, D]
  Tensor bias;    // [V], or empty
  bool narrow;    // products are computed in bfloat16, and x and weight may be stored so
  bool wants_x, wants_weight, wants_bias;
  Tensor target;  // contiguous
  Tensor kept;    // of write_class_losses, [N, kept_of_row], or empty
  CrossEntropyOptions options;
  CrossEntropyArgs args;  // for all rows; logits, losses and gradient are those of a chunk

  int64_t rows() const { return target.numel(); }
  int64_t classes() const { return weight.size(0); }
  int64_t features() const { return weight.size(1); }
  int64_t chunk_rows() const {
    const int64_t most = std::max<int64_t>(1, kChunkLogits / std::max<int64_t>(1, classes()));
    if (rows() <= most) return std::max<int64_t>(1, rows());
    return most < kBlock ? most : most / kBlock * kBlock;
  }
  Shape rows_shape() const { return {rows(), features()}; }
};

template <class T>
MatrixView<const T> view_of(const Tensor& x) {
  return {x.data<T>(), x.strides()[-2], x.strides()[-1]};
}

// c = a b, or c += a b; the rows of c are contiguous.
template <class T>
void multiply(bool narrow, const Tensor& a, const Tensor& b, bool add, T* c, Epilogue done = {}) {
  const int64_t m = a.size(0), n = b.size(1), k = a.size(1);
  const MatrixView<T> to{c, n, 1};
  if constexpr (std::is_same_v<T, float>) {
    if (narrow) return rounded_gemm(m, n, k, rounded_view(a), rounded_view(b), add, to, done);
  }
  gemm<T>(m, n, k, T{1}, view_of<T>(a), view_of<T>(b), add ? T{1} : T{0}, to, done);
}

// The logits of a chunk, as linear computes them; x [rows of the chunk, D].
template <class T>
void write_logits(const Head& h, const Tensor& x, const Tensor& logits) {
  T* const y = logits.mutable_data<T>();
  const Tensor bias = packed(h.bias);
  const T* const added = bias.defined() ? bias.data<T>() : nullptr;
  const auto add_bias = [=, classes = h.classes()](int64_t row, int64_t row_end, int64_t column, int64_t column_end) {
    for (int64_t i = row; i < row_end; ++i) {
      for (int64_t j = column; j < column_end; ++j) y[i * classes + j] += added[j];
    }
  };
  multiply<T>(h.narrow, x, transposed_view(h.weight.detach()), false, y, added ? Epilogue(add_bias) : Epilogue());
}

// The arguments for the rows from `begin` on.
template <class T>
CrossEntropyArgs from_row(const Head& h, int64_t begin, const Tensor& logits) {
  CrossEntropyArgs args = h.args;
  args.targets = h.target.data<int64_t>() + begin;
  if (h.kept.defined()) args.kept = h.kept.mutable_data<T>() + begin * kept_of_row(h.classes());
  args.logits = logits.raw_data();
  return args;
}

// --- gradients ---

// Whether the rows of x are those of `examples` examples, in order.
bool has_examples(const Head& h, int64_t examples) {
  return examples > 0 && h.x.dim() > 1 && h.x.size(0) % examples == 0;
}

// A gradient in the shape of a parameter, or one per example.
Tensor empty_for(const Tensor& parameter, bool by_example, int64_t examples, DType dtype) {
  Shape shape = parameter.shape();
  if (by_example) shape.insert(0, examples);
  return Tensor::empty(shape, dtype);
}

// The gradients of chunks of rows, from their logits, in their place.
template <class T>
class HeadGradients {
 public:
  HeadGradients(const Head& head, const Tensor& dy, const BackwardPass& pass)
      : h_(head),
        x_(head.x.detach().reshape(head.rows_shape())),
        dy_(packed(dy)),
        by_example_(has_examples(h_, pass.examples)),
        parts_(by_example_ ? pass.examples : 1) {
    const DType dtype = h_.args.dtype;
    if (h_.wants_x && pass.wants(0)) dx_ = Tensor::empty(h_.x.shape(), dtype);
    if (h_.wants_weight && pass.wants(1)) dweight_ = empty_for(h_.weight, by_example_, parts_, dtype);
    if (h_.wants_bias && pass.wants(2)) dbias_ = empty_for(h_.bias, by_example_, parts_, dtype);
  }

  // From logits that are computed again.
  Grads of_all_rows() {
    const int64_t rows = h_.rows() / parts_;
    if (rows == 0)
      return {dx_, dweight_.defined() ? zeros_like(dweight_) : Tensor(),
              dbias_.defined() ? zeros_like(dbias_) : Tensor()};
    logits_ = Tensor::empty({h_.chunk_rows(), h_.classes()}, h_.args.dtype);
    for (int64_t part = 0; part < parts_; ++part) {
      for (int64_t at = 0; at < rows; at += h_.chunk_rows()) {
        const int64_t begin = part * rows + at, end = part * rows + std::min(at + h_.chunk_rows(), rows);
        write_logits<T>(h_, x_.slice(0, begin, end), logits_);
        add_chunk(logits_, part, begin, end, at > 0);
      }
    }
    return {dx_, dweight_, dbias_};
  }

  // Adds the gradients of rows whose logits these are. `add`: they are not the first of their part.
  void add_chunk(const Tensor& logits, int64_t part, int64_t begin, int64_t end, bool add) {
    const int64_t classes = h_.classes(), features = h_.features();
    const Tensor x = x_.slice(0, begin, end), slope = logits.slice(0, 0, end - begin);
    CrossEntropyArgs args = from_row<T>(h_, begin, logits);
    args.gradient = logits.mutable_raw_data();
    args.dy_stride = dy_.dim() > 0 ? 1 : 0;
    args.dy = dy_.data<T>() + begin * args.dy_stride;
    write_class_gradients(args, end - begin);
    if (dx_.defined()) {
      multiply<T>(h_.narrow, slope, h_.weight.detach(), false, dx_.mutable_data<T>() + begin * features);
    }
    if (dweight_.defined()) {
      multiply<T>(h_.narrow, slope.t(), x, add, dweight_.mutable_data<T>() + part * classes * features);
    }
    if (!dbias_.defined()) return;
    const Tensor of_chunk = sum(slope, 0);
    const T* const from = of_chunk.data<T>();
    T* const to = dbias_.mutable_data<T>() + part * classes;
    for (int64_t i = 0; i < classes; ++i) to[i] = add ? to[i] + from[i] : from[i];
  }
  Grads found() const { return {dx_, dweight_, dbias_}; }

 private:
  const Head& h_;
  const Tensor x_, dy_;
  Tensor logits_;  // made when they are computed again
  const bool by_example_;
  const int64_t parts_;
  Tensor dx_, dweight_, dbias_;
};

// The losses of all rows and, where `gradients` are wanted, these: the logits of a chunk are there.
template <class T>
void write_losses(const Head& h, const Tensor& losses, HeadGradients<T>* gradients) {
  const Tensor x = h.x.detach().reshape(h.rows_shape());
  const Tensor logits = Tensor::empty({h.chunk_rows(), h.classes()}, h.args.dtype);
  for (int64_t begin = 0; begin < h.rows(); begin += h.chunk_rows()) {
    const int64_t end = std::min(begin + h.chunk_rows(), h.rows());
    write_logits<T>(h, x.slice(0, begin, end), logits);
    CrossEntropyArgs args = from_row<T>(h, begin, logits);
    args.losses = losses.mutable_data<T>() + begin;
    write_class_losses(args, end - begin);
    if (gradients) gradients->add_chunk(logits, 0, begin, end, begin > 0);
  }
}

// A loss of which the gradient will be a number, most likely 1: its gradients are found together with the losses.
bool finds_gradients(const Head& h) {
  return (h.wants_x || h.wants_weight || h.wants_bias) && h.options.reduction != Reduction::none && h.rows() > 0;
}

template <class T>
Grads losses_and_gradients(const Head& h, const Tensor& losses) {
  if (!finds_gradients(h)) {
    write_losses<T>(h, losses, nullptr);
    return {};
  }
  HeadGradients<T> gradients(h, scalar(1, h.args.dtype), {});
  write_losses<T>(h, losses, &gradients);
  return gradients.found();
}

// Whether dy times the gradients that were found for dy = 1 has the bits of the gradients for dy: it is a power of two
// that does not take numbers out of their range.
bool only_scales_gradients(const Tensor& dy) {
  int exponent = 0;
  return dy.numel() == 1 && std::abs(std::frexp(dy.item(), &exponent)) == 0.5 && std::abs(exponent) <= 16;
}

// The gradients that were found, times dy. Without a second backward they are given away.
Grads scaled_head_gradients(Grads& found, const Tensor& dy, const BackwardPass& pass) {
  const double factor = dy.item();
  Grads grads;
  for (std::size_t i = 0; i < found.size(); ++i) {
    Tensor grad = pass.retained ? found[i] : std::move(found[i]);
    if (!pass.wants(i)) grad = {};
    grads.push_back(grad.defined() && factor != 1 ? grad * factor : grad);
  }
  return grads;
}

// The gradients as recorded operations, for second-order gradients: from all logits at once.
Grads composed_backward(const Head& h, const Tensor& dy, int64_t examples) {
  const Tensor x = h.x.reshape(h.rows_shape());
  Tensor logits = matmul_of(x, h.weight.t(), h.narrow);
  if (h.bias.defined()) logits = logits + h.bias;
  const Tensor target = h.target.reshape({h.rows()});
  const Tensor each = h.options.reduction == Reduction::none ? dy.reshape({h.rows(), 1}) : dy;
  const Tensor slope = composed_class_gradient(logits, target, h.options.weight, h.options, h.args.factor) * each;
  Tensor dx, dweight, dbias;
  if (h.wants_x) dx = matmul_of(slope, h.weight, h.narrow).reshape(h.x.shape());
  if (has_examples(h, examples)) {
    const int64_t rows = h.rows() / examples;
    const Tensor by_example = slope.reshape({examples, rows, h.classes()});
    if (h.wants_weight) {
      dweight = matmul_of(by_example.t(), x.reshape({examples, rows, h.features()}), h.narrow);
    }
    if (h.wants_bias) dbias = sum(by_example, 1);
    return {dx, dweight, dbias};
  }
  if (h.wants_weight) dweight = matmul_of(slope.t(), x, h.narrow);
  if (h.wants_bias) dbias = sum(slope, 0);
  return {dx, dweight, dbias};
}

// --- checks ---

void check(const Tensor& x, const Tensor& weight, const Tensor& target, const LinearCrossEntropyOptions& options) {
  const Op& op = kLinearCrossEntropy;
  require_floating(op.name, {&x, &weight});
  if (weight.dim() != 2) fail(op, "expected a weight [classes, in], got {}", weight.shape());
  const int64_t classes = weight.size(0), in = weight.size(1);
  require(x.dim() != 0 && x.size(-1) == in, op,
          "expected an input with last axis {} for weight {} [classes, in], got {}", in, weight.shape(), x.shape());
  const Tensor& bias = options.bias;
  if (bias.defined() && (!(bias.shape() == Shape{classes}) || bias.dtype() != x.dtype())) {
    fail(op, "expected a bias {} [{}], got {} {}", x.dtype(), classes, bias.dtype(), bias.shape());
  }
  require(!is_floating(target.dtype()), op,
          "expected int64 class numbers as the target, got {} (for probabilities, use cross_entropy of linear)",
          target.dtype());
  const Shape logits = with_size(x.shape(), -1, classes);
  require(!is_integer(target.dtype()) || target.shape() == without_axis(x.shape(), -1), op,
          "expected a target with the axes of the input {} except the last, got {}", x.shape(), target.shape());
  require_classes(op.name, scalar(0, x.dtype()).expand(logits), target, options.class_weight, -1);
  require_probability(op.name, "label smoothing", options.label_smoothing);
}

}  // namespace

Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& target,
                            const LinearCrossEntropyOptions& options) {
  const OpTimer timer(kLinearCrossEntropy, {x, weight, options.bias});
  check(x, weight, target, options);
  const bool narrow = multiplies_rounded(x, weight);
  const Tensor& bias = options.bias;
  const bool wants_x = needs_grad(x), wants_weight = needs_grad(weight),
             wants_bias = bias.defined() && needs_grad(bias);
  const bool wanted = wants_x || wants_weight || wants_bias;
  Head h{.x = narrow && wanted ? rounded(x) : x,
         .weight = narrow && wanted ? rounded(weight) : weight,
         .bias = bias,
         .narrow = narrow,
         .wants_x = wants_x,
         .wants_weight = wants_weight,
         .wants_bias = wants_bias,
         .target = packed(target.to(kInt64)),
         .kept = {},
         .options = {.reduction = options.reduction,
                     .ignore_index = options.ignore_index,
                     .label_smoothing = options.label_smoothing,
                     .weight = options.class_weight.defined() ? packed(options.class_weight).detach() : Tensor()},
         .args = {}};
  const Tensor& class_weight = h.options.weight;
  const DType dtype = x.dtype();
  const double counted =
      count_targets(kLinearCrossEntropy.name, h.target, class_weight, h.classes(), options.ignore_index);
  if (wanted) h.kept = Tensor::empty({h.rows(), kept_of_row(h.classes())}, dtype);
  h.args = {.dtype = dtype,
            .classes = h.classes(),
            .ignore_index = options.ignore_index,
            .smoothing = options.label_smoothing,
            .factor = options.reduction == Reduction::mean ? 1 / counted : 1,
            .weights = data_or_null(class_weight),
            .weight_sum = class_weight.defined() ? sum(class_weight).item() : 0,
            .logits = nullptr,
            .targets = nullptr,
            .losses = nullptr,
            .kept = nullptr,
            .gradient = nullptr,
            .dy = nullptr};
  (h.chunk_rows() < h.rows() ? kInChunks : kInOneChunk).take();
  const Tensor losses = Tensor::empty(h.target.shape(), dtype);
  Grads found;  // for a gradient of 1
  with_floating_type(dtype, [&](auto t) { found = losses_and_gradients<decltype(t)>(h, losses); });
  const Tensor y = reduce_losses(losses, options.reduction, counted);
  if (!wanted) return y;
  return record(kLinearCrossEntropy, y, {h.x, h.weight, h.bias},
                [h, found = std::move(found)](const Tensor& dy, const BackwardPass& pass) mutable {
                  if (records_backward()) return composed_backward(h, dy, pass.examples);
                  if (found.size() > 0 && !has_examples(h, pass.examples) && only_scales_gradients(dy)) {
                    return scaled_head_gradients(found, dy, pass);
                  }
                  if (!pass.retained) found = {};
                  Grads grads;
                  with_floating_type(h.args.dtype,
                                     [&](auto t) { grads = HeadGradients<decltype(t)>(h, dy, pass).of_all_rows(); });
                  return grads;
                });
}

}  // namespace tapegrad
