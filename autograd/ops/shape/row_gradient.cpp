// Gradients of the rows that a batch has read: their sums by row, and sums of several.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/wrapping.h>
#include <tapegrad/autograd/ops/shape/detail/index.h>
#include <tapegrad/autograd/pool.h>

#include <algorithm>

namespace tapegrad {
namespace {

// The place of each of the ids in `all`, both ascending.
Tensor places_in(const PoolVector<int64_t>& all, const Tensor& ids) {
  const Tensor places = Tensor::empty(ids.shape(), kInt64);
  for (int64_t i = 0, at = 0; i < ids.numel(); ++i) {
    while (all[static_cast<std::size_t>(at)] < ids.data<int64_t>()[i]) ++at;
    places.mutable_data<int64_t>()[i] = at;
  }
  return places;
}

}  // namespace

RowGradient row_gradient(const Tensor& dy, int64_t rows, const Tensor& ids, int64_t skipped) {
  const auto [sorted, places] = sort(ids);  // of one id, places remain in their order
  const int64_t n = ids.numel(), columns = dy.size(1);
  const int64_t *const id = sorted.data<int64_t>(), *const place = places.data<int64_t>();
  PoolVector<int64_t> starts;  // of each id in `sorted`
  for (int64_t i = 0; i < n; ++i)
    if (id[i] != skipped && (i == 0 || id[i] != id[i - 1])) starts.push_back(i);
  const auto count = static_cast<int64_t>(starts.size());
  RowGradient sums{rows, Tensor::empty({count}, kInt64), zeros({count, columns}, dy.dtype())};
  const Tensor from = packed(dy);
  with_type(dy.dtype(), [&]<class T>(T) {
    parallel_for_each(count, rows_grain(columns), [&](int64_t k) {
      int64_t i = starts[static_cast<std::size_t>(k)];
      const int64_t row = sums.ids.mutable_data<int64_t>()[k] = id[i];
      T* const sum = sums.values.mutable_data<T>() + k * columns;
      for (; i < n && id[i] == row; ++i) {
        const T* const summand = from.data<T>() + place[i] * columns;
        for (int64_t j = 0; j < columns; ++j) sum[j] = wrapping_sum(sum[j], summand[j]);
      }
    });
  });
  return sums;
}

Tensor RowGradient::dense() const {
  Shape shape = values.shape();
  shape[0] = rows;
  const Tensor whole = zeros(shape, values.dtype());
  put_rows(whole, 0, ids, values);
  return whole;
}

void RowGradient::add_to(const Tensor& x) const { add_rows(x, 0, ids, values); }

RowGradient& RowGradient::operator+=(const RowGradient& more) {
  const int64_t *const own = ids.data<int64_t>(), *const other = more.ids.data<int64_t>();
  PoolVector<int64_t> all(static_cast<std::size_t>(ids.numel() + more.ids.numel()));
  all.resize(static_cast<std::size_t>(
      std::set_union(own, own + ids.numel(), other, other + more.ids.numel(), all.begin()) - all.begin()));
  const auto count = static_cast<int64_t>(all.size());
  const Tensor sum = zeros({count, values.size(1)}, values.dtype());
  put_rows(sum, 0, places_in(all, ids), values);
  add_rows(sum, 0, places_in(all, more.ids), more.values);
  return *this = {rows, from_data(all.data(), count, {count}, kInt64), sum};
}

}  // namespace tapegrad
