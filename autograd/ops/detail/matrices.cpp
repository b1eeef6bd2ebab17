// Checks of matrices, and LU factorization of a batch.
#include <fmt/format.h>
#include <tapegrad/autograd/kernels/linalg/triangular.h>
#include <tapegrad/autograd/ops/detail/matrices.h>

namespace tapegrad {

void require_matrices(std::string_view where, const Tensor& x) {
  require_floating(where, {&x});
  if (x.dim() < 2) fail(where, fmt::format("expected matrices [..., m, n], got {}", str(x.shape())));
}

void require_square(std::string_view where, const Tensor& x) {
  require_floating(where, {&x});
  if (x.dim() < 2 || x.size(-1) != x.size(-2)) {
    fail(where, fmt::format("expected square matrices [..., n, n], got {}", str(x.shape())));
  }
}

void fail_matrix(const Op& op, std::string_view message, const Shape& batch, int64_t index) {
  if (batch.empty()) op.fail(message);
  Dims at = batch;
  for (int i = batch.rank() - 1; i >= 0; --i) {
    at[i] = index % batch[i];
    index /= batch[i];
  }
  op.fail(fmt::format("{} (matrix {} of the batch)", message, str(at)));
}

Shape with_axes(const Shape& batch, std::initializer_list<int64_t> sizes) {
  Shape shape = batch;
  for (int64_t size : sizes) shape.push_back(size);
  return shape;
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
