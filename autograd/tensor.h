// The tensor: a cheap handle to immutable values, with shape, strides and element type.
#pragma once

#include <tapegrad/autograd/dtype.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/index.h>
#include <tapegrad/autograd/literal.h>
#include <tapegrad/autograd/scalar.h>
#include <tapegrad/autograd/shape.h>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapegrad {

/// Where a tensor was recorded: which tape, and at which position. Two integers, so that no cycle of ownership can
/// exist.
struct TapeIndex {
  uint64_t tape = 0;     // the tape's id; 0: not recorded; kLeaf: a leaf; kFrozenLeaf: a leaf that gets no gradient
  int64_t position = 0;  // on that tape; of a leaf, its own number
  static constexpr uint64_t kLeaf = ~uint64_t{0}, kFrozenLeaf = kLeaf - 1;  ///< not ids of tapes
  friend bool operator==(const TapeIndex&, const TapeIndex&) = default;
};

/// A reference-counted handle to one block of the pool; the last copy frees the block. For kernels.
class Storage {
 public:
  Storage() = default;
  explicit Storage(int64_t bytes);
  Storage(const Storage& other) noexcept : header_(other.header_) {
    if (header_) header_->references.fetch_add(1, std::memory_order_relaxed);
  }
  Storage(Storage&& other) noexcept : header_(std::exchange(other.header_, nullptr)) {}
  Storage& operator=(Storage other) noexcept {
    std::swap(header_, other.header_);
    return *this;
  }
  ~Storage() {
    if (header_ && header_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) free_block(header_);
  }

  /// Memory and size in bytes of a handle that is not empty; unique: no other handle refers to it.
  std::byte* data() const { return reinterpret_cast<std::byte*>(header_) + kHeaderBytes; }
  int64_t bytes() const { return header_->bytes; }
  bool unique() const { return header_->references.load(std::memory_order_acquire) == 1; }
  explicit operator bool() const { return header_ != nullptr; }
  friend bool operator==(const Storage& a, const Storage& b) { return a.header_ == b.header_; }

 private:
  struct Header {
    std::atomic<int32_t> references{1};
    int64_t bytes = 0;
  };
  static constexpr std::size_t kHeaderBytes = 64;
  static void free_block(Header* header) noexcept;

  Header* header_ = nullptr;
};

class Indexed;

