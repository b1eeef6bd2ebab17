// Shapes, strides and axes: short lists of integers that live in place, and the rules of broadcasting.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace tapegrad {

inline constexpr int kMaxRank = 8;

// Up to kMaxRank integers; serves as a shape, as strides (in elements) and as a list of axes.
class Dims {
 public:
  constexpr Dims() = default;
  Dims(std::initializer_list<int64_t> values) : Dims(values.begin(), static_cast<int64_t>(values.size())) {}
  Dims(const int64_t* values, int64_t count);  // Error above kMaxRank
  static Dims filled(int rank, int64_t value);

  int rank() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  // Negative indices count from the end. Unchecked: normalise user input with `axis` first.
  int64_t operator[](int i) const { return values_[i < 0 ? i + rank_ : i]; }
  int64_t& operator[](int i) { return values_[i < 0 ? i + rank_ : i]; }
  const int64_t* begin() const { return values_; }
  const int64_t* end() const { return values_ + rank_; }
  int64_t back() const { return values_[rank_ - 1]; }

  int64_t numel() const {  // the product; 1 for rank 0
    int64_t product = 1;
    for (int i = 0; i < rank_; ++i) product *= values_[i];
    return product;
  }
  void push_back(int64_t value);
  void insert(int position, int64_t value);
  void erase(int position);
  bool contains(int64_t value) const;

  friend bool operator==(const Dims& a, const Dims& b) {
    bool same = a.rank_ == b.rank_;
    for (int i = 0; same && i < a.rank_; ++i) same = a.values_[i] == b.values_[i];
    return same;
  }

 private:
  int64_t values_[kMaxRank] = {};
  int rank_ = 0;
};

using Shape = Dims;
using Strides = Dims;

// Axes of a reduction: one axis, a list, or none for "all of them". Negative ones count from the end.
class Axes : public Dims {
 public:
  Axes() = default;
  Axes(int axis) : Dims{axis} {}  // NOLINT: sum(x, -1) is meant to work
  Axes(std::initializer_list<int64_t> axes) : Dims(axes) {}
  explicit Axes(const Dims& axes) : Dims(axes) {}
};

// "[2, 3]".
std::string str(const Dims& dims);

// Row-major strides of a shape.
Strides contiguous_strides(const Shape& shape);

// `axis` in [-rank, rank) as [0, rank); Error "[where] axis 3 is out of range for [2, 3]..." otherwise.
int normal_axis(std::string_view where, int64_t axis, const Shape& shape);

// The shape that `a` and `b` broadcast to (NumPy's rule); Error that names both when they do not.
Shape broadcast(std::string_view where, const Shape& a, const Shape& b);
bool broadcasts_to(const Shape& from, const Shape& to);

// The shape after a reduction over `axes` (empty: all axes); duplicates and bad axes are Errors.
Shape reduced_shape(std::string_view where, const Shape& shape, const Axes& axes, bool keepdim);

}  // namespace tapegrad
