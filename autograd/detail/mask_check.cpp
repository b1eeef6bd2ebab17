// A check of attention masks.
#include <tapegrad/autograd/detail/mask_check.h>
#include <tapegrad/autograd/op.h>

#include <algorithm>

namespace tapegrad {

namespace {

// Whether x has only ones and zeros along `axis` and later axes; sets has_one if there is a one.
template <class T>
bool only_ones_and_zeros(const T* x, const Shape& shape, const Strides& strides, int axis, bool& has_one) {
  const int64_t step = strides[axis];
  const int64_t count = step == 0 ? std::min<int64_t>(1, shape[axis]) : shape[axis];  // expanded: check one copy
  const bool last = axis + 1 == shape.rank();
  for (int64_t i = 0; i < count; ++i) {
    const T* const at = x + i * step;
    if (!last) {
      if (!only_ones_and_zeros(at, shape, strides, axis + 1, has_one)) return false;
    } else if (*at != 0) {
      if (*at != 1) return false;
      has_one = true;
    }
  }
  return true;
}

}  // namespace

void require_mask_of_scores(std::string_view where, const Tensor& mask) {
  if (!is_floating(mask.dtype()) || mask.dim() == 0 || needs_grad(mask)) return;
  with_floating_type(mask.dtype(), [&](auto t) {
    bool has_one = false;
    if (!only_ones_and_zeros(mask.data<decltype(t)>(), mask.shape(), mask.strides(), 0, has_one) || !has_one) return;
    fail(where,
         "expected a bool mask (true: may be attended to) or a floating one that is added to the scores, got a "
         "floating mask with only ones and zeros (make it bool: mask != 0)");
  });
}

}  // namespace tapegrad
