// Handles, factories and access to values. Views and copies are operations: autograd/ops/shape/view.cpp.
#include <tapegrad/autograd/detail/dead_tensors.h>
#include <tapegrad/autograd/detail/pool_fresh.h>
#include <tapegrad/autograd/internal/events.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/autograd/pool.h>
#include <tapegrad/autograd/tensor.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

namespace tapegrad {
namespace {

std::atomic<int64_t> next_leaf{1};
constexpr int64_t kFillGrain = int64_t{1} << 18;
constexpr uint64_t kMostOfRange = 1'000'000'000'000'000;  // values of arange()

bool holds_without_fraction(DType dtype, const Scalar& number) {
  return holds(dtype, number.is_int64() ? number : Scalar(std::trunc(number)));
}

bool is_row_major(const Shape& shape, const Strides& strides) {
  int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1 && strides[i] != step) return false;
    step *= shape[i];
  }
  return true;
}

// The shape and the widest type of a literal in braces.
struct Measured {
  Shape shape;
  DType dtype = kBool;
  int depth = -1;  // the level of the numbers; -1 before the first one

  void add(std::initializer_list<Literal> list, int level) {
    const int64_t length = static_cast<int64_t>(list.size());
    if (level == shape.rank()) shape.push_back(length);
    require(length == shape[level], "tensor", "expected rows of equal length, got {} and {} values", shape[level],
            length);
    for (const Literal& entry : list) {
      if (entry.is_number() && depth < 0) depth = level;
      require(depth < 0 || entry.is_number() == (level == depth), "tensor",
              "expected either lists or numbers on one level, got both");
      if (entry.is_number()) {
        dtype = std::max(dtype, entry.dtype());
      } else {
        add(entry.list(), level + 1);
      }
    }
  }
};

// A tensor of the program's own, for a profiler: no operation has begun.
Tensor made(const Tensor& x) {
  if (detail::is_profiling()) [[unlikely]]
    detail::mark_end();
  return x;
}

// The numbers of a literal as T; Error for one that an integer `dtype` or T does not hold.
template <class T>
T* write(std::initializer_list<Literal> list, DType dtype, T* out) {
  for (const Literal& entry : list) {
    if (!entry.is_number()) {
      out = write(entry.list(), dtype, out);
      continue;
    }
    for (const DType type : {dtype, dtype_of<T>()}) {
      if (holds_without_fraction(type, entry.number())) continue;
      fail("tensor", "expected values that {} can hold, got {}", type, entry.number());
    }
    *out++ = entry.number().as<T>();
  }
  return out;
}

}  // namespace

// --- memory ---

Storage::Storage(int64_t bytes) {
  header_ = new (pool::acquire(kHeaderBytes + static_cast<std::size_t>(bytes))) Header;
  header_->bytes = bytes;
}

void Storage::free_block(Header* header) noexcept {
  const std::size_t bytes = kHeaderBytes + static_cast<std::size_t>(header->bytes);
  header->~Header();
  pool::release(header, bytes);
}

// --- handles ---

// Member by member: an aggregate would be cleared as a whole first, which costs as much as all the rest.
Tensor Tensor::make(const Shape& shape, const Strides& strides, int64_t offset, DType dtype, Storage storage) {
  if (detail::is_profiling()) [[unlikely]]
    detail::mark_beginning();
  static_assert(sizeof(Body) <= 192);
  const int64_t numel = checked_numel("tensor", shape);
  Body* const body = new (pool::acquire(sizeof(Body))) Body;
  body->dtype = dtype;
  body->contiguous = is_row_major(shape, strides);
  body->shape = shape;
  body->strides = strides;
  body->numel = numel;
  body->offset = offset;
  body->storage = std::move(storage);
  return Tensor(body);
}

void Tensor::free_body(Body* body) noexcept {
  if (detail::is_of_forward_pass(body->tape_index.tape)) [[unlikely]]
    detail::forget_tangents(body->tape_index.tape, body->tape_index.position);
  body->~Body();
  pool::release(body, sizeof(Body));
}

