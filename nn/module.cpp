// Parameters and buffers, and the walks through a model: names, modes, state in and out, counts, the summary.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/module.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <unordered_map>

namespace tapegrad::nn {

namespace {

std::atomic<int64_t> alive_parameters{0};
thread_local int clone_scopes = 0;

// `values` itself when nobody else can see it.
Tensor own(Tensor&& values) {
  if (values.unique() && values.is_contiguous() && values.tape_index().tape == 0) return std::move(values);
  return values.clone();
}

// What gradients can be computed for becomes a leaf.
Tensor leaf_of(const Tensor& values) { return is_floating(values.dtype()) ? values.as_leaf() : values; }

void require_clone(std::string_view what) {
  if (clone_scopes == 0) fail(what, "a model was copied, which copies every parameter (move it, or use clone(model))");
}

bool is_real(DType dtype) { return is_floating(dtype) || dtype == kBFloat16; }

std::string quoted(std::string_view name) { return name.empty() ? "a parameter" : fmt::format("\"{}\"", name); }

}  // namespace

// --- Parameter ---

Parameter::Parameter(Tensor&& values, Adopt) : leaf_(own(std::move(values)).as_leaf()) {
  alive_parameters.fetch_add(1, std::memory_order_relaxed);
}

Parameter::Parameter(Parameter& other) : name_(other.name_) {
  require_clone("parameter");
  if (!other.defined()) return;
  leaf_ = leaf_of(other.leaf_.clone());
  alive_parameters.fetch_add(1, std::memory_order_relaxed);
}

Parameter& Parameter::operator=(Parameter&& other) noexcept {
  std::swap(leaf_, other.leaf_);
  std::swap(name_, other.name_);
  return *this;
}

Parameter::~Parameter() {
  if (defined()) alive_parameters.fetch_sub(1, std::memory_order_relaxed);
}

int64_t Parameter::alive() { return alive_parameters.load(std::memory_order_relaxed); }

void Parameter::prepare_write(Tensor::Values values) {
  // What is no leaf (bfloat16, or substituted) is immutable for whoever else holds it.
  if (!leaf_.is_leaf() && !leaf_.unique()) leaf_ = leaf_.clone();
  leaf_.prepare_write("parameter", name_, values);
}

void Parameter::substitute(const Tensor& values) {
  if (!(values.shape() == leaf_.shape())) {
    fail("parameter", fmt::format("{} has shape {}, got a tensor of shape {} to substitute", quoted(name_),
                                  str(leaf_.shape()), str(values.shape())));
  }
  if (!is_floating(values.dtype())) {
    fail("parameter", fmt::format("expected float32 or float64 values to substitute for {}, got {}", quoted(name_),
                                  tapegrad::name(values.dtype())));
  }
  leaf_ = values;
}

void Parameter::set(const Tensor& values) {
  if (!(values.shape() == leaf_.shape())) {
    fail("parameter", fmt::format("{} has shape {}, values of shape {} were given", quoted(name_), str(leaf_.shape()),
                                  str(values.shape())));
  }
  leaf_.require_writable("parameter", name_);
  // Keeps the memory that it shares with the leaf. All that needs memory comes before the values are given up.
  const Tensor source = values.dtype() == leaf_.dtype() ? values.detach() : values.detach().to(leaf_.dtype());
  prepare_write(Tensor::Values::discard);
  copy_into(leaf_, source);
}

void Parameter::convert(DType dtype) {
  if (dtype == leaf_.dtype()) return;
  prepare_write(Tensor::Values::keep);
  if (!is_floating(dtype) && dtype != kBFloat16) {
    fail("parameter", fmt::format("{} cannot be converted to {} (expected float32, float64 or bfloat16)", quoted(name_),
                                  tapegrad::name(dtype)));
  }
  leaf_ = leaf_of(leaf_.detach().to(dtype));
}

// --- Buffer ---

Buffer::Buffer(Tensor&& values, Adopt) : values_(own(std::move(values))) {}

Buffer::Buffer(Buffer& other) {
  require_clone("buffer");
  if (other.defined()) values_ = other.values_.clone();
}

void Buffer::set(const Tensor& values) {
  if (!(values.shape() == values_.shape())) {
    fail("buffer", fmt::format("values of shape {} were given for a buffer of shape {}", str(values.shape()),
                               str(values_.shape())));
  }
  values_ = values.dtype() == values_.dtype() ? values.clone() : values.detach().to(values_.dtype());
}

void Buffer::convert(DType dtype) {
  if (is_real(values_.dtype())) values_ = values_.detach().to(dtype);
}

// --- walks ---

namespace detail {

namespace {

// A parameter or a buffer: writing to it writes to the model.
struct Entry {
  std::string name;
  Parameter* parameter;
  Buffer* buffer;
  const void* member() const { return parameter ? static_cast<const void*>(parameter) : buffer; }
  const Tensor& tensor() const { return parameter ? parameter->tensor() : buffer->tensor(); }
};

class StateVisitor : public Visitor {
 public:
  std::vector<Entry> entries;

