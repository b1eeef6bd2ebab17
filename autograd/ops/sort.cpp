// Order along one axis: sort and topk. Elements are sorted together with their places, which makes any sort stable.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/autograd/tape.h>

#include <algorithm>

namespace tapegrad {
namespace {

const Op kSort{"sort"};
const Op kTopk{"topk"};

constexpr int64_t kGrain = 4096;  // elements a thread takes at least

template <class T>
struct Placed {
  T value;
  int64_t place;
};

// The first k of x's last axis in order; NaN is the largest.
Sorted in_order(const Op& op, const Tensor& x, int64_t k, bool descending) {
  const int64_t n = x.shape().back();
  Shape shape = x.shape();
  shape[-1] = k;
  const Tensor values = Tensor::empty(shape, x.dtype());
  const Tensor places = Tensor::empty(shape, kInt64);
  if (values.numel() > 0) {
    const Tensor packed = x.detach().contiguous();
    with_type(x.dtype(), [&](auto t) {
      using T = decltype(t);
      parallel_for(x.numel() / n, std::max<int64_t>(1, kGrain / n), [&](int64_t begin, int64_t end) {
        const std::size_t bytes = static_cast<std::size_t>(n) * sizeof(Placed<T>);
        auto* const row = static_cast<Placed<T>*>(pool::acquire(bytes));
        for (int64_t o = begin; o < end; ++o) {
          for (int64_t i = 0; i < n; ++i) row[i] = {packed.data<T>()[o * n + i], i};
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

Sorted along(const Op& op, const Tensor& x, int64_t axis, int64_t k, bool whole, bool descending) {
  if (x.dim() == 0 && (axis == 0 || axis == -1)) {
    const Sorted one = along(op, x.reshape({1}), 0, k, whole, descending);
    return {one.values.reshape({}), one.indices.reshape({})};
  }
  const int i = normal_axis(op.name, axis, x.shape());
  const int64_t n = x.shape()[i];
  if (whole) k = n;
  if (k < 0 || k > n) {
    op.fail(fmt::format("k = {} is out of range for axis {} of {} (0 to {})", k, i, str(x.shape()), n));
  }
  if (i == x.dim() - 1) return in_order(op, x, k, descending);
  const Sorted turned = in_order(op, x.transpose(i, -1), k, descending);
  return {turned.values.transpose(i, -1), turned.indices.transpose(i, -1)};
}

}  // namespace

Sorted sort(const Tensor& x, int64_t axis, bool descending) { return along(kSort, x, axis, 0, true, descending); }

Sorted topk(const Tensor& x, int64_t k, int64_t axis, bool largest) { return along(kTopk, x, axis, k, false, largest); }

}  // namespace tapegrad