/// A handle; copies refer to the same tensor. Tensors are immutable: operations return new ones, and views (reshape,
/// transpose, permute, slice, expand ...) share memory invisibly. Only a leaf changes its values, through an optimiser
/// or its nn::Parameter; views, detached tensors and everything else that shared its memory keep the old values.
class [[nodiscard]] Tensor {
 public:
  /// No tensor: defined() is false, and any other use throws Error.
  Tensor() = default;
  Tensor(const Tensor& other) noexcept : body_(other.body_) {
    if (body_) body_->references.fetch_add(1, std::memory_order_relaxed);
  }
  Tensor(Tensor&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
  /// From now on, this handle refers to the other's tensor.
  Tensor& operator=(Tensor other) & noexcept {
    std::swap(body_, other.body_);
    return *this;
  }
  void operator=(const Tensor&) && = delete;  // x[0] = y would be lost: write x(0) = y, with a name x that is not const
  ~Tensor() {
    if (body_ && body_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) free_body(body_);
  }

  bool defined() const { return body_ != nullptr; }
  /// sizes of the axes
  const Shape& shape() const { return body().shape; }
  /// In elements, not bytes.
  const Strides& strides() const { return body().strides; }
  /// Number of axes.
  int dim() const { return shape().rank(); }
  /// Size of one axis; negative axes count from the end. Error for an axis out of range.
  int64_t size(int64_t axis) const;
  /// Number of elements.
  int64_t numel() const { return body().numel; }
  DType dtype() const { return body().dtype; }
  /// Row-major without gaps.
  bool is_contiguous() const { return body().contiguous; }

  // --- values ---

  /// The only element, converted to T. Error if there is not exactly one.
  template <class T = double>
  T item() const {
    return with_stored_type(dtype(),
                            [&](auto t) { return static_cast<T>(*static_cast<const decltype(t)*>(only_element())); });
  }
  /// All elements in row-major order. Error unless T is the tensor's element type.
  template <class T>
  std::vector<T> to_vector() const {
    std::vector<T> out(static_cast<std::size_t>(numel()));
    copy_elements(out);
    return out;
  }
  /// The first element; step through the others with strides(). Error unless T is the tensor's element type. The
  /// pointer to a leaf's values is valid until the leaf is next written to.
  template <class T>
  const T* data() const {
    return static_cast<const T*>(typed_data(dtype_of<T>()));
  }
  const void* raw_data() const { return body().storage.data() + body().offset * item_size(body().dtype); }

  // --- views: no copy, recorded on the tape ---

  /// The same elements in row-major order in another shape; one size may be -1, to be inferred. Copies only if no
  /// strides can express the result. Error if the number of elements differs.
  Tensor reshape(const Shape& shape) const;
  Tensor reshape(std::integral auto size, std::integral auto... sizes) const = delete;  // write reshape({2, 3})
  /// Axes first .. last become one.
  Tensor flatten(int64_t start = 0, int64_t end = -1) const;
  /// Exchanges axes a and b.
  Tensor transpose(int64_t a, int64_t b) const;
  /// Exchanges the last two axes.
  Tensor t() const { return transpose(-2, -1); }
  /// Axis i of the result is axis axes[i] of this tensor.
  Tensor permute(const Dims& axes) const;
  /// Elements start, start + step, ... before stop, along one axis, by Python's rules; step may be negative, not 0.
  Tensor slice(int64_t axis, int64_t start = kAll, int64_t stop = kAll, int64_t step = 1) const;
  /// One index along an axis; the axis is removed. Error if the index is out of range.
  Tensor select(int64_t axis, int64_t index) const;
  Tensor operator[](int64_t index) const { return select(0, index); }
  /// x(all, range(1, 3), ids): what index.h describes. Of the axes that tensors index (int64 or int32, or bool as its
  /// true positions) one remains, as in index(). Error for more entries than axes, an index out of range, two ellipses.
  Tensor operator()(const Index& a, const Index& b = Index::absent(), const Index& c = Index::absent(),
                    const Index& d = Index::absent(), const Index& e = Index::absent(),
                    const Index& f = Index::absent(), const Index& g = Index::absent(),
                    const Index& h = Index::absent(), const Index& i = Index::absent(),
                    const Index& j = Index::absent()) const& {
    return at(Indices(a, b, c, d, e, f, g, h, i, j));
  }
  /// The same of a named tensor, which can be written to.
  inline Indexed operator()(const Index& a, const Index& b = Index::absent(), const Index& c = Index::absent(),
                            const Index& d = Index::absent(), const Index& e = Index::absent(),
                            const Index& f = Index::absent(), const Index& g = Index::absent(),
                            const Index& h = Index::absent(), const Index& i = Index::absent(),
                            const Index& j = Index::absent()) &;
  /// Repeats axes of size 1 to these sizes, and adds leading axes; -1 keeps a size.
  Tensor expand(const Shape& shape) const;
  /// Removes one axis, or several, which must have size 1.
  Tensor squeeze(int64_t axis) const;
  Tensor squeeze(const Axes& axes) const;
  /// Removes all axes of size 1.
  Tensor squeeze() const;
  /// Inserts an axis of size 1 before `axis`.
  Tensor unsqueeze(int64_t axis) const;

  // --- sums, as PyTorch's methods: sum(x, axes), mean(x, axes) ---

  Tensor sum(const Axes& axes = {}, Flag keepdim = false) const;   ///< the function of the same name
  Tensor mean(const Axes& axes = {}, Flag keepdim = false) const;  ///< the function of the same name
  Tensor view(const Shape& shape) const = delete;                  // write reshape(shape)
  void backward(auto&&...) const = delete;  // write Gradients grads = tape.backward(loss), with a Tape tape
  Tensor grad() const = delete;             // write grads[x], with the Gradients of tape.backward(loss)

  // --- copies, recorded on the tape ---

  /// This tensor if it is contiguous, a row-major copy otherwise.
  Tensor contiguous() const;
  /// Converted to another element type; this tensor if it already has that type. As in PyTorch: floating numbers lose
  /// their fraction where they become integers, and what int32 or int64 cannot hold becomes its smallest number; other
  /// conversions to integers are modulo 2^8 or 2^32. Floating types round to nearest, ties to even.
  Tensor to(DType dtype) const;

  // --- differentiation ---

  /// A leaf with the same values: a tensor that gradients are computed for (nn::Parameter holds one). Error unless
  /// float32 or float64.
  Tensor as_leaf() const;
  /// The same values, on no tape.
  Tensor detach() const;
  /// A copy of the values in row-major memory, on no tape.
  Tensor clone() const;
  bool is_leaf() const { return body().tape_index.tape >= TapeIndex::kFrozenLeaf; }
  /// A leaf that is currently a constant: it is not recorded and gets no gradient.
  bool is_frozen() const { return body().tape_index.tape == TapeIndex::kFrozenLeaf; }
  const TapeIndex& tape_index() const { return body().tape_index; }

  // --- for kernels ---

  /// A fresh tensor with unspecified values. Error for a negative size or more bytes than memory can hold.
  static Tensor empty(const Shape& shape, DType dtype = kFloat32);
  /// Another view of the same memory; `offset` counts elements from this tensor's first. Unchecked and not recorded.
  Tensor view(const Shape& shape, const Strides& strides, int64_t offset = 0) const;
  /// The values, to be filled by the code that has just made this tensor; never write to a tensor to which other
  /// handles exist.
  template <class T>
  T* mutable_data() const {
    return const_cast<T*>(data<T>());
  }
  void* mutable_raw_data() const { return const_cast<void*>(raw_data()); }
  const Storage& storage() const { return body().storage; }
  /// No other handle and no other view exists: the operation that holds it may write to its memory.
  bool unique() const { return body().references.load(std::memory_order_acquire) == 1 && storage().unique(); }
  /// Both handles refer to the same tensor.
  bool same(const Tensor& other) const { return body_ == other.body_; }
  void set_tape_index(const TapeIndex& index) const { body().tape_index = index; }

  // --- for owners of a leaf: optimisers and nn::Parameter ---

  /// Freezes or unfreezes a leaf; affects only what is recorded afterwards. Error unless this is a leaf.
  void set_frozen(bool frozen) const;
  /// Error "[where] <name> ..." while more than `tapes` tapes in scope have recorded this leaf.
  void require_writable(std::string_view where, std::string_view name, int32_t tapes = 0) const;
  /// Whether a leaf keeps its values if it must move to new memory.
  enum class Values { keep, discard };
  /// Call it before writing to a leaf in place. If a view, a detached tensor or any other tensor shares its memory, the
  /// leaf moves to new memory (all handles to the leaf follow), so that only the leaf changes. Afterwards it is
  /// contiguous. The Error of require_writable.
  void prepare_write(std::string_view where, std::string_view name, Values values = Values::keep) const;
  /// Counts the tapes in scope that have recorded this leaf, or used it while it was frozen. Error for more than
  /// kMostTapes.
  void begin_recording() const {
    if (body().recordings.fetch_add(1, std::memory_order_acq_rel) >= kMostTapes) fail_recording();
  }
  void end_recording() const noexcept { body_->recordings.fetch_sub(1, std::memory_order_acq_rel); }
  static constexpr int32_t kMostTapes = 32'767;

 private:
  friend class Indexed;
  struct Body {  // three cache lines
    std::atomic<int32_t> references{1};
    std::atomic<uint16_t> recordings{0};
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
  [[noreturn]] void fail_recording() const;
  Tensor at(const Indices& indices) const;
  const void* only_element() const;
  const void* typed_data(DType dtype) const;
  void copy_elements(std::vector<bool>& out) const;
  template <class T>
  void copy_elements(std::vector<T>& out) const {
    copy_to(out.data(), dtype_of<T>());
  }
  void copy_to(void* out, DType dtype) const;

  Body* body_ = nullptr;
};

/// x(...) of a named tensor x: a tensor like any other, which can also be assigned to. Tensors are immutable, so an
/// assignment gives the *handle* x a new tensor, with these elements replaced; other handles keep the old one, and
/// gradients flow as through slice_update and index_put. Only x(...) itself writes: after `auto y = x(0);`, `y = z` is
/// about y alone.
///
///   x(all, 0) = y;    x(mask) = 0;    x(ids) += y;    x(0) = x(1);
///
/// Values have x's type and broadcast to the elements. Of several values for one place the last one remains, also with
/// += (index_add and scatter_add add them all). Error for a leaf: an optimiser or nn::Parameter::set changes it.
class [[nodiscard]] Indexed : public Tensor {
 public:
  Indexed(const Indexed&) = default;
  Indexed(Tensor& target, const Indices& indices)
      : Tensor(std::as_const(target).at(indices)), target_(&target), indices_(indices) {}

  void operator=(const Tensor& values) && { put(values); }
  void operator=(const Indexed& values) && { put(values); }
  void operator=(Scalar value) &&;
  void operator+=(const Tensor& values) &&;
  void operator-=(const Tensor& values) &&;
  void operator*=(const Tensor& values) &&;
  void operator/=(const Tensor& values) &&;
  void operator+=(Scalar value) &&;
  void operator-=(Scalar value) &&;
  void operator*=(Scalar value) &&;
  void operator/=(Scalar value) &&;

  // Of a name, `auto y = x(0);`: y becomes another tensor.
  Indexed& operator=(Tensor tensor) & {
    Tensor::operator=(std::move(tensor));
    return *this;
  }
  Indexed& operator=(const Indexed& tensor) & { return *this = static_cast<const Tensor&>(tensor); }

 private:
  void put(Tensor values);

  Tensor* target_;
  Indices indices_;
};

inline Indexed Tensor::operator()(const Index& a, const Index& b, const Index& c, const Index& d, const Index& e,
                                  const Index& f, const Index& g, const Index& h, const Index& i, const Index& j) & {
  return Indexed(*this, Indices(a, b, c, d, e, f, g, h, i, j));
}

// --- factories: the results are constants, not leaves ---

/// Error for a value out of the range of an integer type.
Tensor full(const Shape& shape, Scalar value, DType dtype = kFloat32);
Tensor zeros(const Shape& shape, DType dtype = kFloat32);
Tensor ones(const Shape& shape, DType dtype = kFloat32);
Tensor zeros(std::integral auto size, std::integral auto... sizes) = delete;  // write zeros({2, 3})
Tensor ones(std::integral auto size, std::integral auto... sizes) = delete;   // write ones({2, 3})
/// Shape and element type of x.
Tensor zeros_like(const Tensor& x);
Tensor ones_like(const Tensor& x);
Tensor full_like(const Tensor& x, Scalar value);
/// The type of the result of an operation on a and b: promoted_type. But if both types are integers, or both floating,
/// and only one operand has axes, its type.
DType result_type(const Tensor& a, const Tensor& b);

/// One value with no axes.
Tensor scalar(Scalar value, DType dtype = kFloat32);
/// 0, 1, ... stop - 1.
Tensor arange(int64_t stop, DType dtype = kInt64);
/// start, start + step, ... before stop. Error if that never ends, and for fractions in an integer type.
Tensor arange(Scalar start, Scalar stop, Scalar step = 1, DType dtype = kInt64);
/// `count` values from first to last, both included, in equal steps; float32 or float64.
Tensor linspace(double first, double last, int64_t count, DType dtype = kFloat32);
/// [n, n], ones on the diagonal.
Tensor eye(int64_t n, DType dtype = kFloat32);

/// A tensor of literal values, with one axis per level of braces: tensor({1., 2.}), tensor({{1, 2}, {3, 4}}). The type
/// is `dtype`; by default float32 if any number is floating-point or there are none, else int64 if any is an integer,
/// else bool. Error if lists on one level differ in length, and for a number that an integer type does not hold.
Tensor tensor(std::initializer_list<Literal> values, std::optional<DType> dtype = {});

/// A copy of `count` values in row-major order. Error unless count == shape.numel().
Tensor from_data(const void* values, int64_t count, const Shape& shape, DType dtype);
template <class T>
Tensor tensor(std::span<const T> values, const Shape& shape) {
  return from_data(values.data(), static_cast<int64_t>(values.size()), shape, dtype_of<T>());
}
template <class T>
Tensor tensor(const std::vector<T>& values, const Shape& shape) {
  return tensor(std::span<const T>(values), shape);
}

/// The values as PyTorch prints them: tensor([[1., 2.], ...]).
std::string str(const Tensor& x);
std::ostream& operator<<(std::ostream& out, const Tensor& x);

}  // namespace tapegrad