 private:
  void parameter(Parameter& p) override { entries.push_back({path(), &p, nullptr}); }
  void buffer(Buffer& b) override { entries.push_back({path(), nullptr, &b}); }
};

class ModeVisitor : public Visitor {
 public:
  explicit ModeVisitor(bool training) : training_(training) {}

 private:
  void mode(bool& training) override { training = training_; }
  bool training_;
};

// Error unless every entry has a member and a name of its own.
void require_distinct(const std::vector<Entry>& entries) {
  std::vector<const Entry*> order;
  for (const Entry& e : entries) order.push_back(&e);
  const auto twice = [&order](const auto& key) {
    std::stable_sort(order.begin(), order.end(), [&](const Entry* a, const Entry* b) { return key(a) < key(b); });
    const auto at = std::adjacent_find(order.begin(), order.end(),
                                       [&](const Entry* a, const Entry* b) { return key(a) == key(b); });
    return at == order.end() ? order.end() : at;
  };
  if (const auto at = twice([](const Entry* e) { return e->member(); }); at != order.end()) {
    fail("visit", fmt::format("{} \"{}\" is visited twice, the second time as \"{}\" (name it in one module, and pass "
                              "it to the other as an argument)",
                              (*at)->parameter ? "parameter" : "buffer", (*at)->name, at[1]->name));
  }
  if (const auto at = twice([](const Entry* e) -> const std::string& { return e->name; }); at != order.end()) {
    fail("visit", fmt::format("two members are named \"{}\" (the names in one visit must differ)", (*at)->name));
  }
}

std::vector<Entry> state_of(const AnyModel& model) {
  StateVisitor found;
  model.walk(found);
  require_distinct(found.entries);
  return std::move(found.entries);
}

}  // namespace

CloneScope::CloneScope() { ++clone_scopes; }
CloneScope::~CloneScope() { --clone_scopes; }

std::vector<NamedParameter> named_parameters(const AnyModel& model, bool rename) {
  std::vector<NamedParameter> out;
  for (Entry& e : state_of(model)) {
    if (!e.parameter) continue;
    if (rename && e.parameter->name() != e.name) e.parameter->set_name(e.name);
    out.push_back({std::move(e.name), *e.parameter});
  }
  return out;
}

std::vector<NamedBuffer> named_buffers(const AnyModel& model) {
  std::vector<NamedBuffer> out;
  for (Entry& e : state_of(model)) {
    if (e.buffer) out.push_back({std::move(e.name), *e.buffer});
  }
  return out;
}

void set_training(const AnyModel& model, bool training) {
  ModeVisitor visitor(training);
  model.walk(visitor);
}

void convert(const AnyModel& model, DType dtype) {
  if (!is_real(dtype)) fail("to", fmt::format("expected float32, float64 or bfloat16, got {}", name(dtype)));
  const std::vector<Entry> entries = state_of(model);
  for (const Entry& e : entries) {
    if (e.parameter) e.tensor().require_writable("to", e.name);
  }
  for (const Entry& e : entries) e.parameter ? e.parameter->convert(dtype) : e.buffer->convert(dtype);
}

NamedTensors state_dict(const AnyModel& model) {
  NamedTensors state;
  for (Entry& e : state_of(model))
    state.push_back({std::move(e.name), e.tensor().view(e.tensor().shape(), e.tensor().strides())});
  return state;
}

LoadReport load_state_dict(const AnyModel& model, const NamedTensors& state, bool strict) {
  const std::vector<Entry> entries = state_of(model);
  LoadReport report;
  std::vector<std::string> wrong;
  std::unordered_map<std::string_view, const Tensor*> given;
  for (const NamedTensor& t : state) {
    if (!given.emplace(t.name, &t.tensor).second) wrong.push_back(fmt::format("\"{}\" is given twice", t.name));
  }
  std::vector<std::pair<const Entry*, Tensor>> found;  // detached: shares memory with a leaf that it is
  for (const Entry& e : entries) {
    const auto at = given.find(e.name);
    if (at == given.end()) {
      report.missing.push_back(e.name);
      continue;
    }
    if (!(at->second->shape() == e.tensor().shape())) {
      wrong.push_back(fmt::format("expected shape {} for \"{}\", got {}", str(e.tensor().shape()), e.name,
                                  str(at->second->shape())));
    } else if (is_real(at->second->dtype()) != is_real(e.tensor().dtype())) {
      wrong.push_back(
          fmt::format("expected {} for \"{}\", got {}", name(e.tensor().dtype()), e.name, name(at->second->dtype())));
    }
    found.emplace_back(&e, at->second->detach());
    given.erase(at);
  }
  for (const NamedTensor& t : state) {
    if (given.erase(t.name) > 0) report.unexpected.push_back(t.name);
  }
  if (strict) {
    for (const std::string& n : report.missing) wrong.push_back(fmt::format("\"{}\" is missing", n));
    for (const std::string& n : report.unexpected) wrong.push_back(fmt::format("\"{}\" is unexpected", n));
  }
  if (!wrong.empty())
    fail("load_state_dict", fmt::format("the state does not fit the model: {}", fmt::join(wrong, "; ")));
  for (const Entry& e : entries) {
    if (e.parameter) e.parameter->set_name(e.name);
  }
  for (const auto& [entry, values] : found) {
    if (entry->parameter) entry->tensor().require_writable("load_state_dict", entry->name);
  }
  for (const auto& [entry, values] : found) {
    entry->parameter ? entry->parameter->set(values) : entry->buffer->set(values);
  }
  return report;
}

int64_t count_parameters(const AnyModel& model) {
  int64_t sum = 0;
  for (const Entry& e : state_of(model)) sum += e.parameter ? e.tensor().numel() : 0;
  return sum;
}

std::string summary(const AnyModel& model) {
  const std::vector<Entry> entries = state_of(model);
  std::size_t names = 4, shapes = 5;
  for (const Entry& e : entries) {
    names = std::max(names, e.name.size());
    shapes = std::max(shapes, str(e.tensor().shape()).size());
  }
  std::string table = fmt::format("{:<{}}  {:<{}}  {:>12}\n", "name", names, "shape", shapes, "count");
  for (const Entry& e : entries) {
    table += fmt::format("{:<{}}  {:<{}}  {:>12}{}\n", e.name, names, str(e.tensor().shape()), shapes,
                         e.tensor().numel(), e.parameter ? "" : "  (buffer)");
  }
  return table + fmt::format("{:<{}}  {:<{}}  {:>12}\n", "parameters", names, "", shapes, count_parameters(model));
}

}  // namespace detail

}  // namespace tapegrad::nn
