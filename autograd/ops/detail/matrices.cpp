// Batches of matrices: their places, checks and errors.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/kernels/linalg/triangular.h>
#include <tapegrad/autograd/ops/detail/matrices.h>

#include <utility>

namespace tapegrad {

Offsets matrix_starts(const Tensor& x, const Shape& batch) {
  Offsets offsets(static_cast<std::size_t>(batch.numel()));
  const int lead = batch.rank() - (x.dim() - 2);
  int64_t at[kMaxRank] = {};
  int64_t offset = 0;
  for (int64_t& start : offsets) {
    start = offset;
    for (int i = batch.rank() - 1; i >= 0; --i) {
      const int64_t stride = i < lead || x.shape()[i - lead] == 1 ? 0 : x.strides()[i - lead];
      offset += stride;
      if (++at[i] < batch[i]) break;
      offset -= stride * batch[i];
      at[i] = 0;
    }
  }
  return offsets;
}

Shape leading_axes(const Tensor& x) { return without_axis(without_axis(x.shape(), -1), -1); }

Tensor with_leading_axes(const Tensor& x, const Shape& batch) {
  const Shape shape = with_axes(batch, {x.size(-2), x.size(-1)});
  return x.shape() == shape ? x : x.expand(shape);
}

Tensor transposed_view(const Tensor& x) {
  Shape shape = x.shape();
  Strides strides = x.strides();
  std::swap(shape[-2], shape[-1]);
  std::swap(strides[-2], strides[-1]);
  return x.view(shape, strides);
}

Tensor empty_laid_out_as(const Tensor& x, int64_t last) {
  const int outer = x.dim() - 1;
  int order[kMaxRank];
  for (int i = 0; i < outer; ++i) order[i] = i;
  for (int i = 1; i < outer; ++i) {  // by decreasing stride; std::stable_sort would allocate
    for (int j = i; j > 0 && x.strides()[order[j - 1]] < x.strides()[order[j]]; --j) std::swap(order[j - 1], order[j]);
  }
  const Shape shape = with_size(x.shape(), outer, last);
  Strides strides = shape;
  strides[outer] = 1;
  int64_t step = std::max<int64_t>(last, 1);
  for (int i = outer - 1; i >= 0; --i) {
    strides[order[i]] = step;
    step *= std::max<int64_t>(shape[order[i]], 1);
  }
  return Tensor::empty(shape, x.dtype() == kBFloat16 ? kFloat32 : x.dtype()).view(shape, strides);
}

void require_matrices(std::string_view where, const Tensor& x) {
  require_floating(where, {&x});
  if (x.dim() < 2) fail(where, "expected matrices [..., m, n], got {}", x.shape());
}

void require_square(std::string_view where, const Tensor& x) {
  require_floating(where, {&x});
  require(x.dim() >= 2 && x.size(-1) == x.size(-2), where, "expected square matrices [..., n, n], got {}", x.shape());
}

void fail_matrix(const Op& op, std::string_view message, const Shape& batch, int64_t index) {
  if (batch.empty()) op.fail(message);
  Dims at = batch;
  for (int i = batch.rank() - 1; i >= 0; --i) {
    at[i] = index % batch[i];
    index /= batch[i];
  }
  fail(op, "{} (matrix {} of the batch)", message, at);
}

int64_t count_matrices(const Tensor& x) { return leading_axes(x).numel(); }

Tensor column_major(const Tensor& x) { return transposed_view(x).clone(); }

LuFactors lu_factors(const Op& op, const Tensor& a) {
  const int64_t n = a.size(-1), count = count_matrices(a);
  LuFactors lu{a.clone(), PoolVector<int32_t>(static_cast<std::size_t>(count * n))};
  PoolVector<char> regular(static_cast<std::size_t>(count));
  with_floating_type(a.dtype(), [&]<class T>(T) {
    for_each_matrix(op, "", leading_axes(a), n * n * n / 3, [&](int64_t i) {
      regular[static_cast<std::size_t>(i)] =
          factor_lu<T>(n, lu.factors.mutable_data<T>() + i * n * n, lu.pivots.data() + i * n);
      return true;
    });
  });
  const auto singular = std::find(regular.begin(), regular.end(), 0);
  if (singular != regular.end()) lu.singular = singular - regular.begin();
  return lu;
}

}  // namespace tapegrad
