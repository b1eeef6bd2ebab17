// Shape arithmetic and broadcasting.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/shape.h>

#include <algorithm>
#include <utility>

namespace tapegrad {

Dims::Dims(const int64_t* values, int64_t count) : rank_(static_cast<int>(count)) {
  if (count > kMaxRank) fail("shape", fmt::format("expected at most {} axes, got {}", kMaxRank, count));
  std::copy(values, values + count, values_);
}

Dims Dims::filled(int rank, int64_t value) {
  Dims dims;
  for (int i = 0; i < rank; ++i) dims.push_back(value);
  return dims;
}

void Dims::push_back(int64_t value) { insert(rank_, value); }

void Dims::insert(int position, int64_t value) {
  if (rank_ == kMaxRank) fail("shape", fmt::format("a tensor has at most {} axes", kMaxRank));
  std::copy_backward(values_ + position, values_ + rank_, values_ + rank_ + 1);
  values_[position] = value;
  ++rank_;
}

void Dims::erase(int position) {
  std::copy(values_ + position + 1, values_ + rank_, values_ + position);
  --rank_;
}

bool Dims::contains(int64_t value) const { return std::find(begin(), end(), value) != end(); }

std::string str(const Dims& dims) { return fmt::format("[{}]", fmt::join(dims.begin(), dims.end(), ", ")); }

int64_t checked_numel(std::string_view where, const Shape& shape) {
  bool empty = false;
  int64_t numel = 1;  // of the axes that are not empty: strides are products of these
  for (int64_t size : shape) {
    if (size < 0) fail(where, fmt::format("shape {} has a negative size", str(shape)));
    empty |= size == 0;
    if (__builtin_mul_overflow(numel, std::max<int64_t>(size, 1), &numel) || numel > kMaxNumel) {
      fail(where, fmt::format("shape {} has more elements than a machine can hold", str(shape)));
    }
  }
  return empty ? 0 : numel;
}

void turn_into_strides(Dims& shape) {
  int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    const int64_t size = std::exchange(shape[i], step);
    step *= std::max<int64_t>(size, 1);
  }
}

Strides contiguous_strides(const Shape& shape) {
  Strides strides = shape;
  turn_into_strides(strides);
  return strides;
}

int normal_axis(std::string_view where, int64_t axis, const Shape& shape) {
  const int rank = shape.rank();
  if (axis < -rank || axis >= rank) {
    fail(where, rank == 0 ? fmt::format("axis {} given, but a scalar has no axes", axis)
                          : fmt::format("axis {} is out of range for shape {} (axes go from {} to {})", axis,
                                        str(shape), -rank, rank - 1));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Shape broadcast(std::string_view where, const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Shape out = Shape::filled(rank, 1);
  for (int i = 1; i <= rank; ++i) {
    const int64_t from_a = i <= a.rank() ? a[-i] : 1;
    const int64_t from_b = i <= b.rank() ? b[-i] : 1;
    if (from_a != from_b && from_a != 1 && from_b != 1) {
      fail(where,
           fmt::format("shapes {} and {} do not broadcast: axis {} has {} against {} (expected equal sizes, or 1)",
                       str(a), str(b), -i, from_a, from_b));
    }
    out[rank - i] = from_a == 1 ? from_b : from_a;
  }
  return out;
}

bool broadcasts_to(const Shape& from, const Shape& to) {
  if (from.rank() > to.rank()) return false;
  for (int i = 1; i <= from.rank(); ++i) {
    if (from[-i] != to[-i] && from[-i] != 1) return false;
  }
  return true;
}

Shape reduced_shape(std::string_view where, const Shape& shape, const Axes& axes, bool keepdim) {
  bool reduced[kMaxRank] = {};
  for (int64_t axis : axes) {
    bool& mark = reduced[normal_axis(where, axis, shape)];
    if (mark) fail(where, fmt::format("axis {} is named twice in {}", axis, str(axes)));
    mark = true;
  }
  Shape out;
  for (int i = 0; i < shape.rank(); ++i) {
    const bool gone = axes.empty() || reduced[i];
    if (!gone || keepdim) out.push_back(gone ? 1 : shape[i]);
  }
  return out;
}

}  // namespace tapegrad
