// Shapes, strides and axes: short lists of integers without heap memory, and the rules of broadcasting.
#pragma once

#include <tapegrad/autograd/compiler.h>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

namespace tapegrad {

/// The largest number of axes of a tensor.
inline constexpr int kMaxRank = 8;
/// The largest number of elements of a tensor; more than any machine can hold.
inline constexpr int64_t kMaxNumel = int64_t{1} << 53;

/// Up to kMaxRank integers: a shape, strides (in elements) or a list of axes.
class Dims {
 public:
  constexpr Dims() = default;
  Dims(std::initializer_list<int64_t> values) : Dims(values.begin(), static_cast<int64_t>(values.size())) {}
  /// Error if count > kMaxRank.
  Dims(const int64_t* values, int64_t count);
  /// From a vector, an array or another list of whole numbers. The same Error.
  template <class List>
  requires(!std::derived_from<List, Dims>) && requires(const List& list) {
    { *list.begin() } -> std::convertible_to<int64_t>;
    requires std::integral<std::remove_cvref_t<decltype(*list.begin())>> && sizeof(*list.begin()) >= 4;
    list.end();
  }
  Dims(const List& list) {  // NOLINT: a list of sizes is a shape
    for (const auto value : list) push_back(static_cast<int64_t>(value));
  }
  static Dims filled(int rank, int64_t value);

  /// number of axes
  int rank() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  /// Negative indices count from the end. Unchecked: pass user input through normal_axis first.
  int64_t operator[](int i) const { return values_[i < 0 ? i + rank_ : i]; }
  int64_t& operator[](int i) { return values_[i < 0 ? i + rank_ : i]; }
  const int64_t* begin() const { return values_; }
  const int64_t* end() const { return values_ + rank_; }
  int64_t back() const { return values_[rank_ - 1]; }

  /// The product; 1 for no axes. Unchecked: see checked_numel.
  int64_t numel() const {
    int64_t product = 1;
    for (int i = 0; i < rank_; ++i) product *= values_[i];
    return product;
  }
  /// Error at kMaxRank, as insert.
  void push_back(int64_t value);
  void insert(int position, int64_t value);
  void erase(int position);
  bool contains(int64_t value) const;

  friend bool operator==(const Dims& a, const Dims& b) {
    bool same = a.rank_ == b.rank_;
    for (int i = 0; same && i < a.rank_; ++i) same = a.values_[i] == b.values_[i];
    return same;
  }
  /// std::cout << x.shape() prints [2, 3].
  friend std::ostream& operator<<(std::ostream& out, const Dims& dims);

 private:
  int64_t values_[kMaxRank] = {};
  int rank_ = 0;
};

/// Sizes of the axes, all 0 or more; and distances between neighbours along each axis, in elements.
using Shape = Dims;
using Strides = Dims;

/// Axes of a reduction: one axis, a list, or none for all axes. Negative axes count from the end.
class Axes : public Dims {
 public:
  Axes() = default;
  Axes(std::integral auto axis) : Dims{static_cast<int64_t>(axis)} {}  // NOLINT: sum(x, -1) is meant to work
  Axes(std::initializer_list<int64_t> axes) : Dims(axes) {}
  explicit Axes(const Dims& axes) : Dims(axes) {}
};

/// A bool to which numbers do not convert: mean(x, 1, 2), where {1, 2} was meant, does not compile.
class Flag {
 public:
  constexpr Flag(std::same_as<bool> auto value) : value_(value) {}  // NOLINT: keepdim = true
  constexpr operator bool() const { return value_; }                // NOLINT

 private:
  bool value_;
};

/// "[2, 3]".
std::string str(const Dims& dims);

/// shape.numel(). Error "[where] ..." for a negative size, and for more than kMaxNumel elements.
int64_t checked_numel(std::string_view where, const Shape& shape);

/// Row-major strides of a shape.
Strides contiguous_strides(const Shape& shape);
/// The same in place: a shape becomes its strides.
void turn_into_strides(Dims& shape);

/// `axis` in [-rank, rank) as an index in [0, rank). Error "[where] axis 3 is out of range for ..." otherwise.
int normal_axis(std::string_view where, int64_t axis, const Shape& shape);

/// The shape that a and b broadcast to (NumPy's rule): sizes are compared from the last axis on and must be equal or 1.
/// Error that names both shapes otherwise.
Shape broadcast(std::string_view where, const Shape& a, const Shape& b);
/// Can a tensor of shape `from` be expanded to `to`?
bool broadcasts_to(const Shape& from, const Shape& to);

/// The shape after a reduction over `axes` (empty: all axes); with keepdim, reduced axes keep size 1. Error for an axis
/// that is out of range or named twice.
Shape reduced_shape(std::string_view where, const Shape& shape, const Axes& axes, bool keepdim);

}  // namespace tapegrad
