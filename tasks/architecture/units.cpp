// Chooses the modules that are parts, and gives each operation to one.
#include <tapegrad/tasks/architecture/units.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

namespace tapegrad::tasks::architecture {
namespace {

using nn::WatchedMember;
using nn::WatchedOperation;

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// "layers.0" within its module: an element of a list. Those of a Sequential are "0".
bool is_element(const WatchedMember& m) {
  const std::size_t dot = m.name.rfind('.');
  return m.kind == WatchedMember::Kind::module && dot != std::string::npos && is_number(m.name.substr(dot + 1));
}

bool is_layer_of_nn(const WatchedMember& m) { return m.code.starts_with("nn::"); }

// Positions that a model leaves out have no code.
bool is_left_out(const WatchedMember& m) {
  return m.type == "Dropout" || (m.code.empty() && (m.type == "AddedPositions" || m.type == "RelativePositions"));
}

// Whether an operation only shows its input in another shape or order.
bool is_view(const WatchedOperation& op) {
  constexpr std::array<std::string_view, 8> kViews{"reshape", "transpose", "permute", "slice",
                                                   "select",  "expand",    "squeeze", "contiguous"};
  return std::ranges::find(kViews, op.name) != kViews.end();
}

class Units {
 public:
  explicit Units(const nn::Watched& seen) : seen_(seen), is_box_(seen.members.size(), false) {
    if (!seen.members.empty()) choose(0, false);
    group();
    for (const WatchedMember& member : seen.members) ends_.insert(member.output);
    for (std::size_t m = 0; m < seen.members.size(); ++m)
      if (is_box_[m] && !is_left_out(seen.members[m])) claim(m);
  }

  std::vector<Unit> take() {
    std::erase_if(units_, [](const Unit& unit) { return unit.operations.empty(); });  // those that were claimed
    find_outputs();
    std::ranges::sort(units_, {}, &Unit::output);
    number_units();
    connect();
    for (std::size_t m = 0; m < seen_.members.size(); ++m) {
      const WatchedMember& member = seen_.members[m];
      if (member.kind == WatchedMember::Kind::module && member.type == "Dropout" && is_box_[m]) attach(m);
      if (is_box_[m] && member.type == "RelativePositions" && !is_left_out(member) && !unit_of(m))
        units_.insert(units_.begin(), Unit{.module = m, .path = member.path});
    }
    return std::move(units_);
  }

 private:
  // --- which modules are parts ---

  std::size_t end_of(std::size_t m) const {
    std::size_t end = m + 1;
    while (end < seen_.members.size() && seen_.members[end].depth > seen_.members[m].depth) ++end;
    return end;
  }
  std::vector<std::size_t> modules_in(std::size_t m) const {
    std::vector<std::size_t> inner;
    for (std::size_t i = m + 1; i < end_of(m); ++i) {
      const WatchedMember& member = seen_.members[i];
      if (member.kind == WatchedMember::Kind::module && member.depth == seen_.members[m].depth + 1) inner.push_back(i);
    }
    return inner;
  }
  std::size_t parent_of(std::size_t m) const {
    std::size_t parent = m;
    while (parent > 0 && seen_.members[parent].depth >= seen_.members[m].depth) --parent;
    return parent;
  }

  // Opens what only holds other modules. Inside of a layer, that is what has a single one with parameters.
  void choose(std::size_t m, bool in_layer) {
    const std::vector<std::size_t> inner = modules_in(m);
    const auto with_parameters =
        std::ranges::count_if(inner, [this](std::size_t i) { return seen_.members[i].count > 0; });
    const bool opens = !inner.empty() && !is_layer_of_nn(seen_.members[m]) && (!in_layer || with_parameters < 2);
    is_box_[m] = !opens;
    if (opens)
      for (const std::size_t i : inner) choose(i, in_layer || is_element(seen_.members[m]));
  }

  std::size_t box_of(std::string path) const {
    while (true) {
      const auto found = boxes_.find(path);
      if (found != boxes_.end()) return found->second;
      if (path.empty()) return Unit::kNone;
      const std::size_t dot = path.rfind('.');
      path.resize(dot == std::string::npos ? 0 : dot);
    }
  }

  // --- which operations are theirs ---

  const WatchedOperation& operation(std::size_t i) const { return seen_.operations[i]; }
  // Through operations between parts that only show their input.
  int64_t source(int64_t i) const { return i < 0 ? i : source_[static_cast<std::size_t>(i)]; }

