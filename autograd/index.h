// The entries of x(...): one per axis, as between the brackets of NumPy and PyTorch.
//
//   x(0);                      // x[0]
//   x(all, range(1, 3));       // x[:, 1:3]
//   x(ellipsis, -1);           // x[..., -1]
//   x(range(kAll, kAll, -1));  // x[::-1]
//   x(newaxis, all);           // x[None, :]
//   x(ids);                    // x[ids], with an int64 tensor
//   x(tensor({0, 2}));         // x[[0, 2]]
//   x(all, ids);               // x[:, ids]
//   x(mask);                   // x[mask], with a bool tensor
//
// A tensor among the entries may be an nn::Buffer, too. Reading gives a view, or a copy where a tensor is among the
// entries. If x is the name of a tensor, it can be written to: x(all, 0) = y, x(mask) = 0, x(0) += y (Indexed in
// tensor.h). With a tensor among the entries, this also makes the copy for reading; masked_fill, where and index_put
// avoid it.
#pragma once

#include <tapegrad/autograd/shape.h>

#include <concepts>
#include <cstdint>

namespace tapegrad {

class Tensor;
template <class Holder>
class TensorHolder;

/// The name of the reduction, `all`, also means a whole axis.
bool all(const Tensor& x);

/// A bound of a range that is left out.
inline constexpr int64_t kAll = INT64_MIN;

/// A type of numbers, which bool and the types of characters are not: ':' is not an axis.
template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> && !std::same_as<T, wchar_t> &&
                  !std::same_as<T, char8_t> && !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

/// One axis of a region: {} is the whole axis; {start, stop} and {start, stop, step} are ranges by Python's rules, with
/// kAll for a missing bound; a number is a single index, and removes the axis. A list of slices begins at the first
/// axis.
struct Slice {
  int64_t start = kAll;  ///< first element; kAll: where the axis begins, in the direction of step
  int64_t stop = kAll;   ///< first element after the slice; kAll: where the axis ends
  int64_t step = 1;      ///< not 0; a negative step goes backwards
  bool single = false;   ///< `start` is one index
  constexpr Slice() = default;
  constexpr Slice(int64_t index) : start(index), single(true) {}  // NOLINT: {{}, 2} is x[:, 2]
  constexpr Slice(int64_t from, int64_t to, int64_t every = 1) : start(from), stop(to), step(every) {}
};

/// One index; {} does not convert.
struct Number {
  constexpr Number(std::integral auto number) : index(static_cast<int64_t>(number)) {}  // NOLINT
  int64_t index;  ///< not negative, or counted from the end
};

/// Elements start, start + step, ... before stop of an axis, by Python's rules: negative bounds count from the end, and
/// kAll stands for a bound that is left out.
constexpr Slice range(int64_t start, int64_t stop, int64_t step = 1) { return {start, stop, step}; }

/// An axis of size 1 that x does not have.
struct NewAxis {};
inline constexpr NewAxis newaxis;  ///< x(newaxis, all) is x[None, :] of NumPy
/// All axes that no other entry stands for; at most once.
struct Ellipsis {};
inline constexpr Ellipsis ellipsis;  ///< x(ellipsis, 0) is x[..., 0] of NumPy

/// One entry of x(...). It refers to its tensor, and lives as long as the expression.
class Index {
 public:
  /// What an entry is; absent: an argument that was left out.
  enum class Kind : uint8_t { slice, new_axis, other_axes, tensor, absent };

  Index() = default;                     ///< {}: the whole axis, as is `all`
  Index(bool (*whole)(const Tensor&)) {  // NOLINT: this and the next ones are meant to be written without a name
    if (whole != static_cast<bool (*)(const Tensor&)>(&tapegrad::all)) refuse();
  }
  Index(std::integral auto index) : slice_(static_cast<int64_t>(index)) {  // NOLINT
    static_assert(Integer<decltype(index)>,
                  "an index is a number, a range, all, newaxis, ellipsis or a tensor: x(all, 1) is x[:, 1]");
  }
  Index(const Slice& slice) : slice_(slice) {}                            // NOLINT
  Index(NewAxis) : kind_(Kind::new_axis) {}                               // NOLINT
  Index(Ellipsis) : kind_(Kind::other_axes) {}                            // NOLINT
  Index(const Tensor& tensor) : kind_(Kind::tensor), tensor_(&tensor) {}  // NOLINT
  /// {0, 2} would be x[0:2], or x[[0, 2]].
  Index(Integer auto, Integer auto, Integer auto...) = delete;  // write range(0, 2), or tensor({0, 2})
  template <class Holder>
  Index(const TensorHolder<Holder>& holder) : Index(static_cast<const Holder&>(holder).tensor()) {}  // NOLINT
  /// The default of the arguments of x(...): no entry.
  static Index absent() {
    Index none;
    none.kind_ = Kind::absent;
    return none;
  }

  /// What it is, and what it refers to: slice() for Kind::slice, tensor() for Kind::tensor.
  Kind kind() const { return kind_; }
  const Slice& slice() const { return slice_; }
  const Tensor& tensor() const { return *tensor_; }

 private:
  [[noreturn]] static void refuse();

  Kind kind_ = Kind::slice;
  Slice slice_;
  const Tensor* tensor_ = nullptr;
};

/// The entries of one x(...): at most kMost.
class Indices {
 public:
  static constexpr int kMost = 10;  ///< most entries of one x(...)
  template <class... Entries>
  explicit Indices(const Entries&... entries) : entries_{&entries...} {
    static_assert(sizeof...(entries) == kMost);
    while (count_ < kMost && entries_[count_]->kind() != Index::Kind::absent) ++count_;
  }
  /// The number of entries, and entry i of them.
  int size() const { return count_; }
  const Index& operator[](int i) const { return *entries_[i]; }

 private:
  const Index* entries_[kMost];
  int count_ = 0;
};

}  // namespace tapegrad
