// Explains the parser task (tutorial 003, section 8.5.3).
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/loss.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/seq2seq/parser/parser.h>
#include <tapegrad/tasks/seq2seq/parser/tree_drawing.h>
#include <tapegrad/train/drawing/tables.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::tasks {
namespace {

void explain_data(std::string& out, const Tree& tree, TreeForm form, bool from_tutorial) {
  const std::vector<int64_t> in = expression_tokens(tree), target = linearise(tree, form);
  out += said("=== Parser task: the data ===\nMax tokens: {}\n\n", std::max(in.size(), target.size()));
  out += said(
      "1. Input sequence\n   Tensor shape: [1, {}]\n   Expression: {}\n   Tokenised input: {}\n\n"
      "2. Target sequence\n   Tensor shape: [1, {}]\n   Parse tree: {}\n   Tokenised output: {}\n\n",
      in.size(), spaced_text(in), in, target.size(), list_text(target), target);
  if (from_tutorial)
    out += said(
        "   (The tutorial prints these tokens as x = 4 + 9: it decodes each digit one too\n"
        "   high. In tapegrad, token 14 + d is the digit d in both directions.)\n\n");
  out += said(
      "3. Tokens\n"
      "   0 padding, start token   1 =   2 to 5 + - * /   6 ASSIGN\n"
      "   7 to 10 ADD SUB MUL DIV   11 to 13 x y z   14 to 23 the digits 0 to 9\n"
      "   24 unused   25, 26 ( )   27, 28 [ ]\n\n"
      "4. The tree\n");
  std::string drawing = draw_tree_text(tree);
  for (std::size_t at = 0; at < drawing.size();) {
    const std::size_t end = drawing.find('\n', at) + 1;
    out += "   " + drawing.substr(at, end - at);
    at = end;
  }
  out += '\n';
}

void explain_examples(std::string& out, const std::vector<Tree>& trees, TreeForm form) {
  out += trees.size() == 1 ? said("=== {} parsing example ===\n\n", 1)
                           : said("=== {} parsing examples ===\n\n", trees.size());
  std::size_t wide_in = 0, wide_out = 0;
  for (const Tree& tree : trees) {
    wide_in = std::max(wide_in, expression_tokens(tree).size());
    wide_out = std::max(wide_out, linearise(tree, form).size());
  }
  for (std::size_t i = 0; i < trees.size(); ++i) {
    std::vector<int64_t> in = expression_tokens(trees[i]), target = linearise(trees[i], form);
    out += said(
        "Example {}:\n   Generated expression: {}\n   Parse tree: {}\n   Expression tokens: {}\n"
        "   Tree tokens: {}\n",
        i + 1, expression_text(trees[i]), list_text(trees[i]), in, target);
    in.resize(wide_in);
    target.resize(wide_out);
    out += said("   Padded expression tokens: {}\n   Padded tree tokens: {}\n\n", in, target);
  }
}

void explain_masks(std::string& out, const std::vector<Tree>& trees, TreeForm form) {
  const std::vector<int64_t> target = linearise(trees[0], form);
  std::size_t widest = 0;
  for (const Tree& tree : trees) widest = std::max(widest, expression_tokens(tree).size());
  const std::size_t length = expression_tokens(trees[0]).size();
  std::vector<int> seen(length, 1);
  seen.resize(widest);
  std::vector<int64_t> read{0};
  read.insert(read.end(), target.begin(), target.end() - 1);
  out += said(
      "=== Masks ===\n"
      "Decoder input, a 0 and then the target without its last token: {}\n"
      "Padding mask of the source (token != 0; 1: visible): {}\n"
      "   The tutorial's expressions are equally long. Nested ones are padded to the\n"
      "   longest of their batch; padding is masked and does not count in the loss.\n"
      "Causal mask of the decoder (row t attends to tokens 0 to t):\n",
      read, seen);
  out += causal_mask_text(target.size()) + '\n';
}

// The section's example: batch 2, length 4, vocabulary 5.
void explain_parser_loss(std::string& out) {
  constexpr double kShown[2][4][5] = {
      {{0.1, 0.7, 0.1, 0.1, 0}, {0.8, 0.1, 0, 0.1, 0}, {0.1, 0, 0.1, 0.7, 0.1}, {0, 0.1, 0.8, 0, 0.1}},
      {{0.1, 0.8, 0, 0.1, 0}, {0.7, 0.1, 0.1, 0, 0.1}, {0.1, 0, 0.1, 0.1, 0.7}, {0, 0, 0.9, 0.1, 0}}};
  const std::vector<int64_t> right{1, 0, 3, 2, 1, 0, 4, 2};
  auto to = std::back_inserter(out);
  out += said(
      "=== Loss, by hand (batch 2, length 4, vocabulary 5) ===\n"
      "The tokens here: 0 is =, 1 is x, 2 is +, 3 is 1, 4 is 2\n"
      "1. Predicted probabilities\n");
  std::vector<double> values;
  for (const auto& sequence : kShown) {
    for (const auto& token : sequence) {
      fmt::format_to(to, "   {}{}\n", &token == sequence ? "- " : "  ", token);
      values.insert(values.end(), token, token + 5);
    }
  }
  const Tensor outputs = log(tensor(values, {2, 4, 5})), target = tensor(right, {2, 4});
  out += said("2. Target: {} and {}, one-hot:\n", target[0].to_vector<int64_t>(), target[1].to_vector<int64_t>());
  for (int64_t i = 0; i < 2; ++i) {
    out += "   [";
    for (int64_t t = 0; t < 4; ++t)
      fmt::format_to(to, "{}[{}]", t == 0 ? "" : ", ", fmt::join(one_hot(target[i][t], 5).to_vector<int64_t>(), ","));
    out += "]\n";
  }
  out += said("3. Loss: the sum of -log(probability of the target), divided by the batch size\n");
  for (std::size_t i = 0; i < 2; ++i) {
    double sum = 0;
    out += said("   sequence {}: ", i + 1);
    for (std::size_t t = 0; t < 4; ++t) {
      const double term = -fixed::log(kShown[i][t][right[4 * i + t]]);
      sum += term;
      fmt::format_to(to, "{}{:.3f}", t == 0 ? "" : " + ", term);
    }
    fmt::format_to(to, " = {:.3f}\n", sum);
  }
  const std::vector<int64_t> guessed = argmax(outputs, -1).to_vector<int64_t>();
  out += said("   mean of both: {:.3f}\n", nn::sequence_loss(outputs, target).item());
  out += said(
      "4. Most likely tokens: {} and {}\n"
      "   exact match: [{}, {}]; accuracy {:.1f}\n"
      "   Accuracy is exact match: one wrong token makes a tree wrong.\n",
      std::vector(guessed.begin(), guessed.begin() + 4), std::vector(guessed.begin() + 4, guessed.end()),
      std::equal(guessed.begin(), guessed.begin() + 4, right.begin()) ? "True" : "False",
      std::equal(guessed.begin() + 4, guessed.end(), right.begin() + 4) ? "True" : "False",
      nn::exact_match(outputs, target));
}

}  // namespace

std::string explain_parser(const std::vector<Tree>& examples, TreeForm form) {
  const bool from_tutorial = examples.empty();
  std::vector<Tree> trees = examples;
  if (from_tutorial)
    for (const char* text : {"y=7/7", "x=4/3", "x=1*4"}) trees.push_back(parse_expression(text));
  const Tree shown = from_tutorial ? parse_expression("x=3+8") : trees.front();
  std::string out;
  explain_data(out, shown, form, from_tutorial);
  explain_examples(out, trees, form);
  explain_masks(out, trees, form);
  explain_parser_loss(out);
  return drawing::wrapped(out);
}

}  // namespace tapegrad::tasks
