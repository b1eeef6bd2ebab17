// Draws parse trees.
#include <fmt/format.h>
#include <tapegrad/tasks/seq2seq/parser/tree_drawing.h>

#include <algorithm>

namespace tapegrad::tasks {
namespace {

// A null truth: the correct tree is unknown. kNothing: the correct tree has no node here.
const Tree kNothing{-1, {}};

const Tree* truth_of_child(const Tree* truth, std::size_t i) {
  if (!truth) return nullptr;
  return i < truth->children.size() ? &truth->children[i] : &kNothing;
}

std::string remark(const Tree& tree, const Tree* truth) {
  if (!truth || truth->token == tree.token) return "";
  if (truth == &kNothing) return " (should not be)";
  return fmt::format(" ({} is right)", token_name(truth->token));
}

std::string label(const Tree& tree) { return std::string(tree.token == 0 ? "?" : token_name(tree.token)); }

void write_children(std::string& out, const Tree& tree, const Tree* truth, const std::string& margin) {
  const std::size_t present = tree.children.size();
  const std::size_t wanted = truth ? std::max(present, truth->children.size()) : present;
  for (std::size_t i = 0; i < wanted; ++i) {
    const bool last = i + 1 == wanted;
    out += margin + (last ? "└── " : "├── ");
    if (i >= present) {
      out += fmt::format("(missing: {})\n", token_name(truth->children[i].token));
      continue;
    }
    const Tree* its_truth = truth_of_child(truth, i);
    out += label(tree.children[i]) + remark(tree.children[i], its_truth) + "\n";
    write_children(out, tree.children[i], its_truth, margin + (last ? "    " : "│   "));
  }
}

// --- SVG ---

constexpr double kLeafWidth = 40, kInnerWidth = 68, kLevel = 56, kNodeHeight = 24, kTop = 44, kSide = 14;

struct Placed {
  double x = 0;  // of its centre
  std::vector<Placed> children;
};

double width_of(const Tree& tree) { return label(tree).size() > 1 ? kInnerWidth - 10 : kNodeHeight; }

// Leaves are placed from left to right; each other node is centred over its children, at least its own width apart.
Placed place(const Tree& tree, double& next) {
  Placed out;
  if (tree.children.empty()) {
    const double wide = label(tree).size() > 1 ? kInnerWidth : kLeafWidth;
    out.x = next + wide / 2;
    next += wide;
    return out;
  }
  const double begin = next;
  for (const Tree& child : tree.children) out.children.push_back(place(child, next));
  next = std::max(next, begin + kInnerWidth);
  out.x = (out.children.front().x + out.children.back().x) / 2;
  if (tree.children.size() == 1) out.x = std::max(out.x, begin + kInnerWidth / 2);
  return out;
}

std::size_t levels(const Tree& tree) {
  std::size_t deepest = 0;
  for (const Tree& child : tree.children) deepest = std::max(deepest, levels(child));
  return deepest + 1;
}

void lines(std::string& out, const Placed& node, double y) {
  for (const Placed& child : node.children) {
    out += fmt::format("<path class=\"branch\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>\n", node.x, y, child.x, y + kLevel);
    lines(out, child, y + kLevel);
  }
}

void nodes(std::string& out, const Tree& tree, const Placed& node, const Tree* truth, double y) {
  const double wide = width_of(tree);
  const bool wrong = truth && truth->token != tree.token;
  out += fmt::format(
      "<rect class=\"node{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"{:.1f}\"/>\n"
      "<text class=\"label\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
      wrong ? " wrong" : "", node.x - wide / 2, y - kNodeHeight / 2, wide, kNodeHeight, kNodeHeight / 2, node.x, y + 4,
      drawing::escape_markup(label(tree)));
  for (std::size_t i = 0; i < tree.children.size(); ++i)
    nodes(out, tree.children[i], node.children[i], truth_of_child(truth, i), y + kLevel);
}

}  // namespace

std::string draw_tree_text(const Tree& tree, const Tree* truth) {
  std::string out = label(tree) + remark(tree, truth) + "\n";
  write_children(out, tree, truth, "");
  return out;
}

drawing::Drawing draw_tree(const Tree& tree, std::string_view title, const Tree* truth) {
  double width = kSide;
  const Placed placed = place(tree, width);
  drawing::Drawing out{std::max(width + kSide, 20 + 8.0 * static_cast<double>(title.size())),
                       kTop + kLevel * static_cast<double>(levels(tree) - 1) + kNodeHeight,
                       {}};
  out.body +=
      fmt::format("<text class=\"title\" x=\"{:g}\" y=\"17\">{}</text>\n", kSide, drawing::escape_markup(title));
  lines(out.body, placed, kTop);
  nodes(out.body, tree, placed, truth, kTop);
  return out;
}

}  // namespace tapegrad::tasks
