// The tensor: a cheap handle to values that nobody changes, with shape, strides and element type.
#pragma once

#include <tapegrad/autograd/dtype.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/shape.h>
#include <tapegrad/autograd/storage.h>

#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace tapegrad {

// Where a tensor was recorded: which tape, and at which position. Two integers, so that no cycle of ownership can
// exist.
struct TapeIndex {
  uint64_t tape = 0;  // 0: nowhere; kLeaf: a leaf, and position is its number
  int64_t position = 0;
  static constexpr uint64_t kLeaf = ~uint64_t{0};
};

// A bound of Tensor::slice that was left out.
inline constexpr int64_t kAll = INT64_MIN;

// Copies of a handle are the same tensor. Values never change under a tensor: operations make new ones, and views
// (reshape, transpose, permute, slice, expand ...) share memory without anybody being able to tell.
class Tensor {
 public:
  Tensor() = default;  // no tensor: defined() is false
  Tensor(const Tensor& other) noexcept : body_(other.body_) {
    if (body_) body_->references.fetch_add(1, std::memory_order_relaxed);
  }
  Tensor(Tensor&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
  Tensor& operator=(Tensor other) noexcept {
    std::swap(body_, other.body_);
    return *this;
  }
  ~Tensor() {
    if (body_ && body_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) free_body(body_);
  }

  bool defined() const { return body_ != nullptr; }
  const Shape& shape() const { return body().shape; }
  const Strides& strides() const { return body().strides; }  // in elements
  int dim() const { return shape().rank(); }                 // number of axes
  int64_t size(int64_t axis) const;                          // negative axes count from the end
  int64_t numel() const { return body().numel; }
  DType dtype() const { return body().dtype; }
  bool is_contiguous() const { return body().contiguous; }  // row-major without gaps

  // --- values ---
  // The only element. Error for any other number of elements. Converts to T.
  template <class T = double>
  T item() const {
    return with_type(dtype(), [&](auto t) { return static_cast<T>(*static_cast<const decltype(t)*>(only_element())); });
  }
  // All elements in row-major order. T must be the tensor's type.
  template <class T>
  std::vector<T> to_vector() const {
    std::vector<T> out(static_cast<std::size_t>(numel()));
    if constexpr (std::is_same_v<T, bool>) {
      const Tensor packed = contiguous();
      const bool* from = packed.data<bool>();
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = from[i];
    } else {
      copy_to(out.data(), dtype_of<T>());
    }
    return out;
  }
  // The first element in memory; step through it with strides(). T must be the tensor's type.
  template <class T>
  const T* data() const {
    return static_cast<const T*>(typed_data(dtype_of<T>()));
  }
  // For a kernel that fills a tensor which it has just made; never for a tensor that others hold.
  template <class T>
  T* mutable_data() const {
    return const_cast<T*>(data<T>());
  }
  const void* raw_data() const { return body().storage.data() + body().offset * item_size(body().dtype); }
  void* mutable_raw_data() const { return const_cast<void*>(raw_data()); }

  // --- views: no copy, recorded on the tape ---
  Tensor reshape(const Shape& shape) const;  // one size may be -1; copies only where strides force it
  Tensor flatten(int64_t first = 0, int64_t last = -1) const;
  Tensor transpose(int64_t a, int64_t b) const;
  Tensor t() const { return transpose(-2, -1); }
  Tensor permute(const Dims& axes) const;
  // Elements start, start + step, ... before stop, along one axis, with Python's rules; step may be negative.
  Tensor slice(int64_t axis, int64_t start = kAll, int64_t stop = kAll, int64_t step = 1) const;
  Tensor select(int64_t axis, int64_t index) const;  // one index, the axis goes away
  Tensor operator[](int64_t index) const { return select(0, index); }
  Tensor expand(const Shape& shape) const;  // -1 keeps a size; only axes of size 1 grow
  Tensor squeeze(int64_t axis) const;       // the axis must have size 1
  Tensor squeeze() const;                   // all axes of size 1
  Tensor unsqueeze(int64_t axis) const;

  // --- copies, recorded on the tape ---
  Tensor contiguous() const;  // itself where it is contiguous already
  Tensor to(DType dtype) const;

  // --- differentiation ---
  // A leaf with the same values: the thing that gradients are computed for (nn::Parameter holds one).
  Tensor as_leaf() const;
  // The same values, unknown to any tape.
  Tensor detach() const;
  bool is_leaf() const { return body().tape_index.tape == TapeIndex::kLeaf; }
  const TapeIndex& tape_index() const { return body().tape_index; }

  // --- for operations ---
  // A fresh tensor with unspecified values.
  static Tensor empty(const Shape& shape, DType dtype = kFloat32);
  // Another view of the same storage; `offset` counts elements from this tensor's first. Unchecked and not recorded.
  Tensor view(const Shape& shape, const Strides& strides, int64_t offset = 0) const;
  const Storage& storage() const { return body().storage; }
  // No other handle and no other view: its memory may be written to by the one operation that owns it.
  bool unique() const { return body().references.load(std::memory_order_acquire) == 1 && storage().unique(); }
  bool same(const Tensor& other) const { return body_ == other.body_; }
  void set_tape_index(const TapeIndex& index) const { body().tape_index = index; }

 private:
  struct Body {
    std::atomic<int32_t> references{1};
    DType dtype = DType::float32;
    bool contiguous = true;
    Shape shape;
    Strides strides;
    int64_t numel = 1;
    int64_t offset = 0;  // elements from the storage's start
    Storage storage;
    TapeIndex tape_index;
  };
  explicit Tensor(Body* body) : body_(body) {}
  static Tensor make(const Shape& shape, const Strides& strides, int64_t offset, DType dtype, Storage storage);
  static void free_body(Body* body) noexcept;
  Body& body() const {
    if (!body_) fail("tensor", "an empty handle was used (it was never given a value, or was moved from)");
    return *body_;
  }
  const void* only_element() const;
  const void* typed_data(DType dtype) const;
  void copy_to(void* out, DType dtype) const;

  Body* body_ = nullptr;
};

// --- factories ---
Tensor full(const Shape& shape, double value, DType dtype = kFloat32);
Tensor zeros(const Shape& shape, DType dtype = kFloat32);
Tensor ones(const Shape& shape, DType dtype = kFloat32);
Tensor zeros_like(const Tensor& x);
Tensor ones_like(const Tensor& x);
Tensor scalar(double value, DType dtype = kFloat32);  // rank 0
Tensor arange(int64_t stop);                          // int64: 0, 1, ... stop - 1
Tensor arange(double start, double stop, double step = 1, DType dtype = kInt64);
Tensor linspace(double first, double last, int64_t count, DType dtype = kFloat32);
Tensor eye(int64_t n, DType dtype = kFloat32);
// Copies `shape.numel()` values; Error for another count.
Tensor from_data(const void* values, int64_t count, const Shape& shape, DType dtype);
template <class T>
Tensor tensor(std::span<const T> values, const Shape& shape) {
  return from_data(values.data(), static_cast<int64_t>(values.size()), shape, dtype_of<T>());
}
template <class T>
Tensor tensor(const std::vector<T>& values, const Shape& shape) {
  return tensor(std::span<const T>(values), shape);
}
// tensor({1., 2.}) is float32, tensor({1, 2}) int64, tensor({true}) bool; a second argument says otherwise.
Tensor tensor(std::initializer_list<double> values, DType dtype = kFloat32);
Tensor tensor(std::initializer_list<float> values, DType dtype = kFloat32);
Tensor tensor(std::initializer_list<int> values, DType dtype = kInt64);
Tensor tensor(std::initializer_list<bool> values, DType dtype = kBool);
// One row after another: tensor({{1, 2}, {3, 4}}). A template, because overloads on nested lists are ambiguous to
// clang.
template <class T>
concept Literal =
    std::is_same_v<T, double> || std::is_same_v<T, float> || std::is_same_v<T, int> || std::is_same_v<T, bool>;
template <Literal T>
inline constexpr DType kLiteralType = std::is_same_v<T, bool>  ? kBool
                                      : std::is_same_v<T, int> ? kInt64
                                                               : kFloat32;
template <Literal T>
Tensor tensor(std::initializer_list<std::initializer_list<T>> rows, DType dtype = kLiteralType<T>);

// The values as PyTorch prints them: tensor([[1., 2.], ...]).
std::string str(const Tensor& x);
std::ostream& operator<<(std::ostream& out, const Tensor& x);

}  // namespace tapegrad
