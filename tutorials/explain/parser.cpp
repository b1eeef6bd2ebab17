// Explains the parser task (tutorial 003, section 8.5.3).
#include <tapegrad/tasks/seq2seq/parser/tree_drawing.h>
#include <tapegrad/tasks/seq2seq/task.h>
#include <tapegrad/train/drawing/tables.h>
#include <tapegrad/tutorials/explain/explain.h>
#include <tapegrad/tutorials/programs/given.h>

#include <algorithm>

namespace tapegrad::tasks {
namespace {

constexpr std::string_view kTexts = "tutorials/explain/parser.txt";

// The tree as lines that begin with three spaces.
std::string drawn(const Tree& tree) {
  std::string out = "   " + draw_tree_text(tree);
  out.pop_back();
  for (std::size_t at = 0; (at = out.find('\n', at)) != std::string::npos; ++at) out.insert(at + 1, "   ");
  return out;
}

std::string examples_text(const std::vector<Tree>& trees, TreeForm form, std::size_t wide_in) {
  std::string out = essay(kTexts, {{"count", trees.size()}}, trees.size() == 1 ? "one" : "several");
  std::size_t wide_out = 0;
  for (const Tree& tree : trees) wide_out = std::max(wide_out, linearise(tree, form).size());
  for (std::size_t i = 0; i < trees.size(); ++i) {
    Tokens source = expression_tokens(trees[i]), target = linearise(trees[i], form), padded = source, wide = target;
    padded.resize(wide_in);
    wide.resize(wide_out);
    out += essay(kTexts,
                 {{"number", i + 1},
                  {"expression", expression_text(trees[i])},
                  {"tree", list_text(trees[i])},
                  {"source", source},
                  {"target", target},
                  {"padded_source", padded},
                  {"padded_target", wide}},
                 "example");
  }
  return out;
}

}  // namespace

std::string explain_parser(const std::vector<Tree>& examples, TreeForm form) {
  const bool from_tutorial = examples.empty();
  std::vector<Tree> trees = examples;
  if (from_tutorial)
    for (const char* text : {"y=7/7", "x=4/3", "x=1*4"}) trees.push_back(parse_expression(text));
  const Tree shown = from_tutorial ? parse_expression("x=3+8") : trees.front();
  const Tokens source = expression_tokens(shown), target = linearise(shown, form), first = linearise(trees[0], form);
  std::size_t widest = 0;
  for (const Tree& tree : trees) widest = std::max(widest, expression_tokens(tree).size());
  Tokens seen(expression_tokens(trees[0]).size(), 1);
  seen.resize(widest);
  // The section's example: batch 2, length 4, vocabulary 5.
  std::vector<Value> values = loss_values(given::parsed(kFloat64), tensor({{1, 0, 3, 2}, {1, 0, 4, 2}}), 3);
  values.insert(values.end(), {{"most", std::max(source.size(), target.size())},
                               {"source_length", source.size()},
                               {"expression", spaced_text(source)},
                               {"source", source},
                               {"target_length", target.size()},
                               {"tree", list_text(target)},
                               {"target", target},
                               {"note", from_tutorial ? essay(kTexts, {}, "remark") : ""},
                               {"drawing", drawn(shown)},
                               {"examples", examples_text(trees, form, widest)},
                               {"read", shifted(first)},
                               {"seen", seen},
                               {"causal", causal_mask_text(first.size())}});
  return drawing::wrapped(essay(kTexts, values));
}

}  // namespace tapegrad::tasks
