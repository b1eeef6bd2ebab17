// Finds the parts of a model in a watched pass: which operations belong together, in which order, and what they read.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tasks/architecture/architecture.h>
#include <tapegrad/tasks/architecture/looks.h>
#include <tapegrad/tasks/architecture/units.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/tables.h>

#include <algorithm>
#include <limits>

namespace tapegrad::tasks::architecture {
namespace {

constexpr const char* kArchitecture = "architecture";

// "encoder": "Encoder"
std::string capitalised(std::string name) {
  if (!name.empty() && name[0] >= 'a' && name[0] <= 'z') name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name;
}

// "a.b" of "a.b.c", and "a" of "a.list.0": an element of a list that is a part by itself is in no layer.
std::string parent_path(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}

// Whether the first query of this attention sees nothing of the last key.
bool hides_later(const nn::Watched& seen, const Unit& unit) {
  for (const std::size_t i : unit.operations) {
    const nn::WatchedOperation& op = seen.operations[i];
    const bool weights = op.name == "softmax";
    if (!weights && op.name != "scaled_dot_product_attention") continue;
    Tensor m = op.value;
    if (!weights) {
      if (op.inputs.size() < 4) continue;
      m = op.inputs[3] < 0 ? op.constants[3] : seen.operations[static_cast<std::size_t>(op.inputs[3])].value;
    }
    if (!m.defined() || m.dim() < 2 || m.size(-1) < 2 || m.size(-2) < 2) continue;
    const double last = m.reshape({-1, m.size(-2), m.size(-1)}).select(0, 0).select(0, 0).select(0, -1).item();
    if (last == (weights || m.dtype() == kBool ? 0 : -std::numeric_limits<double>::infinity())) return true;
  }
  return false;
}

class Parts {
 public:
  Parts(const nn::Watched& seen, std::string_view title, std::vector<Tensor> inputs, std::vector<Stack> stacks)
      : seen_(seen), units_(units_of(seen)), counted_(seen.members.size(), false) {
    model_.title = title;
    model_.parameters = seen.members.empty() ? 0 : seen.members[0].count;
    model_.result = seen.result;
    model_.inputs = std::move(inputs);
    name_stacks(std::move(stacks));
  }

  Architecture take() {
    for (std::size_t u = 0; u < units_.size(); ++u) add(u);
    for (Column& column : columns_) join_layers(column);
    std::size_t index = 0;
    for (Column& column : columns_) {
      for (Entry& entry : column.entries) column.stack.parts.push_back(std::move(entry.part));
      for (const std::size_t module : beside_)
        if (stack_of(seen_.members[module].path) == index) add_beside(column, seen_.members[module]);
      model_.stacks.push_back(std::move(column.stack));
      ++index;
    }
    require_all_counted();
    return std::move(model_);
  }

 private:
  // A part while its stack is read.
  struct Entry {
    Part part = {};
    int64_t input = -1, output = -1;  // operations
    Layer layer = {};
  };
  struct Column {
    Stack stack;
    std::string path;  // of its module, "" for the whole model
    Shape input = {};
    std::vector<Entry> entries = {};
  };

  void name_stacks(std::vector<Stack> about) {
    std::vector<std::string> paths = stack_paths(seen_);
    if (paths.size() < 2 || (!about.empty() && about.size() != paths.size())) paths = {""};
    for (std::size_t i = 0; i < paths.size(); ++i) {
      Column column{.stack = i < about.size() ? std::move(about[i]) : Stack{.name = capitalised(paths[i])},
                    .path = paths[i]};
      if (i < model_.inputs.size()) {
        column.input = model_.inputs[i].shape();
        column.stack.input_shape = shape_text(column, column.input);
      }
      columns_.push_back(std::move(column));
    }
  }
  // By the path of a module; what is in none belongs to the stack that ran last.
  std::size_t stack_of(const std::string& path) {
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (!columns_[i].path.empty() && is_in(path, columns_[i].path)) return last_ = i;
    return last_;
  }

  // Shapes begin with the batch and the length, whose sizes are those of this pass; the others are the model's.
  static std::string shape_text(const Column& column, const Shape& shape) {
    const Shape& in = column.input;
    const bool named = column.stack.letter != 0 && shape.rank() >= 2 && shape[0] == in[0] && shape[1] == in[1];
    if (!named) return str(shape);
    std::string out = fmt::format("[B, {}", column.stack.letter);
    for (int axis = 2; axis < shape.rank(); ++axis) out += fmt::format(", {}", shape[axis]);
    return out + "]";
  }

