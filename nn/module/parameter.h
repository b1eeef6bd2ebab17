// The tensors of a module: parameters, which are trained, and buffers, which are not.
#pragma once

#include <tapegrad/autograd/leaf_names.h>
#include <tapegrad/autograd/tensor_holder.h>
#include <tapegrad/nn/member.h>

#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace tapegrad::nn {

/// A tensor that is trained: a leaf, which gets gradients. Usable wherever a `const Tensor&` is. Tied parameters share
/// one leaf: its values, its name and whether it is frozen.
class Parameter : public detail::Member, public TensorHolder<Parameter> {
 public:
  Parameter() noexcept : Member(detail::MemberKind::parameter) {}  ///< none: a layer without bias
  /// A leaf with these values (a floating tensor), in its own memory.
  explicit Parameter(std::same_as<Tensor> auto values) : Parameter(std::move(values), Adopt{}) {}
  Parameter(Parameter&& other) noexcept = default;
  Parameter(Parameter& other);  ///< for clone(); an Error anywhere else
  Parameter& operator=(Parameter&& other) noexcept = default;

  bool defined() const { return leaf_ != nullptr; }
  operator const Tensor&() const { return tensor(); }  // NOLINT: a parameter is a tensor to every operation
  /// The value; an empty handle if there is none.
  const Tensor& tensor() const {
    if (!leaf_) return kNone;
    tapegrad::detail::last_leaf = leaf_->tensor.tape_index();
    return leaf_->tensor;
  }
  const Tensor* operator->() const { return &tensor(); }
  /// Its path in the model, "encoder.norm.gamma", once parameters(model) or load_state_dict(model) has set it; ""
  /// before.
  std::string_view name() const { return leaf_ ? std::string_view(leaf_->name) : std::string_view(); }
  /// `owner` is the type of the module that has it, for error messages.
  void set_name(std::string_view name, std::string_view owner = {});

  /// Freezes or unfreezes it. A frozen parameter is a constant: it gets no gradient, nothing is recorded or computed
  /// for it, and optimisers do not change it. Affects only what is recorded afterwards.
  void freeze(bool frozen = true);
  bool frozen() const { return leaf_ && leaf_->frozen; }

  /// Makes `second` share the leaf of `first`, and drops the leaf and values of `second`. Error unless both have values
  /// of the same shape.
  friend void tie(Parameter& first, Parameter& second);
  bool tied_to(const Parameter& other) const { return leaf_ && leaf_ == other.leaf_; }

  /// Overwrites the values, from any floating type; `values` may share memory with this parameter. Other tensors that
  /// share its memory do not change. Error for another shape, and while a tape in scope has recorded this parameter.
  void set(const Tensor& values);
  /// The values, for an initialiser to write to before anything else uses the parameter. The same Errors.
  template <class T>
  T* mutable_data() {
    prepare_write(Tensor::Values::keep);
    return leaf_->tensor.mutable_data<T>();
  }
  /// Replaces the leaf by another tensor of this shape, recorded or not; for gradient checks. A later set() does not
  /// change that tensor, unless it is a leaf: then every handle to the leaf has the new values.
  void substitute(const Tensor& values);
  /// Replaces the leaf by a new one of another floating type; existing optimisers do not have the new leaf. In bfloat16
  /// or float16 it is no longer a leaf, but storage for a model that only generates. Error for other types.
  void convert(DType dtype);

  /// The number of parameter leaves in this process. If a model's `visit` reaches fewer, it leaves some out.
  static int64_t alive();

 private:
  struct Adopt {};
  struct Leaf : NonCopyable {  // shared by tied parameters
    explicit Leaf(Tensor values);
    ~Leaf();
    void become(Tensor values);
    void forget_name() const;
    Tensor tensor;
    std::string name, owner;
    bool frozen = false;
  };
  Parameter(Tensor&& values, Adopt);
  void prepare_write(Tensor::Values values);
  inline static const Tensor kNone;
  std::shared_ptr<Leaf> leaf_;
};

void tie(Parameter& first, Parameter& second);

struct BufferOptions {
  bool persistent = true;  ///< in the state: saved and loaded; false for what the constructor computes, as a mask
};

/// A tensor that belongs to the model's state but is not trained: saved, loaded, converted and cloned like a parameter.
///
///   nn::Buffer mask{triu(full({8, 8}, -INFINITY), 1), {.persistent = false}};     // cloned and converted only
class Buffer : public detail::Member, public TensorHolder<Buffer> {
 public:
  Buffer() noexcept : Member(detail::MemberKind::buffer) {}
  explicit Buffer(std::same_as<Tensor> auto values, BufferOptions options = {})
      : Buffer(std::move(values), options, Adopt{}) {}
  Buffer(Buffer&& other) noexcept = default;
  Buffer(Buffer& other);  ///< for clone(); an Error anywhere else
  Buffer& operator=(Buffer&& other) noexcept = default;

  bool defined() const { return values_.defined(); }
  operator const Tensor&() const { return values_; }  // NOLINT: like a parameter
  /// The value; an empty handle if there is none.
  const Tensor& tensor() const { return values_; }
  const Tensor* operator->() const { return &values_; }
  void set(const Tensor& values);  ///< Error for another shape
  void convert(DType dtype);       ///< converts floating values; integers and bools keep their type
  bool persistent() const { return options_.persistent; }  ///< BufferOptions::persistent

 private:
  struct Adopt {};
  Buffer(Tensor&& values, BufferOptions options, Adopt);
  BufferOptions options_;
  Tensor values_;
};

namespace detail {

// While one is in scope on this thread, parameters may be copied; copies of tied parameters are tied, and those of a
// shared module are shared. Constructors of a program's own modules are between clone() and those of parameters, so the
// scope cannot be their argument. An inner scope uses the outermost one.
class CloneScope : NonCopyable {
 public:
  CloneScope();
  ~CloneScope();
  static CloneScope* current();  // the outermost one; nullptr: none

  // What was copied from a leaf or from a shared module, by its address and type: empty at first.
  std::shared_ptr<void>& copy_of(const void* original, const void* type);

 private:
  CloneScope* const outer_;
  std::map<std::pair<const void*, const void*>, std::shared_ptr<void>> copies_;
};

}  // namespace detail

}  // namespace tapegrad::nn

namespace tapegrad::nn::init {

/// While one is in scope on this thread, initialisers sample nothing and leave parameters with unspecified values: for
/// a model whose weights are loaded next.
class Skip : NonCopyable {
 public:
  Skip() : Skip(Values::unspecified) {}
  ~Skip();
  static bool on();  ///< one is in scope on this thread

 protected:
  /// The values of new parameters.
  enum class Values : uint8_t { initial, unspecified, none };
  explicit Skip(Values values);  ///< `values`, or what an outer scope has if that is less
  static Values values();

 private:
  static constinit thread_local Values current_;
  Values before_;
};

/// While one is in scope on this thread, blank() takes no memory, and initialisers do nothing: a model that is made
/// then has only the shapes of its parameters, to be counted. (PyTorch's device "meta".)
class ShapesOnly : public Skip {
 public:
  ShapesOnly() : Skip(Values::none) {}
  static bool on() { return values() == Values::none; }  ///< one is in scope on this thread
};

/// The float32 values of a new parameter, unspecified until it is initialised.
Tensor blank(const Shape& shape);

}  // namespace tapegrad::nn::init