  // A program's own module may end with operations on what its layers gave, and only on that; so may relative
  // positions.
  std::size_t continued(const WatchedOperation& op, std::size_t box) const {
    if (box != Unit::kNone) return box;
    std::size_t common = Unit::kNone;
    for (const int64_t input : op.inputs) {
      if (input < 0) continue;
      const std::size_t u = unit_[static_cast<std::size_t>(source(input))];
      const std::size_t module = u == Unit::kNone ? Unit::kNone : units_[u].module;
      if (module == Unit::kNone || (common != Unit::kNone && common != module)) return Unit::kNone;
      const WatchedMember& m = seen_.members[module];
      if ((is_layer_of_nn(m) && m.type != "RelativePositions") || m.count == 0) return Unit::kNone;
      common = module;
    }
    return common;
  }

  void group() {
    for (std::size_t m = 0; m < is_box_.size(); ++m)
      if (is_box_[m]) boxes_.emplace(seen_.members[m].path, m);
    std::map<std::size_t, std::size_t> open;                            // the unit of each module
    std::vector<std::set<std::size_t>> needs(seen_.operations.size());  // the units that an operation depends on
    unit_.assign(seen_.operations.size(), Unit::kNone);
    for (std::size_t i = 0; i < seen_.operations.size(); ++i) {
      const WatchedOperation& op = operation(i);
      source_.push_back(static_cast<int64_t>(i));
      if (op.name == "leaf") continue;
      const std::size_t box = continued(op, box_of(op.module));
      if (box == Unit::kNone && is_view(op) && op.inputs[0] >= 0) {
        source_[i] = source(op.inputs[0]);
        continue;
      }
      bool runs_again = false;  // on what its result was used for: a table that is also the head
      const auto opened = box == Unit::kNone ? open.end() : open.find(box);
      for (const int64_t input : op.inputs) {
        if (input < 0) continue;
        const auto from = static_cast<std::size_t>(source(input));
        if (unit_[from] == Unit::kNone) continue;
        if (opened != open.end() && unit_[from] != opened->second && needs[from].contains(opened->second))
          runs_again = true;
        needs[i].insert(needs[from].begin(), needs[from].end());
        needs[i].insert(unit_[from]);
      }
      if (opened == open.end() || runs_again) {
        again_.push_back(runs_again);
        units_.push_back({.module = box, .path = box == Unit::kNone ? op.module : seen_.members[box].path});
        if (box != Unit::kNone) open[box] = units_.size() - 1;
      }
      unit_[i] = box == Unit::kNone ? units_.size() - 1 : open[box];
      units_[unit_[i]].operations.push_back(i);
    }
  }

  const Unit* unit_of(std::size_t module) const {
    const auto found = std::ranges::find(units_, module, &Unit::module);
    return found == units_.end() ? nullptr : &*found;
  }

  // A module whose output is known has the operations that lead to it and are no other module's: a function in a
  // Sequential, what is added for positions, a head that is tied to a table.
  void claim(std::size_t m) {
    std::vector<int64_t> next{seen_.members[m].output};
    std::size_t mine = unit_of(m) == nullptr ? Unit::kNone : static_cast<std::size_t>(unit_of(m) - units_.data());
    if (mine != Unit::kNone && seen_.members[m].type == "AddedPositions") {  // which begin with the embeddings
      for (const std::size_t op : units_[mine].operations)
        for (const int64_t input : operation(op).inputs) next.push_back(source(input));
    }
    while (!next.empty()) {
      const int64_t i = next.back();
      next.pop_back();
      const std::size_t u = i < 0 ? Unit::kNone : unit_[static_cast<std::size_t>(i)];
      if (u == Unit::kNone || u == mine || (units_[u].module != Unit::kNone && !again_[u])) continue;
      if (i != seen_.members[m].output && ends_.contains(i)) continue;
      for (const std::size_t op : units_[u].operations)
        for (const int64_t input : operation(op).inputs) next.push_back(source(input));
      if (mine == Unit::kNone) {
        mine = u;
        units_[u].module = m;
        units_[u].path = seen_.members[m].path;
        again_[u] = false;
        continue;
      }
      std::vector<std::size_t>& own = units_[mine].operations;
      for (const std::size_t op : units_[u].operations) unit_[op] = mine;
      own.insert(own.end(), units_[u].operations.begin(), units_[u].operations.end());
      std::ranges::sort(own);
      units_[u].operations.clear();
    }
  }

  // --- what they read ---

  void number_units() {
    for (std::size_t u = 0; u < units_.size(); ++u)
      for (const std::size_t i : units_[u].operations) unit_[i] = u;
  }