  const nn::WatchedOperation& operation(int64_t i) const { return seen_.operations[static_cast<std::size_t>(i)]; }

  void add(std::size_t number) {
    const Unit& unit = units_[number];
    const bool has_module = unit.module != Unit::kNone;
    const std::size_t stack = stack_of(unit.path);
    if (has_module && seen_.members[unit.module].type == "RelativePositions") {
      beside_.push_back(unit.module);
      return;
    }
    if (unit.operations.empty()) return;
    Column& column = columns_[stack];
    Entry entry{.input = main_input(column, unit),
                .output = unit.output,
                .layer = layer_of(seen_, has_module ? parent_path(unit.path) : unit.path)};
    const std::optional<std::size_t> other = other_stack(stack, unit.inputs);
    if (!has_module && add_sum(column, entry, unit)) return;
    if (has_module) {
      const nn::WatchedMember& module = seen_.members[unit.module];
      entry.part.is_attention = is_attention(module);
      const bool masked = is_attention(module) && !other && hides_later(seen_, unit);
      entry.part.step =
          look_of(module, {.masked = masked, .reads_other = other.has_value(), .dropouts = unit.dropouts});
    } else {
      entry.part.step = look_of(operation(entry.output));
    }
    entry.part.step.reads = other;
    tell_source(column, entry);
    count(unit, entry.part);
    finish(column, std::move(entry));
  }

  // The output of the part above, if it is one, or else the newest.
  static int64_t main_input(const Column& column, const Unit& unit) {
    const int64_t above = column.entries.empty() ? -1 : column.entries.back().output;
    const bool continues = std::ranges::find(unit.inputs, above) != unit.inputs.end();
    if (continues) return above;
    return unit.inputs.empty() ? -1 : unit.inputs[0];
  }

  // What is not the output of the part above is named.
  void tell_source(const Column& column, Entry& entry) const {
    if (entry.input < 0 || column.entries.empty() || column.entries.back().output == entry.input) return;
    for (const Entry& earlier : column.entries) {
      if (earlier.output != entry.input) continue;
      const drawing::FlowStep& from = earlier.part.step;
      entry.part.step.code.push_back(said("reads the output of {}", from.adds ? from.code[0] : from.title));
    }
  }

  // x + y, where y is the output of the part above, and x the input of an earlier one.
  bool add_sum(Column& column, Entry& entry, const Unit& unit) {
    if (operation(entry.output).name != "add" || unit.inputs.size() != 2 || column.entries.empty()) return false;
    if (unit.inputs[0] != column.entries.back().output || !unit.parameters.empty()) return false;
    const int64_t x = unit.inputs[1];
    const Layer layer = column.entries.back().layer;
    const auto same = [&](const Entry& e) { return e.input == x && e.layer == layer && !e.part.step.adds; };
    const auto found = std::ranges::find_if(column.entries, same);
    if (found == column.entries.end()) return false;
    entry.layer = layer;
    const std::string y = unit.dropouts.empty() ? "y" : unit.dropouts[0] + "(y)";
    entry.part.step = {
        .title = "sum", .code = {"x + " + y}, .adds = static_cast<std::size_t>(found - column.entries.begin())};
    finish(column, std::move(entry));
    return true;
  }

  void finish(Column& column, Entry entry) const {
    if (entry.input >= 0) {
      entry.part.input = shape_text(column, operation(entry.input).value.shape());
    } else if (column.entries.empty()) {
      entry.part.input = column.stack.input_shape;
    }
    entry.part.step.output = shape_text(column, operation(entry.output).value.shape());
    column.entries.push_back(std::move(entry));
  }

  std::optional<std::size_t> other_stack(std::size_t stack, const std::vector<int64_t>& read) const {
    for (const int64_t i : read)
      for (std::size_t other = 0; other < stack; ++other)
        if (!columns_[other].entries.empty() && columns_[other].entries.back().output == i) return other;
    return {};
  }