Tensor Tensor::empty(const Shape& shape, DType dtype) {
  if (detail::is_profiling()) [[unlikely]]
    detail::mark_beginning();
  const int64_t numel = checked_numel("tensor", shape);
  Storage storage(numel * item_size(dtype));
  Body* const body = new (pool::acquire(sizeof(Body))) Body;
  body->dtype = dtype;
  body->shape = shape;
  body->strides = shape;
  turn_into_strides(body->strides);  // in place: a copy in vectors would wait for the single numbers just written
  body->numel = numel;
  body->storage = std::move(storage);
  return Tensor(body);
}

Tensor Tensor::view(const Shape& shape, const Strides& strides, int64_t offset) const {
  return make(shape, strides, body().offset + offset, dtype(), storage());
}

int64_t Tensor::size(int64_t axis) const { return shape()[normal_axis("size", axis, shape())]; }

Tensor Tensor::detach() const { return tape_index().tape == 0 ? *this : view(shape(), strides()); }

Tensor Tensor::as_leaf() const {
  if (!is_floating(dtype())) fail("as_leaf", "expected float32 or float64, got {}", dtype());
  const Tensor leaf = view(shape(), strides());
  leaf.set_tape_index({TapeIndex::kLeaf, next_leaf.fetch_add(1, std::memory_order_relaxed)});
  return leaf;
}

void Tensor::set_frozen(bool frozen) const {
  if (!is_leaf()) fail("set_frozen", "expected a leaf, got a tensor of shape {}", shape());
  set_tape_index({frozen ? TapeIndex::kFrozenLeaf : TapeIndex::kLeaf, tape_index().position});
}

void Tensor::require_writable(std::string_view where, std::string_view name, int32_t tapes) const {
  if (body().recordings.load(std::memory_order_acquire) <= tapes) return;
  fail(where, "{} cannot be changed while a live tape has recorded it (run backward or end the tape first)",
       name.empty() ? fmt::format("a parameter of shape {}", str(shape())) : fmt::format("\"{}\"", name));
}

void Tensor::fail_recording() const {
  end_recording();
  fail("tape", "expected at most {} live tapes that record one leaf, got more: a leaf of shape {}", kMostTapes,
       shape());
}

void Tensor::prepare_write(std::string_view where, std::string_view name, Values values) const {
  require_writable(where, name);
  Body& own = body();
  if (own.storage.unique() && own.contiguous) return;
  const Tensor moved = values == Values::keep ? clone() : empty(shape(), dtype());
  own.storage = moved.storage();
  own.strides = moved.strides();
  own.offset = 0;
  own.contiguous = true;
}

// --- values ---

namespace {

void require_type(std::string_view where, const Tensor& x, DType wanted) {
  require(x.dtype() == wanted, where, "expected a tensor of {}, got {} (convert with to())", wanted, x.dtype());
}

}  // namespace

const void* Tensor::typed_data(DType wanted) const {
  require_type("data", *this, wanted);
  return raw_data();
}

const void* Tensor::only_element() const {
  if (numel() != 1) fail("item", "expected one element, got shape {} with {}", shape(), numel());
  return raw_data();
}

void Tensor::copy_elements(std::vector<bool>& out) const {
  require_type("to_vector", *this, kBool);
  const Tensor packed = detach().contiguous();
  const bool* from = packed.data<bool>();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = from[i];
}

void Tensor::copy_to(void* out, DType wanted) const {
  require_type("to_vector", *this, wanted);
  if (numel() == 0) return;
  const Tensor packed = detach().contiguous();
  std::memcpy(out, packed.raw_data(), static_cast<std::size_t>(numel() * item_size(wanted)));
}

// --- factories ---

