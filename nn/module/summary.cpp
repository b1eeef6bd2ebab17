// The summary of a model: a walk lists its members, and a run finds the shapes of outputs.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/nn/module/detail/keep_generator.h>
#include <tapegrad/nn/summary.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace tapegrad::nn::detail {

namespace {

// A module is identified by address and type, because a struct and its first member have the same address.
using ModuleKey = std::pair<const void*, std::string_view>;
using OutputShapes = std::map<ModuleKey, Shape>;

// A module, a parameter or a buffer.
struct Row {
  int depth = 0;
  std::string name;       // within its module
  std::string path;       // from the model
  std::string_view type;  // of a module
  ModuleKey module = {};
  Parameter* parameter = nullptr;
  Buffer* buffer = nullptr;
  std::size_t first = 0;  // the row of the same leaf or buffer that comes first
  int64_t count = 0;      // number of elements; for a module, of all its parameters
};

class RowVisitor : public Visitor {
 public:
  std::vector<Row> rows;
  std::vector<bool*> modes;

 private:
  void mode(bool& training) override { modes.push_back(&training); }
  void enter(std::string_view type, std::span<const std::byte> module) override {
    Row& row = add();
    row.type = type;
    row.module = {module.data(), type};
    if (row.path.empty()) row.name = type;
    open_.push_back(rows.size() - 1);
  }
  void leave() override { open_.pop_back(); }
  void parameter(Parameter& p) override {
    const std::size_t first = firsts_.emplace(&p.tensor(), rows.size()).first->second;
    Row& row = add();
    row.parameter = &p;
    row.first = first;
    if (first + 1 != rows.size()) return;
    row.count = p->numel();
    for (const std::size_t module : open_) rows[module].count += row.count;
  }
  void buffer(Buffer& b) override {
    const std::size_t first = firsts_.emplace(&b, rows.size()).first->second;
    Row& row = add();
    row.buffer = &b;
    row.first = first;
  }
  Row& add() {
    const std::string_view all = path();
    const std::size_t skip = open_.empty() || rows[open_.back()].path.empty() ? 0 : rows[open_.back()].path.size() + 1;
    Row& row = rows.emplace_back();
    row.depth = static_cast<int>(open_.size());
    row.path = all;
    row.name = all.substr(std::min(skip, all.size()));
    return row;
  }
  std::vector<std::size_t> open_;  // the modules around the current member
  std::unordered_map<const void*, std::size_t> firsts_;
};

std::string count_of(const Row& row, std::size_t index) {
  if (row.buffer || (row.parameter && row.first != index)) return {};
  return fmt::format("{}", row.count);
}

std::string notes_of(const std::vector<Row>& rows, std::size_t index) {
  const Row& row = rows[index];
  std::vector<std::string> notes;
  if (row.buffer) notes.push_back("buffer");
  if (!row.type.data() && row.first != index) notes.push_back("tied to " + rows[row.first].path);
  if (row.parameter && row.parameter->frozen()) notes.push_back("frozen");
  return notes.empty() ? "" : fmt::format("  ({})", fmt::join(notes, ", "));
}

std::string table_of(const std::vector<Row>& rows, const OutputShapes& outputs) {
  struct Line {
    std::string name, type, shape, count, notes;
  };
  std::vector<Line> lines{{"name", "type", "shape", "count", ""}};
  int64_t total = 0, frozen = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    Line line{std::string(2 * static_cast<std::size_t>(row.depth), ' ') + row.name, std::string(row.type), "",
              count_of(row, i), notes_of(rows, i)};
    if (row.depth == 0 && row.path.empty() && row.type.data()) line.type.clear();  // its name is its type
    if (row.path.empty() && !row.type.data()) line.name = row.parameter ? "parameter" : "buffer";
    if (row.parameter) line.shape = str((*row.parameter)->shape());
    if (row.buffer) line.shape = str((*row.buffer)->shape());
    if (const auto output = outputs.find(row.module); row.type.data() && output != outputs.end()) {
      line.shape = "-> " + str(output->second);
    }
    if (row.parameter) {
      total += row.count;
      if (row.parameter->frozen()) frozen += row.count;
    }
    lines.push_back(std::move(line));
  }
  lines.push_back({"parameters", "", "", fmt::format("{}", total), ""});
  if (frozen > 0) lines.push_back({"trainable", "", "", fmt::format("{}", total - frozen), ""});
  std::size_t name = 0, type = 0, shape = 0, count = 0;
  for (const Line& line : lines) {
    name = std::max(name, line.name.size());
    type = std::max(type, line.type.size());
    shape = std::max(shape, line.shape.size());
    count = std::max(count, line.count.size());
  }
  std::string table;
  for (const Line& line : lines) {
    const std::string text = fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>{}}{}", line.name, name, line.type, type,
                                         line.shape, shape, line.count, count, line.notes);
    table += text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  }
  return table;
}