  // The parameters of a part: modules inside as rows, if there are several.
  void count(const Unit& unit, Part& part) {
    std::vector<drawing::FlowRow> rows;
    std::vector<int64_t> counts;
    std::string open;
    for (const std::size_t i : unit.parameters) {
      const nn::WatchedMember& p = seen_.members[i];
      if (p.count == 0) continue;
      counted_[i] = true;
      part.count += p.count;
      if (unit.module == Unit::kNone) {
        part.step.code.push_back(p.path);
        continue;
      }
      const std::string inside = p.path.substr(std::min(p.path.size(), unit.path.empty() ? 0 : unit.path.size() + 1));
      const std::size_t dot = inside.rfind('.');
      const std::string module = dot == std::string::npos ? "" : inside.substr(0, dot);
      if (rows.empty() || module != open) {
        rows.push_back({fmt::format("{} {}", module, str(*p.shape)), ""});
        counts.push_back(0);
      }
      open = module;
      counts.back() += p.count;
    }
    part.all = part.count;
    if (rows.size() < 2) return;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].right = drawing::grouped(counts[i]);
      part.step.rows.push_back(std::move(rows[i]));
    }
  }

  void add_beside(Column& column, const nn::WatchedMember& module) {
    const int64_t length = column.input.rank() > 1 ? column.input[1] : 1;
    Part part{.step = look_beside(module, length, column.stack.letter == 0 ? 'T' : column.stack.letter)};
    for (const Unit& unit : units_)
      if (unit.module != Unit::kNone && &seen_.members[unit.module] == &module) count(unit, part);
    insert_beside(column.stack, std::move(part));
  }

  // Layers with the same parts become one, with the parameters of all.
  static void join_layers(Column& column) {
    std::vector<Entry> kept;
    std::vector<std::size_t> places;  // of each entry among those that are kept
    std::vector<Entry>& all = column.entries;
    for (std::size_t begin = 0; begin < all.size();) {
      std::size_t end = begin + 1, one = 0;  // the entries of this list, and of its first element
      const Layer& first = all[begin].layer;
      while (!first.list.empty() && end < all.size() && all[end].layer.list == first.list) ++end;
      while (begin + one < end && all[begin + one].layer.index == first.index) ++one;
      bool same = (end - begin) % one == 0;
      for (std::size_t i = begin + one; same && i < end; ++i) {
        const Part &a = all[i].part, &b = all[i - one].part;
        same = a.step.title == b.step.title && a.step.output == b.step.output && a.count == b.count &&
               all[i].layer.index == all[i - one].layer.index + 1;
      }
      const std::size_t stop = same ? begin + one : end;
      if (!first.list.empty() && same) {
        column.stack.layers.push_back({kept.size(), kept.size() + one - 1, static_cast<int64_t>((end - begin) / one)});
      }
      for (std::size_t i = begin; i < end; ++i) {
        places.push_back(kept.size());
        if (i >= stop) {
          kept[kept.size() - one + (i - begin) % one].part.all += all[i].part.count;
          continue;
        }
        if (all[i].part.step.adds) all[i].part.step.adds = places[*all[i].part.step.adds];
        kept.push_back(std::move(all[i]));
      }
      begin = end;
    }
    all = std::move(kept);
  }

  void require_all_counted() const {
    for (std::size_t i = 0; i < counted_.size(); ++i) {
      const nn::WatchedMember& p = seen_.members[i];
      if (p.kind == nn::WatchedMember::Kind::parameter && p.count > 0 && !counted_[i])
        fail(kArchitecture, "expected every parameter in a part, got {} in none", p.path);
    }
  }

  const nn::Watched& seen_;
  const std::vector<Unit> units_;
  Architecture model_;
  std::vector<Column> columns_;
  std::vector<std::size_t> beside_;
  std::size_t last_ = 0;
  std::vector<bool> counted_;  // by member
};

}  // namespace

void insert_beside(Stack& stack, Part part) {
  const auto attention = std::ranges::find_if(stack.parts, [](const Part& p) { return p.is_attention; });
  if (attention == stack.parts.end()) return;
  part.step.feeds = static_cast<std::size_t>(attention - stack.parts.begin()) + 1;
  part.all = part.count;
  for (Part& later : stack.parts) {
    if (later.step.adds) ++*later.step.adds;
    if (later.step.feeds) ++*later.step.feeds;
  }
  for (Layers& layers : stack.layers) ++layers.first, ++layers.last;
  stack.parts.insert(stack.parts.begin(), std::move(part));
}

Architecture architecture_of(const nn::Watched& seen, std::string_view title, std::vector<Tensor> inputs,
                             std::vector<Stack> stacks) {
  return Parts(seen, title, std::move(inputs), std::move(stacks)).take();
}

}  // namespace tapegrad::tasks::architecture
