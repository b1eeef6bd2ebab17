// Offsets and layouts of batches of matrices.
#include <tapegrad/autograd/ops/detail/batch.h>

#include <algorithm>
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

Shape leading_axes(const Tensor& x) {
  Shape lead = x.shape();
  lead.erase(lead.rank() - 1);
  lead.erase(lead.rank() - 1);
  return lead;
}

Tensor with_leading_axes(const Tensor& x, const Shape& batch) {
  Shape shape = batch;
  shape.push_back(x.size(-2));
  shape.push_back(x.size(-1));
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
  Shape shape = x.shape();
  shape[outer] = last;
  Strides strides = shape;
  strides[outer] = 1;
  int64_t step = std::max<int64_t>(last, 1);
  for (int i = outer - 1; i >= 0; --i) {
    strides[order[i]] = step;
    step *= std::max<int64_t>(shape[order[i]], 1);
  }
  return Tensor::empty(shape, x.dtype() == kBFloat16 ? kFloat32 : x.dtype()).view(shape, strides);
}

}  // namespace tapegrad