Tensor full(const Shape& shape, Scalar value, DType dtype) {
  const Tensor x = Tensor::empty(shape, dtype);
  require(holds_without_fraction(dtype, value), "full", "expected a value that {} can hold, got {}", dtype, value);
  with_stored_type(dtype, [&]<class T>(T) {
    if (value == 0 && !std::signbit(value) &&
        pool::is_fresh(x.raw_data(), static_cast<std::size_t>(x.numel() * item_size(dtype)))) {
      return;
    }
    parallel_for(x.numel(), kFillGrain, [to = x.mutable_data<T>(), value = value.as<T>()](int64_t begin, int64_t end) {
      std::fill(to + begin, to + end, value);
    });
  });
  return x;
}

Tensor zeros(const Shape& shape, DType dtype) { return full(shape, 0, dtype); }
Tensor ones(const Shape& shape, DType dtype) { return full(shape, 1, dtype); }
Tensor zeros_like(const Tensor& x) { return zeros(x.shape(), x.dtype()); }
Tensor ones_like(const Tensor& x) { return ones(x.shape(), x.dtype()); }

Tensor full_like(const Tensor& x, Scalar value) { return full(x.shape(), value, x.dtype()); }
Tensor scalar(Scalar value, DType dtype) { return full({}, value, dtype); }

DType result_type(const Tensor& a, const Tensor& b) {
  const auto category = [](const Tensor& x) { return x.dtype() == kBool ? 0 : is_integer(x.dtype()) ? 1 : 2; };
  if (category(a) == category(b) && (a.dim() == 0) != (b.dim() == 0)) return a.dim() == 0 ? b.dtype() : a.dtype();
  return promoted_type(a.dtype(), b.dtype());
}

Tensor arange(int64_t stop, DType dtype) { return arange(0, stop, 1, dtype); }

namespace {

[[noreturn]] void fail_range(std::string_view what, Scalar start, Scalar stop, Scalar step) {
  fail("arange", fmt::format(fmt::runtime(what), str(start), str(stop), str(step)));
}

[[noreturn]] void fail_values(DType dtype, Scalar start, Scalar stop, Scalar step) {
  fail_range(fmt::format("expected values that {} can hold, got {{}} to {{}} in steps of {{}}", name(dtype)), start,
             stop, step);
}

double number_of_values(Scalar start, Scalar stop, Scalar step) {
  const double count = std::max(0.0, std::ceil((stop - start) / step));
  if (count > static_cast<double>(kMostOfRange)) {
    fail_range("from {} to {} in steps of {} has too many values", start, stop, step);
  }
  return count;
}

// Of an integer type, without rounding; start and step are int64.
Tensor whole_range(Scalar start, Scalar stop, Scalar step, DType dtype) {
  const auto bits = [](Scalar x) { return static_cast<uint64_t>(x.as<int64_t>()); };
  const bool up = step > 0, to_the_end = up && stop == 0x1p63 && start > -0x1p63;
  uint64_t count = 0;
  if (!stop.is_int64() && !to_the_end) {
    count = static_cast<uint64_t>(number_of_values(start, stop, step));
    if (count > 0 && !holds(dtype, std::trunc(start + static_cast<double>(count - 1) * step))) {
      fail_values(dtype, start, stop, step);
    }
  } else if (to_the_end || (up ? start.as<int64_t>() < stop.as<int64_t>() : start.as<int64_t>() > stop.as<int64_t>())) {
    const uint64_t distance = up ? bits(stop) - bits(start) : bits(start) - bits(stop);
    const uint64_t stride = up ? bits(step) : 0 - bits(step);
    count = distance / stride + (distance % stride != 0);
    if (count > kMostOfRange) fail_range("from {} to {} in steps of {} has too many values", start, stop, step);
  }
  const auto at = [&](uint64_t i) { return static_cast<int64_t>(bits(start) + i * bits(step)); };
  if (!holds(dtype, start) || !holds(dtype, Scalar(at(count > 0 ? count - 1 : 0)))) {
    fail_values(dtype, start, stop, step);
  }
  const Tensor x = Tensor::empty({static_cast<int64_t>(count)}, dtype);
  with_stored_type(dtype, [&]<class T>(T) {
    T* const out = x.mutable_data<T>();
    for (uint64_t i = 0; i < count; ++i) out[i] = static_cast<T>(at(i));
  });
  return made(x);
}

}  // namespace

