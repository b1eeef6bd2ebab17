// Parameters and buffers: how they own their values, and how they are copied.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/module/detail/leaf_of.h>
#include <tapegrad/nn/parameter.h>

#include <algorithm>
#include <atomic>

namespace tapegrad::nn {

namespace {

std::atomic<int64_t> alive_parameters{0};
constinit thread_local detail::CloneScope* clone_scope = nullptr;

// `values` itself if it is not shared, else a copy.
Tensor own(Tensor&& values) {
  if (init::ShapesOnly::on()) return std::move(values);
  if (values.unique() && values.is_contiguous() && values.tape_index().tape == 0) return std::move(values);
  return values.clone();
}

detail::CloneScope& require_clone(std::string_view what) {
  if (!clone_scope) fail(what, "expected a model to be moved or cloned, got a copy (use std::move, or clone(model))");
  return *clone_scope;
}

std::string quoted(std::string_view name) { return name.empty() ? "a parameter" : fmt::format("\"{}\"", name); }

}  // namespace

// --- Parameter ---

Parameter::Leaf::Leaf(Tensor values) : tensor(std::move(values)) {
  alive_parameters.fetch_add(1, std::memory_order_relaxed);
}

Parameter::Leaf::~Leaf() {
  forget_name();
  alive_parameters.fetch_sub(1, std::memory_order_relaxed);
}

// Removes the name of the leaf's id.
void Parameter::Leaf::forget_name() const {
  if (tensor.defined() && tensor.is_leaf() && !name.empty()) tapegrad::detail::name_leaf(tensor.tape_index(), "");
}

// Replaces the tensor, with the same name and frozen state.
void Parameter::Leaf::become(Tensor values) {
  forget_name();
  tensor = std::move(values);
  if (!tensor.is_leaf()) return;
  tensor.set_frozen(frozen);
  if (!name.empty()) tapegrad::detail::name_leaf(tensor.tape_index(), name, owner);
}

Parameter::Parameter(Tensor&& values, Adopt)
    : Member(detail::MemberKind::parameter), leaf_(std::make_shared<Leaf>(own(std::move(values)).as_leaf())) {}

Parameter::Parameter(Parameter& other) : Member(other) {
  detail::CloneScope& scope = require_clone("parameter");
  if (!other.defined()) return;
  std::shared_ptr<void>* const known =
      other.leaf_.use_count() > 1 ? &scope.copy_of(other.leaf_.get(), &alive_parameters) : nullptr;
  if (known && *known) {
    leaf_ = std::static_pointer_cast<Leaf>(*known);
    return;
  }
  leaf_ = std::make_shared<Leaf>(Tensor());
  leaf_->name = other.leaf_->name;
  leaf_->owner = other.leaf_->owner;
  leaf_->frozen = other.leaf_->frozen;
  leaf_->become(detail::leaf_of(other.leaf_->tensor.clone()));
  if (known) *known = leaf_;
}

int64_t Parameter::alive() { return alive_parameters.load(std::memory_order_relaxed); }

void Parameter::set_name(std::string_view name, std::string_view owner) {
  if (!leaf_ || (leaf_->name == name && leaf_->owner == owner)) return;
  leaf_->name = name;
  leaf_->owner = owner;
  if (leaf_->tensor.is_leaf()) tapegrad::detail::name_leaf(leaf_->tensor.tape_index(), name, owner);
}

void Parameter::freeze(bool frozen) {
  if (!leaf_) return;
  leaf_->frozen = frozen;
  if (leaf_->tensor.is_leaf()) leaf_->tensor.set_frozen(frozen);
}

void tie(Parameter& first, Parameter& second) {
  if (!first.defined() || !second.defined()) fail("tie", "expected two parameters with values, got one without");
  if (!(first->shape() == second->shape())) {
    fail("tie", "expected two parameters of one shape, got {} and {}", first->shape(), second->shape());
  }
  second->require_writable("tie", second.name());
  second.leaf_ = first.leaf_;
}

void Parameter::prepare_write(Tensor::Values values) {
  Tensor& leaf = leaf_->tensor;
  // A tensor that is not a leaf (a half, or substituted) is immutable for its other holders.
  if (!leaf.is_leaf() && !leaf.unique()) leaf = leaf.clone();
  leaf.prepare_write("parameter", name(), values);
}

void Parameter::substitute(const Tensor& values) {
  if (!(values.shape() == tensor().shape())) {
    fail("parameter", "expected values of shape {} to substitute for {}, got {}", tensor().shape(), quoted(name()),
         values.shape());
  }
  if (!is_floating(values.dtype())) {
    fail("parameter", "expected float32 or float64 values to substitute for {}, got {}", quoted(name()),
         values.dtype());
  }
  leaf_->forget_name();
  leaf_->tensor = values;
}

void Parameter::set(const Tensor& values) {
  if (!(values.shape() == tensor().shape())) {
    fail("parameter", "expected values of shape {} for {}, got {}", tensor().shape(), quoted(name()), values.shape());
  }
  tensor().require_writable("parameter", name());
  // Keeps memory shared with the leaf alive. Everything that allocates happens before the old values are dropped.
  const Tensor source = values.dtype() == tensor().dtype() ? values.detach() : values.detach().to(tensor().dtype());
  prepare_write(Tensor::Values::discard);
  copy_into(leaf_->tensor, source);
}

void Parameter::convert(DType dtype) {
  if (dtype == tensor().dtype()) return;
  prepare_write(Tensor::Values::keep);
  if (!is_floating(dtype) && !is_half(dtype)) {
    fail("parameter", "{} cannot be converted to {} (expected float32, float64, bfloat16 or float16)", quoted(name()),
         dtype);
  }
  leaf_->become(detail::leaf_of(tensor().detach().to(dtype)));
}

// --- Buffer ---

Buffer::Buffer(Tensor&& values, BufferOptions options, Adopt)
    : Member(detail::MemberKind::buffer), options_(options), values_(own(std::move(values))) {}

Buffer::Buffer(Buffer& other) : Member(other), options_(other.options_) {
  require_clone("buffer");
  if (other.defined()) values_ = other.values_.clone();
}

void Buffer::set(const Tensor& values) {
  require(values.shape() == values_.shape(), "buffer", "expected values of shape {}, got {}", values_.shape(),
          values.shape());
  values_ = values.dtype() == values_.dtype() ? values.clone() : values.detach().to(values_.dtype());
}

void Buffer::convert(DType dtype) {
  if (is_floating(values_.dtype()) || is_half(values_.dtype())) values_ = values_.detach().to(dtype);
}

// --- clones ---

namespace detail {

CloneScope::CloneScope() : outer_(clone_scope) {
  if (!outer_) clone_scope = this;
}
CloneScope::~CloneScope() {
  if (!outer_) clone_scope = nullptr;
}
CloneScope* CloneScope::current() { return clone_scope; }

std::shared_ptr<void>& CloneScope::copy_of(const void* original, const void* type) { return copies_[{original, type}]; }

}  // namespace detail

}  // namespace tapegrad::nn

namespace tapegrad::nn::init {

// Between a model and its parameters are the constructors of a program's own modules, which take no such argument.
constinit thread_local Skip::Values Skip::current_ = Values::initial;

Skip::Skip(Values values) : before_(current_) { current_ = std::max(before_, values); }
Skip::~Skip() { current_ = before_; }
bool Skip::on() { return current_ != Values::initial; }
Skip::Values Skip::values() { return current_; }

// Only the shape of a view of one number is real.
Tensor blank(const Shape& shape) { return ShapesOnly::on() ? Tensor::empty({}).expand(shape) : Tensor::empty(shape); }

}  // namespace tapegrad::nn::init
