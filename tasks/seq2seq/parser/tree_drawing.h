// Parse trees as pictures: text for the terminal, and SVG.
#pragma once

#include <tapegrad/tasks/seq2seq/parser/expression.h>
#include <tapegrad/train/drawing/svg.h>

#include <string>

namespace tapegrad::tasks {

// One node per line, children below and to the right. If `truth` is given, nodes that differ from it are marked
// "(3 is right)", and nodes that `tree` lacks get lines of their own.
std::string draw_tree_text(const Tree& tree, const Tree* truth = nullptr);
// Nodes above their children, joined by lines; nodes that differ from `truth` are drawn as wrong.
drawing::Drawing draw_tree(const Tree& tree, std::string_view title, const Tree* truth = nullptr);

}  // namespace tapegrad::tasks
