// Reports on the parser task's answers: trees, scores, and the tutorial's further examples.
#include <fmt/format.h>
#include <tapegrad/autograd/io/internal/json_value.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tasks/seq2seq/parser/parser.h>
#include <tapegrad/tasks/seq2seq/parser/tree_drawing.h>
#include <tapegrad/tasks/seq2seq/sample.h>
#include <tapegrad/train/drawing/tables.h>

#include <algorithm>

namespace tapegrad::tasks {
namespace {

constexpr std::size_t kIndent = 4;  // of the continuation lines of a long tree

}  // namespace

// ":=" for ASSIGN and "+" for ADD.
std::string ParserTask::axis_text(int64_t token) const {
  if (token == ExpressionTokens::kAssign) return ":=";
  if (!ExpressionTokens::is_operator(token)) return token_text(token);
  return token_text(token - ExpressionTokens::kAdd + ExpressionTokens::kPlus);
}

// No brackets around the row: they would look like the tokens [ and ].
RowStyle ParserTask::row_style() const {
  return form_ == TreeForm::brackets ? RowStyle{"", " ", ""} : Task::row_style();
}

// A nested list if the answer is a tree, otherwise its tokens. The flat form is printed as in the tutorial.
std::string ParserTask::target_text(const Tokens& tokens) const {
  const ReadTree read = read_tree(tokens, form_);
  return form_ == TreeForm::brackets && read.whole ? list_text(read.tree) : list_text(tokens);
}

std::string ParserTask::answer_text(const Answer& answer) const {
  const ReadTree predicted = read_tree(answer.output, form_), truth = read_tree(answer.target, form_);
  return drawing::wrapped(
             fmt::format("Input Expression: {}\nPredicted Parse Tree: {}\nActual Parse Tree: {}\nCorrect: {}\n\n",
                         source_text(answer.input), target_text(answer.output), target_text(answer.target),
                         true_or_false(answer.right())),
             kIndent) +
         draw_tree_text(predicted.tree, &truth.tree);
}

std::string ParserTask::samples_text(const std::vector<Answer>& answers) const {
  constexpr std::size_t kShown = 2;
  std::string out = "\n=== Prediction Result Samples ===\n";
  for (std::size_t i = 0; i < std::min(kShown, answers.size()); ++i)
    out += fmt::format("Input: {}\nPrediction: {}\nTruth: {}\nResult: {}\n\n", source_text(answers[i].input),
                       target_text(answers[i].output), target_text(answers[i].target),
                       answers[i].right() ? "Correct" : "Incorrect");
  return drawing::wrapped(out, kIndent);
}

std::optional<drawing::Drawing> ParserTask::picture(const Answer& answer) const {
  const ReadTree predicted = read_tree(answer.output, form_), truth = read_tree(answer.target, form_);
  return draw_tree(predicted.tree, spaced_text(answer.input), &truth.tree);
}

// The tree of the tokens so far; an empty picture before the first.
std::optional<drawing::Drawing> ParserTask::picture_of_part(const Answer& answer, std::size_t written) const {
  const Tree tree = read_tree(std::span(answer.output).first(std::min(written, answer.output.size())), form_).tree;
  if (tree.token == 0) return drawing::Drawing{.width = 1, .height = 1, .body = {}};
  const Tree truth = read_tree(answer.target, form_).tree;
  return draw_tree(tree, spaced_text(answer.input), &truth);
}

ParserScore score_trees(TreeForm form, const std::vector<Answer>& answers) {
  ParserScore score;
  for (const Answer& answer : answers) {
    const ReadTree read = read_tree(answer.output, form);
    const Tree truth = read_tree(answer.target, form).tree;
    const auto depth = static_cast<std::size_t>(operator_depth(truth));
    const bool exact = read.whole && read.tree == truth;
    ++score.expressions;
    score.whole += read.whole ? 1 : 0;
    score.structure += read.whole && same_structure(read.tree, truth) ? 1 : 0;
    score.exact += exact ? 1 : 0;
    score.nodes += count_nodes(truth);
    score.right_nodes += count_same_nodes(truth, read.tree);
    if (score.by_depth.size() < depth) score.by_depth.resize(depth);
    ++score.by_depth[depth - 1].expressions;
    score.by_depth[depth - 1].exact += exact ? 1 : 0;
  }
  return score;
}

ExtraMetrics ParserTask::extra_metrics(const nn::Transformer& model, const Batch& tests, const Tensor& predicted,
                                       Generator&) const {
  const ParserScore score = score_trees(form_, answers_of(*this, tests, predicted, tests.source.size(0)));
  Json json{{"node_accuracy", share(score.right_nodes, score.nodes)},
            {"structure_accuracy", share(score.structure, score.expressions)},
            {"well_formed", share(score.whole, score.expressions)}};
  ExtraMetrics out;
  out.text += fmt::format("  node accuracy   {:.5f} ({} of {})\n", share(score.right_nodes, score.nodes),
                          score.right_nodes, score.nodes);
  out.text +=
      fmt::format("  structure       {:.4f} (all operators correct)\n", share(score.structure, score.expressions));
  out.text += fmt::format("  well-formed     {:.4f} (the answer is a tree)\n", share(score.whole, score.expressions));
  if (form_ == TreeForm::brackets) {
    out.text += "  depth  expressions  exact trees\n";
    for (std::size_t i = 0; i < score.by_depth.size(); ++i) {
      const auto [expressions, exact] = score.by_depth[i];
      if (expressions == 0) continue;
      out.text += fmt::format("  {:>5}  {:>11}  {:.4f} ({} of {})\n", i + 1, expressions, share(exact, expressions),
                              exact, expressions);
      json["by_depth"].push_back({{"depth", i + 1}, {"expressions", expressions}, {"exact", exact}});
    }
  }
  out.text += "\n=== Additional Tests ===\n";
  std::vector<std::string> texts{"x=1+2", "y=3*4", "z=5-1", "x=2/3"};
  if (depth_ >= 2) texts.emplace_back("y=(1+2)*3");
  if (depth_ >= 3) texts.emplace_back("z=(9-8*7)/6");
  for (const std::string& text : texts) {
    const Answer answer = answer_to(*this, model, read_expression(text));
    out.text += drawing::wrapped(
        fmt::format("\nInput: {}\nPredicted Parse Tree: {}\n", text, target_text(answer.output)), kIndent);
    json["additional"].push_back(
        {{"expression", text}, {"answer", target_text(answer.output)}, {"correct", answer.right()}});
  }
  out.json = json.dump();
  return out;
}

}  // namespace tapegrad::tasks