thread_local OutputShapes* reported = nullptr;  // while a summary runs its model

// For one run: eval mode, all parameters on the tape, and reports of calls. The destructor restores everything.
class Run {
 public:
  Run(RowVisitor& visitor, OutputShapes& outputs) : outer_(std::exchange(reported, &outputs)) {
    for (bool* training : visitor.modes) modes_.emplace_back(training, std::exchange(*training, false));
    for (const Row& row : visitor.rows) {
      if (!row.parameter || !row.parameter->frozen()) continue;
      frozen_.push_back(row.parameter);
      row.parameter->freeze(false);
    }
  }
  ~Run() {
    for (const auto& [training, before] : modes_) *training = before;
    for (Parameter* parameter : frozen_) parameter->freeze();
    reported = outer_;
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

 private:
  OutputShapes* const outer_;
  const KeepGenerator keep_;
  std::vector<std::pair<bool*, bool>> modes_;
  std::vector<Parameter*> frozen_;
};

// The output shapes of modules whose own parameters are all inputs of one recorded operation.
void add_shapes_from(Tape& tape, const std::vector<Row>& rows, OutputShapes& outputs) {
  std::vector<std::size_t> open;
  std::map<std::size_t, std::vector<int64_t>> owned;  // the places of each module's own parameters, by row
  std::map<int64_t, int> owners;                      // per position: a tied parameter does not identify its module
  for (std::size_t i = 0; i < rows.size(); ++i) {
    open.resize(static_cast<std::size_t>(rows[i].depth));
    if (rows[i].type.data()) {
      open.push_back(i);
    } else if (rows[i].parameter && !open.empty()) {
      const Tensor& leaf = rows[i].parameter->tensor();
      const int64_t place = leaf.is_leaf() ? tape.position_of(leaf) : -1;
      owned[open.back()].push_back(place);
      ++owners[place];
    }
  }
  for (const auto& [row, places] : owned) {
    if (std::any_of(places.begin(), places.end(), [&](int64_t place) { return place < 0 || owners[place] > 1; }))
      continue;
    int64_t uses = 0, last = -1;
    for (int64_t position = 0; position < tape.size(); ++position) {
      const std::span<const int64_t> inputs = tape.inputs_of(position);
      const auto is_input = [&](int64_t place) {
        return std::find(inputs.begin(), inputs.end(), place) != inputs.end();
      };
      if (std::all_of(places.begin(), places.end(), is_input)) {
        last = position;
      } else {
        uses += std::any_of(places.begin(), places.end(), is_input);
      }
    }
    if (last >= 0 && uses == 0) outputs.emplace(rows[row].module, tape.shape_of(last));
  }
}

}  // namespace

std::string_view short_type_name(std::string_view signature) {
  const std::size_t start = signature.find("T = ") + 4;
  std::string_view name = signature.substr(start);
  if (name.find("lambda") < name.find_first_of("<;]") + 8) return "function";
  name = name.substr(0, name.find_first_of("<;]"));
  const std::size_t space = name.rfind("::");
  return space == std::string_view::npos ? name : name.substr(space + 2);
}

void report_call(const void* module, std::string_view type, const Tensor& result) {
  if (reported) reported->insert_or_assign({module, type}, result.shape());
}

std::string summary(const AnyModel& model) {
  RowVisitor visitor;
  model.walk(visitor);
  return table_of(visitor.rows, {});
}

std::string summary(const AnyModel& model, const std::vector<Tensor>& inputs, const SummaryCall& call) {
  RowVisitor visitor;
  model.walk(visitor);
  OutputShapes outputs;
  {
    const Run run(visitor, outputs);
    Tape tape;
    const Tensor result = call(inputs);
    if (result.defined() && !visitor.rows.empty()) outputs.emplace(visitor.rows[0].module, result.shape());
    add_shapes_from(tape, visitor.rows, outputs);
  }
  return table_of(visitor.rows, outputs);
}

}  // namespace tapegrad::nn::detail
