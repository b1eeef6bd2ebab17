// Matrix products: matmul with broadcast leading axes, its forms with fixed axes, and linear.
#include <fmt/format.h>
#include <tapegrad/autograd/detail/op_timer.h>
#include <tapegrad/autograd/detail/weights_once.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/product/blas.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/batch.h>
#include <tapegrad/autograd/ops/detail/rounded.h>

#include <algorithm>

namespace tapegrad {
namespace {

const Op kMatmul{"matmul"};
const Op kLinear{"linear"};

template <class T>
MatrixView<const T> matrix(const Tensor& x) {
  return {x.data<T>(), x.strides()[-2], x.strides()[-1]};
}
template <class T>
MatrixView<T> result(const Tensor& y) {
  return {y.mutable_data<T>(), y.strides()[-2], y.strides()[-1]};
}

// x as a matrix [rows, last axis]; a view if the strides allow one.
Tensor rows(const Tensor& x) {
  int64_t count = 1;
  for (int i = 0; i < x.dim() - 1; ++i) count *= x.shape()[i];
  return x.reshape({count, x.size(-1)});
}

Shape with_last(const Tensor& x, int64_t last) {
  Shape shape = x.shape();
  shape[-1] = last;
  return shape;
}

// y = a b for one matrix, in bfloat16 if `narrow`.
template <class T>
void multiply(const Tensor& a, const Tensor& b, bool narrow, MatrixView<T> y, Epilogue done = {}) {
  const int64_t m = a.size(0), n = b.size(1), k = a.size(1);
  if constexpr (std::is_same_v<T, float>) {
    if (narrow) return rounded_gemm(m, n, k, rounded_view(a), rounded_view(b), false, y, done);
  }
  gemm<T>(m, n, k, T{1}, matrix<T>(a), matrix<T>(b), T{0}, y, done);
}

// The same for batches; y is fresh, with the leading axes that those of a and b broadcast to.
template <class T>
void multiply_batch(const Tensor& a, const Tensor& b, bool narrow, const Tensor& y) {
  const int64_t m = y.size(-2), n = y.size(-1), k = a.size(-1);
  if (y.dim() == 2) return multiply<T>(a, b, narrow, result<T>(y));
  const Shape batch = leading_axes(y);
  const Offsets from_a = matrix_starts(a, batch), from_b = matrix_starts(b, batch), from_y = matrix_starts(y, batch);
  const auto offsets = [&](int64_t i) -> BatchOffset {
    const auto at = static_cast<std::size_t>(i);
    return {from_a[at], from_b[at], from_y[at]};
  };
  if constexpr (std::is_same_v<T, float>) {
    if (narrow) {
      return batched_rounded_gemm(batch.numel(), m, n, k, rounded_view(a), rounded_view(b), false, result<T>(y),
                                  offsets);
    }
  }
  batched_gemm<T>(batch.numel(), m, n, k, T{1}, matrix<T>(a), matrix<T>(b), T{0}, result<T>(y), offsets);
}

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

Tensor streamed(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  Tensor y;
  const detail::LinearWeight one[] = {{weight, {}, bias}};
  detail::stream(x, one, {&y, 1});
  return y;
}

// linear() with a weight in bfloat16, for models that only generate.
Tensor linear_of_bfloat16(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (needs_grad(x) || (bias.defined() && needs_grad(bias))) {
    kLinear.fail("a bfloat16 weight cannot be used while a tape records (use PauseRecording, or to(kFloat32))");
  }
  return streamed(x, weight, bias);
}

[[noreturn]] void fail_product(std::string_view where, std::string_view wanted, const Tensor& a, const Tensor& b) {
  fail(where, fmt::format("expected {}, got {} and {}", wanted, str(a.shape()), str(b.shape())));
}

}  // namespace

Tensor matmul_of(const Tensor& left, const Tensor& right, bool narrow) {
  const OpTimer timer(kMatmul, {left, right});
  const int64_t k = left.size(-1);
  if (k != right.size(-2)) {
    kMatmul.fail(fmt::format("inner sizes differ: {} @ {} ({} against {})", str(left.shape()), str(right.shape()), k,
                             right.size(-2)));
  }
  const bool wants_a = needs_grad(left), wants_b = needs_grad(right);
  const Tensor a = narrow && wants_b ? rounded(left) : left, b = narrow && wants_a ? rounded(right) : right;
  const DType dtype = narrow ? kFloat32 : a.dtype();
  const bool one_matrix = b.dim() == 2;  // then a's leading axes are just more rows
  Tensor y;
  if (one_matrix) {
    y = Tensor::empty(with_last(a, b.size(-1)), dtype);
    with_floating_type(dtype, [&](auto t) {
      multiply_batch<decltype(t)>(rows(a.detach()), b, narrow,
                                  y.view({y.numel() / std::max<int64_t>(1, y.size(-1)), y.size(-1)}, {y.size(-1), 1}));
    });
  } else {
    Shape shape = broadcast(kMatmul.name, leading_axes(a), leading_axes(b));
    shape.push_back(a.size(-2));
    shape.push_back(b.size(-1));
    y = Tensor::empty(shape, dtype);
    with_floating_type(dtype, [&](auto t) { multiply_batch<decltype(t)>(a, b, narrow, y); });
  }
  if (!wants_a && !wants_b) return y;
  return record(kMatmul, y, {a, b},
                [a = kept_if(wants_b, a), b = kept_if(wants_a, b), one_matrix, narrow](const Tensor& dy) -> Grads {
                  Tensor da, db;
                  if (b.defined()) da = matmul_of(dy, b.t(), narrow);
                  if (a.defined()) {
                    db = one_matrix ? matmul_of(rows(a).t(), rows(dy), narrow) : matmul_of(a.t(), dy, narrow);
                  }
                  return {da, db};
                });
}

Tensor matmul(const Tensor& a, const Tensor& b) {
  require_floating(kMatmul.name, {&a, &b});
  if (a.dim() == 0 || b.dim() == 0) {
    kMatmul.fail(fmt::format("expected operands with at least one axis, got {} @ {} (use * for scalars)",
                             str(a.shape()), str(b.shape())));
  }
  Tensor y = matmul_of(a.dim() == 1 ? a.unsqueeze(0) : a, b.dim() == 1 ? b.unsqueeze(1) : b, multiplies_rounded(a, b));
  if (b.dim() == 1) y = y.squeeze(-1);
  return a.dim() == 1 ? y.squeeze(b.dim() == 1 ? -1 : -2) : y;
}

Tensor bmm(const Tensor& a, const Tensor& b) {
  if (a.dim() != 3 || b.dim() != 3 || a.size(0) != b.size(0) || a.size(2) != b.size(1)) {
    fail_product("bmm", "[B, m, k] and [B, k, n]", a, b);
  }
  return matmul(a, b);
}

Tensor mv(const Tensor& a, const Tensor& b) {
  if (a.dim() != 2 || b.dim() != 1 || a.size(1) != b.size(0)) fail_product("mv", "[m, n] and [n]", a, b);
  return matmul(a, b);
}

Tensor dot(const Tensor& a, const Tensor& b) {
  if (a.dim() != 1 || !(a.shape() == b.shape())) fail_product("dot", "[n] and [n]", a, b);
  return matmul(a, b);
}

Tensor outer(const Tensor& a, const Tensor& b) {
  if (a.dim() != 1 || b.dim() != 1) fail_product("outer", "[m] and [n]", a, b);
  return a.unsqueeze(1) * b;
}

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  const OpTimer timer(kLinear, {input, weight, bias});
  const bool stored = weight.dtype() == kBFloat16 && input.dtype() == kFloat32;
  if (!stored) require_floating(kLinear.name, {&input, &weight});
  if (weight.dim() != 2) kLinear.fail(fmt::format("expected a weight [out, in], got {}", str(weight.shape())));
  const int64_t out = weight.size(0), in = weight.size(1);
  if (input.dim() == 0 || input.size(-1) != in) {
    kLinear.fail(fmt::format("the last axis of the input must be {} for weight {} [out, in], got {}", in,
                             str(weight.shape()), str(input.shape())));
  }
  if (bias.defined() && (!(bias.shape() == Shape{out}) || bias.dtype() != input.dtype())) {
    kLinear.fail(fmt::format("expected a bias {} [{}], got {} {}", name(input.dtype()), out, name(bias.dtype()),
                             str(bias.shape())));
  }
  if (stored) return linear_of_bfloat16(input, weight, bias);
  if (detail::streams_few(input, weight, bias)) return streamed(input, weight, bias);
  const bool wants_x = needs_grad(input), wants_weight = needs_grad(weight),
             wants_bias = bias.defined() && needs_grad(bias);
  const bool narrow = multiplies_rounded(input, weight);
  const Tensor x = narrow && wants_weight ? rounded(input) : input;
  const Tensor w = narrow && wants_x ? rounded(weight) : weight;
  const Tensor y = Tensor::empty(with_last(x, out), input.dtype());
  with_floating_type(y.dtype(), [&](auto t) {
    using T = decltype(t);
    const AddBias<T> add_bias(bias, y);
    multiply<T>(rows(x.detach()), transposed_view(w), narrow, {y.mutable_data<T>(), out, 1}, add_bias.done());
  });
  if (!wants_x && !wants_weight && !wants_bias) return y;
  return record(kLinear, y, {x, w, bias},
                [x = kept_if(wants_weight, x), w = kept_if(wants_x, w), wants_bias, narrow](const Tensor& dy) -> Grads {
                  Tensor dx, dweight, dbias;
                  if (w.defined()) dx = matmul_of(dy, w, narrow);
                  if (x.defined()) dweight = matmul_of(rows(dy).t(), rows(x), narrow);
                  if (wants_bias) dbias = sum(rows(dy), 0);
                  return {dx, dweight, dbias};
                });
}

}  // namespace tapegrad
