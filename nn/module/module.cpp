// The walks through a model: names, modes, state in and out, counts.
#include <fmt/ranges.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/nn/module.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

namespace tapegrad::nn {

std::size_t Visitor::descend(std::string_view name) {
  const std::size_t length = path_.size();
  if (length > 0) path_ += '.';
  path_ += name;
  return length;
}
void Visitor::ascend(std::size_t length) { path_.resize(length); }

namespace detail {

namespace {

// A parameter or a buffer: writing to it writes to the model.
struct Entry {
  std::string name;
  Parameter* parameter;
  Buffer* buffer;
  std::vector<std::string> other_names;  // if it is tied
  std::string_view owner = {};           // the type of its module
  const Tensor& tensor() const { return parameter ? parameter->tensor() : buffer->tensor(); }
};

bool is_saved(const Entry& e) { return e.parameter || e.buffer->persistent(); }

bool is_real(DType dtype) { return is_floating(dtype) || is_half(dtype); }

class StateVisitor : public Visitor {
 public:
  std::vector<Entry> entries;

 private:
  void enter(std::string_view type, std::span<const std::byte>) override { types_.push_back(type); }
  void leave() override { types_.pop_back(); }
  void parameter(Parameter& p) override {
    add(&p.tensor(), {path(), &p, nullptr, {}, types_.empty() ? std::string_view() : types_.back()});
  }
  void buffer(Buffer& b) override { add(&b, {path(), nullptr, &b, {}}); }
  // One entry per leaf or buffer; further paths are its other names.
  void add(const void* member, Entry entry) {
    require(names_.insert(entry.name).second, "visit",
            "expected a different name for each member of a visit, got two members named \"{}\"", entry.name);
    const auto [at, is_new] = places_.emplace(member, entries.size());
    if (is_new) {
      entries.push_back(std::move(entry));
    } else {
      entries[at->second].other_names.push_back(std::move(entry.name));
    }
  }
  std::vector<std::string_view> types_;  // of the modules around
  std::unordered_set<std::string> names_;
  std::unordered_map<const void*, std::size_t> places_;
};

class ModeVisitor : public Visitor {
 public:
  std::vector<bool*> modes;

 private:
  void mode(bool& training) override { modes.push_back(&training); }
};

// Whether both have the same bits after conversion to `dtype`.
bool equal_values(const Tensor& a, const Tensor& b, DType dtype) {
  const Tensor x = a.detach().to(dtype).contiguous(), y = b.detach().to(dtype).contiguous();
  return std::memcmp(x.raw_data(), y.raw_data(), static_cast<std::size_t>(x.numel() * item_size(dtype))) == 0;
}

// In the order of the visits. Error for two members of one name.
std::vector<Entry> state_of(const AnyModel& model) {
  StateVisitor found;
  model.walk(found);
  return std::move(found.entries);
}

// The parameters' leaves and the buffers, with their paths.
class AddressVisitor : public Visitor {
 public:
  std::vector<std::pair<const void*, std::string>> found;

