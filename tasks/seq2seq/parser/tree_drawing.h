// Parse trees as pictures: lines in the terminal, SVG and a page.
#pragma once

#include <tapegrad/tasks/drawing/svg.h>
#include <tapegrad/tasks/seq2seq/parser/expression.h>

#include <string>

namespace tapegrad::tasks {

// One node a line, children below and to the right. Nodes that `truth`, where given, has otherwise are marked
// "(3 is right)"; what it has and `tree` lacks is told in lines of their own.
std::string draw_tree_text(const Tree& tree, const Tree* truth = nullptr);
// Nodes above their children, joined by lines; those that `truth` has otherwise are drawn as wrong.
drawing::Drawing draw_tree(const Tree& tree, std::string_view title, const Tree* truth = nullptr);

}  // namespace tapegrad::tasks
