// The causal product of linear attention: blocks of rows, and a running sum over those before.
#include <fmt/format.h>
#include <tapegrad/autograd/kernels/blas.h>
#include <tapegrad/autograd/long_attention.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/batch.h>
#include <tapegrad/autograd/ops/kernel.h>

#include <algorithm>

namespace tapegrad {
namespace {

const Op kCausalProduct{"causal_product"};

constexpr int64_t kBlock = 64;  // rows

template <class T>
MatrixView<const T> rows_of(const Tensor& x, int64_t start, int64_t row) {
  return {x.data<T>() + start + row * x.strides()[-2], x.strides()[-2], x.strides()[-1]};
}
template <class T>
MatrixView<const T> turned(const MatrixView<const T>& x) {
  return {x.data, x.col_stride, x.row_stride};
}

// One batch after the other: a, b and c have equal leading axes.
template <class T>
void multiply(const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& y, bool reverse) {
  const Shape batch = leading_axes(a);
  const Offsets from_a = matrix_starts(a, batch), from_b = matrix_starts(b, batch), from_c = matrix_starts(c, batch);
  const Offsets to_y = matrix_starts(y, batch);
  const int64_t t = a.size(-2), m = a.size(-1), e = c.size(-1), blocks = (t + kBlock - 1) / kBlock;
  const int64_t work = std::max<int64_t>(1, t * (2 * m * e + kBlock * (m + e)));
  parallel_for(batch.numel(), std::max<int64_t>(1, (int64_t{1} << 20) / work), [&](int64_t begin, int64_t end) {
    const Tensor scores = Tensor::empty({kBlock, kBlock}, a.dtype()), sums = Tensor::empty({m, e}, a.dtype());
    T* const pair = scores.mutable_data<T>();
    const MatrixView<T> sum{sums.mutable_data<T>(), e, 1};
    for (int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<std::size_t>(i);
      for (int64_t step = 0; step < blocks; ++step) {
        const int64_t first = (reverse ? blocks - 1 - step : step) * kBlock, rows = std::min(kBlock, t - first);
        const auto a_rows = rows_of<T>(a, from_a[at], first), b_rows = rows_of<T>(b, from_b[at], first);
        const auto c_rows = rows_of<T>(c, from_c[at], first);
        const MatrixView<T> y_rows{y.mutable_data<T>() + to_y[at] + first * y.strides()[-2], y.strides()[-2],
                                   y.strides()[-1]};
        gemm<T>(rows, rows, m, T{1}, a_rows, turned(b_rows), T{0}, {pair, rows, 1});
        for (int64_t row = 0; row < rows; ++row) {
          std::fill(pair + row * rows + (reverse ? 0 : row + 1), pair + row * rows + (reverse ? row : rows), T{0});
        }
        gemm<T>(rows, e, rows, T{1}, {pair, rows, 1}, c_rows, T{0}, y_rows);
        const T others = step > 0 ? T{1} : T{0};
        if (step > 0) gemm<T>(rows, e, m, T{1}, a_rows, {sum.data, e, 1}, T{1}, y_rows);
        if (step + 1 < blocks) gemm<T>(m, e, rows, T{1}, turned(b_rows), c_rows, others, sum);
      }
    }
  });
}

void require_operands(const Tensor& a, const Tensor& b, const Tensor& c) {
  require_floating(kCausalProduct.name, {&a, &b, &c});
  const bool fit = a.dim() >= 2 && b.dim() >= 2 && c.dim() >= 2 && a.size(-1) == b.size(-1) &&
                   a.size(-2) == b.size(-2) && b.size(-2) == c.size(-2);
  if (!fit) {
    kCausalProduct.fail(fmt::format("expected a and b [..., T, M] and c [..., T, E], got {}, {} and {}", str(a.shape()),
                                    str(b.shape()), str(c.shape())));
  }
}

}  // namespace

Tensor causal_product(const Tensor& a, const Tensor& b, const Tensor& c, bool reverse) {
  require_operands(a, b, c);
  const std::string_view where = kCausalProduct.name;
  const Shape batch = broadcast(where, broadcast(where, leading_axes(a), leading_axes(b)), leading_axes(c));
  const auto stretched = [&](const Tensor& x) {
    Shape shape = batch;
    shape.push_back(x.size(-2));
    shape.push_back(x.size(-1));
    return x.shape() == shape ? x.detach() : x.detach().expand(shape);
  };
  const Tensor y = empty_laid_out_as(stretched(a), c.size(-1));
  with_floating_type(
      y.dtype(), [&](auto type) { multiply<decltype(type)>(stretched(a), stretched(b), stretched(c), y, reverse); });
  const bool wants_a = needs_grad(a), wants_b = needs_grad(b), wants_c = needs_grad(c);
  if (!wants_a && !wants_b && !wants_c) return y;
  return record(kCausalProduct, y, {a, b, c},
                [a = kept_if(wants_b || wants_c, a), b = kept_if(wants_a || wants_c, b),
                 c = kept_if(wants_a || wants_b, c), wants_a, wants_b, wants_c, reverse](const Tensor& dy) -> Grads {
                  return {wants_a ? causal_product(dy, c, b, reverse) : Tensor(),
                          wants_b ? causal_product(c, dy, a, !reverse) : Tensor(),
                          wants_c ? causal_product(b, a, dy, !reverse) : Tensor()};
                });
}

}  // namespace tapegrad
