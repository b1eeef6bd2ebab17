// Selection: where, masked_fill, and the triangles tril and triu.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/elementwise/select.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/simd/rows-inl.h>
#include <tapegrad/autograd/ops/detail/formula_simd.h>

#ifndef TAPEGRAD_SELECT_KERNELS
#define TAPEGRAD_SELECT_KERNELS
namespace tapegrad {

// condition ? a : b, by the size of an element: values are copied as bytes. A number operand is in the context.
struct Selection {
  MapKernel bytes1, bytes4, bytes8;
};
struct Selections {
  Selection tensors, number_first, number_last;
};

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

enum class Number { none, first, last };

template <class T, Number kNumber>
void select_kernel(const void* const* x, void* y, int64_t n, const void* context) {
  const bool* const condition = static_cast<const bool*>(x[0]);
  const T* const a = kNumber == Number::first ? nullptr : static_cast<const T*>(x[1]);
  const T* const b = kNumber == Number::last ? nullptr : static_cast<const T*>(x[kNumber == Number::first ? 1 : 2]);
  T* const out = static_cast<T*>(y);
  const T number = kNumber == Number::none ? T{} : *static_cast<const T*>(context);
  if constexpr (sizeof(T) == 1) {
    for (int64_t i = 0; i < n; ++i) {
      const T yes = kNumber == Number::first ? number : a[i];
      const T no = kNumber == Number::last ? number : b[i];
      out[i] = condition[i] ? yes : no;
    }
  } else {
    const Vec<T> numbers = number;
    each_span<T>(n, [=](auto s) {
      const Vec<T> yes = kNumber == Number::first ? numbers : s.load(a);
      const Vec<T> no = kNumber == Number::last ? numbers : s.load(b);
      s.store(where(s.load_mask(condition), yes, no), out);
    });
  }
}

template <Number kNumber>
constexpr Selection selection() {
  return {&select_kernel<uint8_t, kNumber>, &select_kernel<float, kNumber>, &select_kernel<double, kNumber>};
}

const Selections& select_kernels() {
  static constexpr Selections kernels = {selection<Number::none>(), selection<Number::first>(),
                                         selection<Number::last>()};
  return kernels;
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/tape_watch.h>

#include <algorithm>
#include <cstring>

namespace tapegrad {
namespace {

HWY_EXPORT(select_kernels);

const Selections& selections() { return chosen<HWY_DISPATCH_TABLE(select_kernels)>(); }

const ElementwiseOp kWhere{"where", {.selects = true}};
const ElementwiseOp kMaskedFill{"masked_fill", {.selects = true}};
const ElementwiseOp kTril{"tril"};
const ElementwiseOp kTriu{"triu"};

MapKernel kernel_for(const Selection& selection, DType dtype) {
  if (is_half(dtype)) detail::refuse_to_compute(dtype);
  const int64_t bytes = item_size(dtype);
  return bytes == 4 ? selection.bytes4 : bytes == 8 ? selection.bytes8 : selection.bytes1;
}

// A number as one element of a type.
struct Element {
  Element(Scalar number, DType dtype) {
    with_stored_type(dtype, [&](auto t) {
      const auto value = number.as<decltype(t)>();
      std::memcpy(bytes, &value, sizeof(value));
    });
  }
  alignas(8) unsigned char bytes[8];
};

Tensor where_number(const Selection& selection, const Tensor& condition, const Tensor& x, Scalar number) {
  Tensor y = Tensor::empty(shape_of(kWhere.name, condition, x), x.dtype());
  const Element element(number, x.dtype());
  map_any_type(y, {&condition, &x}, kernel_for(selection, x.dtype()), element.bytes);
  return y;
}

}  // namespace

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  require_bool(kWhere.name, condition, "condition");
  if (a.dtype() != b.dtype()) {
    const DType dtype = result_type(a, b);
    return where(condition, a.to(dtype), b.to(dtype));
  }
  const Shape shape = shape_of(kWhere.name, a, b);
  Tensor y =
      Tensor::empty(shape == condition.shape() ? shape : broadcast(kWhere.name, condition.shape(), shape), a.dtype());
  map_any_type(y, {&condition, &a, &b}, kernel_for(selections().tensors, a.dtype()));
  const bool wants_a = needs_grad(a), wants_b = needs_grad(b);
  if (!wants_a && !wants_b) return y;
  auto backward = [condition, wants_a, wants_b](const Tensor& dy) -> Grads {
    return {wants_a ? where(condition, dy, 0) : Tensor(), wants_b ? where(condition, 0, dy) : Tensor()};
  };
  return with_settings(record(kWhere, y, {a, b}, std::move(backward)), "condition", condition);
}

Tensor where(const Tensor& condition, const Tensor& a, Scalar b) {
  require_bool(kWhere.name, condition, "condition");
  if (!is_floating(a.dtype())) {
    return with_number([&](const Tensor& x, const Tensor& number) { return where(condition, x, number); }, a, b);
  }
  const Tensor y = where_number(selections().number_last, condition, a, b);
  return with_settings(
      record(kWhere, y, {a}, [condition](const Tensor& dy) -> Grads { return where(condition, dy, 0); }), "condition",
      condition, "otherwise", b);
}

Tensor where(const Tensor& condition, Scalar a, const Tensor& b) {
  require_bool(kWhere.name, condition, "condition");
  if (!is_floating(b.dtype())) {
    return with_number([&](const Tensor& x, const Tensor& number) { return where(condition, number, x); }, b, a);
  }
  const Tensor y = where_number(selections().number_first, condition, b, a);
  return with_settings(
      record(kWhere, y, {b}, [condition](const Tensor& dy) -> Grads { return where(condition, 0, dy); }), "condition",
      condition, "number", a);
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, Scalar value) {
  require_bool(kMaskedFill.name, mask, "mask");
  require_number(kMaskedFill.name, x.dtype(), value);
  Tensor y = Tensor::empty(shape_of(kMaskedFill.name, x, mask), x.dtype());
  const Element element(value, x.dtype());
  map_any_type(y, {&mask, &x}, kernel_for(selections().number_first, x.dtype()), element.bytes);
  return with_settings(
      record(kMaskedFill, y, {x}, [mask](const Tensor& dy) -> Grads { return masked_fill(dy, mask, 0); }), "condition",
      mask, "number", value);
}

namespace {

// Keeps the columns of each row of the last two axes up to, or from, an edge that moves with the row.
Tensor triangle(const Op& op, const Tensor& x, int64_t diagonal, bool lower) {
  if (x.dim() < 2) fail(op, "expected two axes or more, got shape {}", x.shape());
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  if (x.numel() == 0) return y;
  const Tensor rows = packed(x);
  const int64_t height = x.shape()[-2], width = x.shape()[-1], item = item_size(x.dtype());
  const std::byte* const in = static_cast<const std::byte*>(rows.raw_data());
  std::byte* const out = static_cast<std::byte*>(y.mutable_raw_data());
  const int64_t limit = std::clamp<int64_t>(diagonal, -height - 1, width + 1);
  parallel_for_each(x.numel() / width, rows_grain(width, 32768), [&](int64_t row) {
    // Row i of the lower triangle ends after column i + diagonal; the upper one begins at column i + diagonal.
    const int64_t edge = std::clamp<int64_t>(row % height + limit + (lower ? 1 : 0), 0, width);
    const std::byte* const from = in + row * width * item;
    std::byte* const to = out + row * width * item;
    const auto left = static_cast<std::size_t>(edge * item), right = static_cast<std::size_t>((width - edge) * item);
    if (lower) {
      std::memcpy(to, from, left);
      std::memset(to + left, 0, right);
    } else {
      std::memset(to, 0, left);
      std::memcpy(to + left, from + left, right);
    }
  });
  return y;
}

}  // namespace

Tensor tril(const Tensor& x, int64_t diagonal) {
  return record(kTril, triangle(kTril, x, diagonal, true), {x},
                [diagonal](const Tensor& dy) -> Grads { return tril(dy, diagonal); });
}

Tensor triu(const Tensor& x, int64_t diagonal) {
  return record(kTriu, triangle(kTriu, x, diagonal, false), {x},
                [diagonal](const Tensor& dy) -> Grads { return triu(dy, diagonal); });
}

}  // namespace tapegrad
#endif  // HWY_ONCE
