// Places the operations of a tape in modules, by the names of parameters.
// build: -Os
#include <tapegrad/autograd/detail/module_places.h>
#include <tapegrad/autograd/detail/profile_log.h>
#include <tapegrad/autograd/internal/tape_modules.h>

#include <algorithm>
#include <optional>

namespace tapegrad {
namespace {

bool begins_index(const std::string& path, std::size_t at) {
  return at < path.size() && path[at] >= '0' && path[at] <= '9';
}

// The innermost module that has both. A list is not a module: what lies between two of its elements is of the module
// that has the list.
std::string common_of(const std::string& a, const std::string& b) {
  const std::string common(detail::common_module(a, b));
  return !common.empty() && begins_index(a, common.size() + 1) ? module_of_parameter(common) : common;
}

// "encoder.layers.0" of "encoder.layers.0.norm": the outermost element of a list. "" where there is none.
std::string block_of(const std::string& path) {
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    if (begin > 0 && begins_index(path, begin)) return path.substr(0, end);
    begin = end + 1;
  }
  return {};
}

bool is_leaf(const Tape& tape, int64_t i) { return tape.op_name(i) == "leaf"; }

class Places {
 public:
  Places(const Tape& tape, const std::vector<std::string>& names) : tape_(tape), names_(names) {
    const auto own = [this](std::size_t i) { return own_module(static_cast<int64_t>(i)); };
    modules_ = detail::modules_of_nodes<std::string>(static_cast<std::size_t>(tape.size()), own, common_of);
    end_blocks();
  }
  std::vector<std::string> take() { return std::move(modules_); }

 private:
  // Of the named parameters that an operation uses.
  std::optional<std::string> own_module(int64_t i) const {
    std::optional<std::string> found;
    for (const int64_t from : tape_.inputs_of(i)) {
      if (from < 0 || names_[static_cast<std::size_t>(from)].empty()) continue;
      const std::string module = module_of_parameter(names_[static_cast<std::size_t>(from)]);
      found = found ? common_of(*found, module) : module;
    }
    return found;
  }

  // Between two blocks, what continues the first one's output in its shape belongs to it: its last dropout and residual
  // sum, whose other input is older.
  void end_blocks() {
    for (int64_t i = 0; i < tape_.size(); ++i) {
      if (is_leaf(tape_, i) || own_module(i)) continue;
      int64_t last = -1;
      for (const int64_t from : tape_.inputs_of(i))
        if (from > last && !is_leaf(tape_, from)) last = from;
      if (last < 0 || tape_.shape_of(last) != tape_.shape_of(i)) continue;
      const std::string block = block_of(modules_[static_cast<std::size_t>(last)]);
      std::string& module = modules_[static_cast<std::size_t>(i)];
      if (own_module(last) != block && block.starts_with(module)) module = block;  // a layer is no block
    }
  }

  const Tape& tape_;
  const std::vector<std::string>& names_;
  std::vector<std::string> modules_;
};

}  // namespace

std::string module_of_parameter(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos ? "" : name.substr(0, dot);
}

std::vector<std::string> names_of_leaves(const Tape& tape,
                                         const std::function<std::string(const TapeIndex& leaf)>& name_of) {
  std::vector<std::string> names(static_cast<std::size_t>(tape.size()));
  std::size_t next = 0;
  for (const Tensor& leaf : tape.leaves()) {
    while (!is_leaf(tape, static_cast<int64_t>(next))) ++next;
    names[next++] = name_of(leaf.tape_index());
  }
  return names;
}

std::vector<std::string> modules_of(const Tape& tape, const std::vector<std::string>& names) {
  return Places(tape, names).take();
}

}  // namespace tapegrad
