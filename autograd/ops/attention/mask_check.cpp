// A check of attention masks.
#include <tapegrad/autograd/internal/mask_check.h>
#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/ops.h>

#include <algorithm>

namespace tapegrad {

namespace {

constexpr int64_t kSample = 4096;

struct Found {
  bool one = false, other = false;
};

template <class T>
void look_at_row(const T* x, int64_t count, int64_t step, Found& found) {
  int one = 0, other = 0;  // without a way out, so that the loop becomes vectors
  for (int64_t i = 0; i < count; ++i) {
    const T value = x[i * step];
    one |= value == T{1};
    other |= static_cast<int>(value != T{0}) & static_cast<int>(value != T{1});
  }
  found.one |= one != 0;
  found.other |= other != 0;
}

// What x holds besides zeros, along axis and the axes after it; ends at a row with another value.
template <class T>
void look_at(const T* x, const Shape& shape, const Strides& strides, int axis, Found& found) {
  const int64_t step = strides[axis];
  const int64_t count = step == 0 ? std::min<int64_t>(1, shape[axis]) : shape[axis];  // expanded: check one copy
  if (axis + 1 < shape.rank()) {
    for (int64_t i = 0; i < count && !found.other; ++i) look_at(x + i * step, shape, strides, axis + 1, found);
  } else if (step == 1) {
    look_at_row(x, count, 1, found);
  } else {
    look_at_row(x, count, step, found);
  }
}

Found look_at(const Tensor& x) {
  Found found;
  with_floating_type(x.dtype(), [&](auto t) { look_at(x.data<decltype(t)>(), x.shape(), x.strides(), 0, found); });
  return found;
}

// Some thousands of elements at even distances, whole rows if they are not longer.
Tensor sample(const Tensor& x) {
  int64_t distinct = 1;
  for (int i = 0; i < x.dim(); ++i) distinct *= x.strides()[i] == 0 ? 1 : x.size(i);
  Tensor some = x;
  for (int i = 0; i < x.dim() && distinct > kSample; ++i) {
    if (x.strides()[i] == 0) continue;
    const int64_t step = std::min((distinct + kSample - 1) / kSample, x.size(i));
    some = some.slice(i, 0, kAll, step);
    distinct = distinct / x.size(i) * some.size(i);
  }
  return some;
}

}  // namespace

void require_mask_of_scores(std::string_view where, const Tensor& mask) {
  if (!is_floating(mask.dtype()) || mask.dim() == 0 || needs_grad(mask)) return;
  const Found found = look_at(sample(mask));
  if (found.other || !found.one || look_at(mask).other) return;
  fail(where,
       "expected a bool mask (true: may be attended to) or a floating one that is added to the scores, got a floating "
       "mask with only ones and zeros (make it bool: mask != 0)");
}

}  // namespace tapegrad
