// Order along one axis: sort and topk. Elements are sorted together with their positions, which makes any sort stable.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/kernel.h>

#include <algorithm>
#include <optional>

namespace tapegrad {
namespace {

const Op kSort{"sort"};
const Op kTopk{"topk"};

template <class T>
struct Placed {
  T value;
  int64_t place;
};

// The first k values along x's last axis in order, and their positions; NaN is the largest.
std::pair<Tensor, Tensor> in_order(const Op& op, const Tensor& x, int64_t k, bool descending) {
  const int64_t n = x.shape().back();
  Shape shape = x.shape();
  shape[-1] = k;
  const Tensor values = Tensor::empty(shape, x.dtype());
  const Tensor places = Tensor::empty(shape, kInt64);
  if (values.numel() > 0) {
    const Tensor from = packed(x);
    with_type(x.dtype(), [&](auto t) {
      using T = decltype(t);
      parallel_for(x.numel() / n, rows_grain(n, 4096), [&](int64_t begin, int64_t end) {
        const std::size_t bytes = static_cast<std::size_t>(n) * sizeof(Placed<T>);
        auto* const row = static_cast<Placed<T>*>(pool::acquire(bytes));
        for (int64_t o = begin; o < end; ++o) {
          for (int64_t i = 0; i < n; ++i) row[i] = {from.data<T>()[o * n + i], i};
          const auto before = [descending](const Placed<T>& a, const Placed<T>& b) {
            const bool less = a.value < b.value || (a.value == a.value && b.value != b.value);
            const bool more = b.value < a.value || (b.value == b.value && a.value != a.value);
            return less == more ? a.place < b.place : descending ? more : less;
          };
          if (k < n) {
            std::partial_sort(row, row + k, row + n, before);
          } else {
            std::sort(row, row + n, before);
          }
          for (int64_t i = 0; i < k; ++i) {
            values.mutable_data<T>()[o * k + i] = row[i].value;
            places.mutable_data<int64_t>()[o * k + i] = row[i].place;
          }
        }
        pool::release(row, bytes);
      });
    });
  }
  return {record(op, values, {x},
                 [places, shape = x.shape()](const Tensor& dy) -> Grads {
                   return scatter_add(zeros(shape, dy.dtype()), -1, places, dy);
                 }),
          places};
}

// The first k along the axis; all of them without a k.
Sorted first_in_order(const Op& op, const Tensor& x, int64_t axis, std::optional<int64_t> wanted, bool descending) {
  const auto [values, indices] = along_last_axis(op.name, x, axis, [&](const Tensor& rows) {
    const int64_t n = rows.shape().back(), k = wanted.value_or(n);
    if (k < 0 || k > n)
      op.fail(fmt::format("expected k between 0 and {} for axis {} of {}, got {}", n, axis, str(x.shape()), k));
    return in_order(op, rows, k, descending);
  });
  return {values, indices};
}

}  // namespace

Sorted sort(const Tensor& x, int64_t axis, bool descending) { return first_in_order(kSort, x, axis, {}, descending); }

Sorted topk(const Tensor& x, int64_t k, int64_t axis, bool largest) {
  return first_in_order(kTopk, x, axis, k, largest);
}

}  // namespace tapegrad