 private:
  void parameter(Parameter& p) override { found.emplace_back(&p.tensor(), path()); }
  void buffer(Buffer& b) override { found.emplace_back(&b, path()); }
};

}  // namespace

std::string_view checked_key(std::string_view key) {
  if (key.empty() || key.find('.') != std::string_view::npos)
    fail("dict", "expected the name of a module, without dots, got \"{}\"", key);
  return key;
}

void fail_key(std::string_view expected, std::string_view key, const std::vector<std::string>& keys) {
  std::string names;
  for (const std::string& name : keys) names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", name);
  fail("dict", "expected {}, got \"{}\" (it has {})", expected, key, names.empty() ? "no module" : names);
}

void require_separate(const AnyModel& clone, const AnyModel& model) {
  AddressVisitor copied, original;
  clone.walk(copied);
  model.walk(original);
  std::unordered_set<const void*> theirs;
  for (const auto& [address, path] : original.found) theirs.insert(address);
  for (const auto& [address, path] : copied.found) {
    require(!theirs.contains(address), "clone",
            "\"{}\" of the clone is the model's own: its visit names it through a pointer, which copies share (keep a "
            "module that a struct owns in it or in an nn::Optional, and tie() parameters that two modules share)",
            path);
  }
}

std::vector<NamedParameter> named_parameters(const AnyModel& model, bool rename) {
  std::vector<NamedParameter> out;
  for (Entry& e : state_of(model)) {
    if (!e.parameter) continue;
    if (rename) e.parameter->set_name(e.name, e.owner);
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

std::vector<bool*> modes_of(const AnyModel& model) {
  ModeVisitor found;
  model.walk(found);
  return std::move(found.modes);
}

void set_training(const AnyModel& model, bool training) {
  for (bool* mode : modes_of(model)) *mode = training;
}

void freeze(const AnyModel& model, bool frozen) {
  for (const Entry& e : state_of(model)) {
    if (e.parameter) e.parameter->freeze(frozen);
  }
}

void convert(const AnyModel& model, DType dtype) {
  if (!is_real(dtype)) fail("nn::to", "expected float32, float64, bfloat16 or float16, got {}", dtype);
  const std::vector<Entry> entries = state_of(model);
  for (const Entry& e : entries) {
    if (e.parameter) e.tensor().require_writable("nn::to", e.name);
  }
  for (const Entry& e : entries) e.parameter ? e.parameter->convert(dtype) : e.buffer->convert(dtype);
}

NamedTensors state_dict(const AnyModel& model) {
  require_whole_visit(model);
  NamedTensors state;
  for (Entry& e : state_of(model))
    if (is_saved(e)) state.push_back({std::move(e.name), e.tensor().view(e.tensor().shape(), e.tensor().strides())});
  return state;
}

namespace {

// What a state has for the entries of a model, and what does not fit.
struct Matched {
  std::vector<std::pair<const Entry*, Tensor>> found;
  std::vector<std::string> wrong;
  LoadReport report;
};

class Matching {
 public:
  explicit Matching(const NamedTensors& state) {
    for (const NamedTensor& t : state) {
      if (!t.tensor.defined()) fail("load_state_dict", "expected a tensor for \"{}\", got an empty handle", t.name);
      if (!given_.emplace(t.name, &t.tensor).second) all_.wrong.push_back(fmt::format("\"{}\" is given twice", t.name));
    }
  }

  // What the state has under the name of the entry, or under that of a parameter that is tied to it.
  void find(const Entry& e) {
    std::optional<Tensor> values = take(e, e.name);
    std::string_view from = e.name;
    for (const std::string& other : e.other_names) {
      const std::size_t errors = all_.wrong.size();
      const std::optional<Tensor> more = take(e, other);
      if (!more) continue;
      if (!values) {
        values = more;
        from = other;
      } else if (all_.wrong.size() == errors && values->shape() == more->shape() &&
                 !equal_values(*values, *more, e.tensor().dtype())) {
        all_.wrong.push_back(fmt::format("\"{}\" and \"{}\" are tied, but their values differ", from, other));
      }
    }
    if (values) {
      all_.found.emplace_back(&e, std::move(*values));
    } else {
      all_.report.missing.push_back(e.name);
    }
  }

  Matched end(const NamedTensors& state) {
    for (const NamedTensor& t : state)
      if (given_.erase(t.name) > 0) all_.report.unexpected.push_back(t.name);
    return std::move(all_);
  }

 private:
  // Takes what the state has under `name` if it fits the entry.
  std::optional<Tensor> take(const Entry& e, const std::string& called) {
    const auto at = given_.find(called);
    if (at == given_.end()) return {};
    const Tensor& values = *at->second;
    if (!(values.shape() == e.tensor().shape())) {
      all_.wrong.push_back(
          fmt::format("expected shape {} for \"{}\", got {}", str(e.tensor().shape()), called, str(values.shape())));
    } else if (is_real(values.dtype()) != is_real(e.tensor().dtype())) {
      all_.wrong.push_back(
          fmt::format("expected {} for \"{}\", got {}", name(e.tensor().dtype()), called, name(values.dtype())));
    }
    given_.erase(at);
    return values.detach();  // a leaf shares its memory
  }

  std::unordered_map<std::string_view, const Tensor*> given_;
  Matched all_;
};

}  // namespace

LoadReport load_state_dict(const AnyModel& model, const NamedTensors& state, bool strict) {
  const std::vector<Entry> entries = state_of(model);
  Matching matching(state);
  for (const Entry& e : entries)
    if (is_saved(e)) matching.find(e);
  auto [found, wrong, report] = matching.end(state);
  if (strict) {
    for (const std::string& n : report.missing) wrong.push_back(fmt::format("\"{}\" is missing", n));
    for (const std::string& n : report.unexpected) wrong.push_back(fmt::format("\"{}\" is unexpected", n));
  }
  if (!wrong.empty()) fail("load_state_dict", "the state does not fit the model: {}", fmt::join(wrong, "; "));
  for (const Entry& e : entries) {
    if (e.parameter) e.parameter->set_name(e.name, e.owner);
  }
  for (const auto& [entry, values] : found) {
    if (entry->parameter) entry->tensor().require_writable("load_state_dict", entry->name);
  }
  for (const auto& [entry, values] : found) {
    entry->parameter ? entry->parameter->set(values) : entry->buffer->set(values);
  }
  return report;
}

int64_t count_parameters(const AnyModel& model, bool frozen_too) {
  int64_t sum = 0;
  for (const Entry& e : state_of(model)) {
    if (e.parameter && (frozen_too || !e.parameter->frozen())) sum += e.tensor().numel();
  }
  return sum;
}

}  // namespace detail

EvalMode::EvalMode(const detail::AnyModel& model) : model_(model) {
  for (const bool* mode : detail::modes_of(model)) before_.push_back(*mode);
  detail::set_training(model, false);
}

EvalMode::~EvalMode() {
  const std::vector<bool*> modes = detail::modes_of(model_);
  for (std::size_t i = 0; i < std::min(modes.size(), before_.size()); ++i) *modes[i] = before_[i];
}

}  // namespace tapegrad::nn