  // What another unit reads first, or else the last result.
  void find_outputs() {
    number_units();
    for (std::size_t i = 0; i < unit_.size(); ++i) {
      if (unit_[i] == Unit::kNone) continue;
      for (const int64_t input : operation(i).inputs) {
        const int64_t from = source(input);
        if (from < 0 || unit_[static_cast<std::size_t>(from)] == unit_[i]) continue;
        if (operation(static_cast<std::size_t>(from)).name == "leaf") continue;
        int64_t& output = units_[unit_[static_cast<std::size_t>(from)]].output;
        if (output < 0) output = from;
      }
    }
    for (Unit& unit : units_)
      if (unit.output < 0) unit.output = static_cast<int64_t>(unit.operations.back());
  }

  void connect() {
    std::map<std::string, std::size_t> places;  // of parameters
    for (std::size_t m = 0; m < seen_.members.size(); ++m)
      if (seen_.members[m].kind == WatchedMember::Kind::parameter) places.emplace(seen_.members[m].path, m);
    std::set<std::size_t> counted;  // modules and parameters
    for (std::size_t u = 0; u < units_.size(); ++u) {
      Unit& unit = units_[u];
      if (unit.module != Unit::kNone && counted.insert(unit.module).second) {
        for (std::size_t m = unit.module; m < end_of(unit.module); ++m)
          if (seen_.members[m].kind == WatchedMember::Kind::parameter) unit.parameters.push_back(m);
      }
      std::set<int64_t> read;
      for (const std::size_t i : unit.operations) {
        for (const int64_t input : operation(i).inputs) {
          const int64_t from = source(input);
          if (from < 0) continue;
          const auto at = static_cast<std::size_t>(from);
          if (operation(at).name != "leaf") {
            if (unit_[at] != u) read.insert(from);
          } else if (unit.module == Unit::kNone && box_of(operation(at).module) == Unit::kNone) {
            const auto found = places.find(operation(at).module);
            if (found != places.end() && counted.insert(found->second).second) unit.parameters.push_back(found->second);
          }
        }
      }
      unit.inputs.assign(read.rbegin(), read.rend());
    }
  }

  // Dropout records nothing in eval mode. In a layer it acts on what is added to the flow.
  void attach(std::size_t m) {
    const WatchedMember& dropout = seen_.members[m];
    const Layer layer = layer_of(seen_, dropout.path);
    if (!layer.list.empty()) {
      for (Unit& unit : units_)
        if (unit.module == Unit::kNone && layer_of(seen_, unit.path) == layer && unit.dropouts.empty())
          unit.dropouts.push_back(dropout.name.substr(dropout.name.rfind('.') + 1));
      return;
    }
    const std::vector<std::size_t> inner = modules_in(parent_of(m));
    for (auto before = inner.rbegin(); before != inner.rend(); ++before) {
      if (*before >= m) continue;
      for (Unit& unit : units_) {
        if (unit.module != *before || seen_.members[*before].type == "RelativePositions") continue;
        unit.dropouts.push_back(dropout.code);
        return;
      }
    }
  }

  const nn::Watched& seen_;
  std::vector<bool> is_box_;
  std::map<std::string, std::size_t> boxes_;  // by path
  std::vector<Unit> units_;
  std::vector<bool> again_;        // by unit: the module has an earlier one
  std::vector<std::size_t> unit_;  // by operation
  std::vector<int64_t> source_;    // by operation
  std::set<int64_t> ends_;         // outputs of modules
};

}  // namespace

std::vector<Unit> units_of(const nn::Watched& seen) { return Units(seen).take(); }

Layer layer_of(const nn::Watched& seen, std::string_view path) {
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    if (begin > 0 && is_number(path.substr(begin, end - begin))) {
      const std::string_view list = path.substr(0, begin - 1);
      const bool is_module = std::ranges::any_of(seen.members, [&](const WatchedMember& m) {
        return m.kind == WatchedMember::Kind::module && m.path == list;
      });
      if (!is_module) return {std::string(list), std::stoll(std::string(path.substr(begin, end - begin)))};
    }
    begin = end + 1;
  }
  return {};
}

std::vector<std::string> stack_paths(const nn::Watched& seen) {
  std::vector<std::string> paths;
  for (const WatchedMember& m : seen.members) {
    if (m.kind != WatchedMember::Kind::module || m.depth != 1 || is_element(m)) continue;
    const bool has_list = std::ranges::any_of(seen.members, [&](const WatchedMember& inner) {
      return is_element(inner) && inner.depth == 2 && is_in(inner.path, m.path);
    });
    if (has_list) paths.push_back(m.path);
  }
  return paths;
}

bool is_in(std::string_view path, std::string_view module) {
  return path.starts_with(module) && (path.size() == module.size() || module.empty() || path[module.size()] == '.');
}

}  // namespace tapegrad::tasks::architecture