Tensor arange(Scalar start, Scalar stop, Scalar step, DType dtype) {
  if (step == 0 || !std::isfinite(start) || !std::isfinite(stop) || !std::isfinite(step)) {
    fail_range("from {} to {} in steps of {} never ends", start, stop, step);
  }
  if (!is_floating(dtype)) {
    require(start == std::trunc(start) && step == std::trunc(step), "arange",
            "expected whole numbers for {0}, got {1} to {2} in steps of {3} (give the type: arange({1}, {2}, {3}, "
            "kFloat32))",
            dtype, start, stop, step);
    if (!stop.is_int64()) stop = step > 0 ? std::ceil(stop) : std::floor(stop);
    if (start.is_int64() && step.is_int64()) return whole_range(start, stop, step, dtype);
  }
  const double count = number_of_values(start, stop, step);
  if (!is_floating(dtype)) fail_values(dtype, start, stop, step);
  const Tensor x = Tensor::empty({static_cast<int64_t>(count)}, dtype);
  with_floating_type(dtype, [&]<class T>(T) {
    T* out = x.mutable_data<T>();
    for (int64_t i = 0; i < x.numel(); ++i) out[i] = static_cast<T>(start + static_cast<double>(i) * step);
  });
  return made(x);
}

Tensor linspace(double first, double last, int64_t count, DType dtype) {
  if (!is_floating(dtype)) fail("linspace", "expected float32 or float64, got {}", dtype);
  const Tensor x = Tensor::empty({count}, dtype);
  with_floating_type(dtype, [&]<class T>(T) {
    T* out = x.mutable_data<T>();
    // From both ends to the middle, as PyTorch does, so that the last value is exact.
    const T a = static_cast<T>(first), b = static_cast<T>(last);
    const T step = count > 1 ? (b - a) / static_cast<T>(count - 1) : T{0};
    for (int64_t i = 0; i < count; ++i) {
      out[i] = i < count / 2 ? a + step * static_cast<T>(i) : b - step * static_cast<T>(count - 1 - i);
    }
    if (count == 1) out[0] = a;
  });
  return made(x);
}

Tensor eye(int64_t n, DType dtype) {
  const Tensor x = zeros({n, n}, dtype);
  with_stored_type(dtype, [&]<class T>(T) {
    for (int64_t i = 0; i < n; ++i) x.mutable_data<T>()[i * n + i] = static_cast<T>(1);
  });
  return x;
}

Tensor from_data(const void* values, int64_t count, const Shape& shape, DType dtype) {
  const Tensor x = Tensor::empty(shape, dtype);
  require(x.numel() == count, "tensor", "expected {} values for shape {}, got {}", x.numel(), shape, count);
  if (count > 0) std::memcpy(x.mutable_raw_data(), values, static_cast<std::size_t>(count * item_size(dtype)));
  return made(x);
}

Tensor tensor(std::initializer_list<Literal> values, std::optional<DType> dtype) {
  Measured measured;
  measured.add(values, 0);
  const Shape& shape = measured.shape;
  const DType widest = shape.numel() == 0 ? kFloat32 : measured.dtype;
  const DType wanted = dtype.value_or(widest);
  // Via double, so that float32 rounds once and float64 not at all.
  const Tensor x = Tensor::empty(shape, is_integer(wanted) ? kInt64 : widest == kFloat32 ? kFloat64 : widest);
  with_type(x.dtype(), [&](auto t) { write(values, wanted, x.mutable_data<decltype(t)>()); });
  return made(x.to(wanted));
}

}  // namespace tapegrad
