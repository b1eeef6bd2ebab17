// Copies between tensors of any strides.
#include <tapegrad/autograd/ops/detail/lines.h>

#include <algorithm>

namespace tapegrad {
namespace {

// The axes of two views of one shape, without those of size 1; neighbours that are contiguous in both are merged.
struct TwoViews {
  Shape sizes;
  Strides to, from;
  TwoViews(const Tensor& y, const Tensor& x) {
    for (int i = 0; i < y.dim(); ++i) {
      const int64_t n = y.shape()[i], a = y.strides()[i], b = x.strides()[i];
      if (n == 1) continue;
      const int last = sizes.rank() - 1;
      if (last >= 0 && to[last] == a * n && from[last] == b * n) {
        sizes[last] *= n;
        to[last] = a;
        from[last] = b;
      } else {
        sizes.push_back(n);
        to.push_back(a);
        from.push_back(b);
      }
    }
    if (!sizes.empty()) return;
    sizes.push_back(1);
    to.push_back(1);
    from.push_back(1);
  }
};

template <class T>
void copy_lines(const TwoViews& views, T* to, const T* from) {
  const int last = views.sizes.rank() - 1;
  const int64_t n = views.sizes.back(), to_step = views.to.back(), from_step = views.from.back();
  parallel_for(views.sizes.numel() / n, rows_grain(n, 32768), [&](int64_t begin, int64_t end) {
    int64_t index[kMaxRank] = {}, y = 0, x = 0, left = begin;  // of the line, over the axes before the last
    for (int i = last - 1; i >= 0; --i) {
      index[i] = left % views.sizes[i];
      left /= views.sizes[i];
      y += index[i] * views.to[i];
      x += index[i] * views.from[i];
    }
    for (int64_t line = begin; line < end; ++line) {
      if (to_step == 1 && from_step == 1) {
        std::copy_n(from + x, n, to + y);
      } else {
        for (int64_t k = 0; k < n; ++k) to[y + k * to_step] = from[x + k * from_step];
      }
      for (int i = last - 1; i >= 0; --i) {
        y += views.to[i];
        x += views.from[i];
        if (++index[i] < views.sizes[i]) break;
        y -= views.to[i] * views.sizes[i];
        x -= views.from[i] * views.sizes[i];
        index[i] = 0;
      }
    }
  });
}

}  // namespace

void copy_into_view(const Tensor& view, const Tensor& x) {
  if (view.numel() == 0) return;
  const Tensor from = x.detach().expand(view.shape());
  const TwoViews views(view, from);
  const auto copy = [&]<class T>(T) {
    copy_lines(views, static_cast<T*>(view.mutable_raw_data()), static_cast<const T*>(from.raw_data()));
  };
  switch (item_size(view.dtype())) {
    case 1: return copy(uint8_t{});
    case 2: return copy(uint16_t{});
    case 4: return copy(uint32_t{});
    default: return copy(uint64_t{});
  }
}

}  // namespace tapegrad
