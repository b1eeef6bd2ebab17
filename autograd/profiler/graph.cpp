// Draws a tape: places every node in the frame or box of its module, and then writes frames, boxes and edges.
#include <tapegrad/autograd/graph.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/tape_modules.h>

#include <algorithm>
#include <unordered_map>

namespace tapegrad {
namespace {

constexpr std::string_view kGraph = "graph";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A text in quotes: names may have any characters. `\n` in a label is a line feed.
std::string in_dot(std::string_view text) {
  std::string out = "\"";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string label(std::string_view first, std::string_view second) {
  std::string text = in_dot(first);
  text.pop_back();
  return text + "\\n" + in_dot(second).substr(1);
}

std::string count_of(int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// Where the names of a path's levels end: "encoder.layers.0.norm" has 7, 16 and 21. `list` is the end of the first
// level with an index above 0.
struct Levels {
  std::vector<std::size_t> ends;
  std::size_t list = std::string::npos;

  explicit Levels(std::string_view path) {
    std::size_t begin = 0;
    while (begin < path.size()) {
      const std::size_t end = std::min(path.find('.', begin), path.size());
      const std::string_view name = path.substr(begin, end - begin);
      const bool index = !ends.empty() && std::all_of(name.begin(), name.end(), is_digit);
      if (index && name != "0") list = std::min(list, end);
      if (index) {
        ends.back() = end;
      } else {
        ends.push_back(end);
      }
      begin = end + 1;
    }
  }
};

class Drawing {
 public:
  Drawing(const Tape& tape, const GraphOptions& options)
      : tape_(tape), options_(options), names_(names_of_leaves(tape)), modules_(modules_of(tape, names_)) {
    frames_.push_back({});
    for (int64_t i = 0; i < tape.size(); ++i) place(i);
  }

  std::string text() const {
    std::string out =
        "digraph tape {\n  graph [fontname=\"sans-serif\", fontsize=11, labeljust=l, style=rounded, "
        "color=\"#9aa5b1\"]\n"
        "  node [shape=box, fontname=\"sans-serif\", fontsize=10]\n"
        "  edge [fontname=\"sans-serif\", fontsize=8]\n";
    write(0, "  ", out);
    for (const std::string& edge : edges_) out += edge;
    return out + "}\n";
  }

 private:
  struct Box {
    std::string path;
    int64_t operations = 0, parameters = 0;
  };
  struct Frame {
    std::string path = {};
    std::string nodes = {};
    std::vector<std::size_t> inner = {}, boxes = {};
  };

  bool is_leaf(int64_t i) const { return tape_.op_name(i) == "leaf"; }
  const std::string& name_of(int64_t leaf) const { return names_[static_cast<std::size_t>(leaf)]; }

  // The part of a module's path that is drawn, and whether it is a box.
  std::pair<std::string, bool> shown(const std::string& path) const {
    const Levels levels(path);
    const auto depth = static_cast<std::size_t>(options_.depth);
    std::size_t end = std::string::npos;
    if (depth > 0 && levels.ends.size() >= depth) end = levels.ends[depth - 1];
    if (!options_.all_layers && options_.depth > 0) end = std::min(end, levels.list);
    return {path.substr(0, end), end != std::string::npos};
  }

  // The frame of a module, and of those that have it.
  std::size_t frame(const std::string& path) {
    if (path.empty()) return 0;
    const auto [at, is_new] = frame_of_.try_emplace(path, frames_.size());
    const std::size_t number = at->second;
    if (!is_new) return number;
    frames_.push_back({.path = path});
    frames_[outer(path)].inner.push_back(number);
    return number;
  }
  std::size_t outer(const std::string& path) {
    const Levels levels(path);
    return frame(levels.ends.size() < 2 ? "" : path.substr(0, levels.ends[levels.ends.size() - 2]));
  }

  std::size_t box(const std::string& path) {
    const auto [at, is_new] = box_of_.try_emplace(path, boxes_.size());
    const std::size_t number = at->second;
    if (!is_new) return number;
    boxes_.push_back({.path = path});
    frames_[outer(path)].boxes.push_back(number);
    return number;
  }

  void place(int64_t i) {
    const bool parameter = is_leaf(i);
    const auto [path, boxed] =
        shown(parameter ? module_of_parameter(name_of(i)) : modules_[static_cast<std::size_t>(i)]);
    if (boxed) {
      const std::size_t number = box(path);
      ++(parameter ? boxes_[number].parameters : boxes_[number].operations);
      ids_.push_back(fmt::format("m{}", number));
    } else {
      ids_.push_back(fmt::format("n{}", i));
      frames_[frame(path)].nodes += node(i);
    }
    for (const int64_t from : tape_.inputs_of(i))
      if (from >= 0) draw_edge(from, i);
  }

  // One statement, which the frame indents.
  std::string node(int64_t i) const {
    const std::string_view name = name_of(i).empty() ? tape_.op_name(i) : name_of(i);
    const char* const look = is_leaf(i) ? ", shape=ellipse, style=filled, fillcolor=\"#e6eef8\"" : "";
    return fmt::format("n{} [label={}{}]\n", i, label(name, str(tape_.shape_of(i))), look);
  }

  void draw_edge(int64_t from, int64_t to) {
    const std::string& a = ids_[static_cast<std::size_t>(from)];
    const std::string& b = ids_[static_cast<std::size_t>(to)];
    if (a == b) return;
    std::string edge = fmt::format("  {} -> {} [label={}]\n", a, b, in_dot(str(tape_.shape_of(from))));
    const bool repeats = a[0] == 'm' || b[0] == 'm';  // one edge for all equal ones of a box
    if (!repeats || drawn_.try_emplace(edge, edges_.size()).second) edges_.push_back(std::move(edge));
  }

  void write(std::size_t number, const std::string& indent, std::string& out) const {
    const Frame& frame = frames_[number];
    for (std::size_t at = 0; at < frame.nodes.size();) {
      const std::size_t end = frame.nodes.find('\n', at) + 1;
      out += indent + frame.nodes.substr(at, end - at);
      at = end;
    }
    for (const std::size_t one : frame.boxes) {
      const Box& box = boxes_[one];
      const std::string contents =
          fmt::format("{}, {}", count_of(box.operations, "operation"), count_of(box.parameters, "parameter"));
      out += fmt::format("{}m{} [label={}, style=\"rounded,filled\", fillcolor=\"#f1ede2\"]\n", indent, one,
                         label(box.path, contents));
    }
    for (const std::size_t one : frame.inner) {
      out += fmt::format("{}subgraph cluster_{} {{\n{}  label={}\n", indent, one, indent, in_dot(frames_[one].path));
      write(one, indent + "  ", out);
      out += indent + "}\n";
    }
  }

  const Tape& tape_;
  const GraphOptions options_;
  const std::vector<std::string> names_;    // of leaves
  const std::vector<std::string> modules_;  // of operations
  std::vector<std::string> ids_;            // by position
  std::vector<Frame> frames_;               // the first one is the graph
  std::vector<Box> boxes_;
  std::vector<std::string> edges_;
  std::unordered_map<std::string, std::size_t> frame_of_, box_of_, drawn_;  // by path; by the edge of a box
};

}  // namespace

std::string to_dot(const Tape& tape, const GraphOptions& options) {
  if (options.depth < 0) fail(kGraph, "expected a depth of at least 0, got {}", options.depth);
  if (tape.size() == 0)
    fail(kGraph, "expected a tape with recorded operations, got an empty one (call to_dot before backward)");
  return Drawing(tape, options).text();
}

}  // namespace tapegrad
