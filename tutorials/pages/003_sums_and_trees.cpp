// Tutorial 003, sections 8.5.2 and 8.5.3: the addition task and the parser task.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/seq2seq/addition/addition.h>
#include <tapegrad/tasks/seq2seq/parser/expression.h>
#include <tapegrad/tasks/seq2seq/parser/parser.h>
#include <tapegrad/tasks/seq2seq/parser/tree_drawing.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/pages/runs.h>
#include <tapegrad/tutorials/show/show.h>

namespace tapegrad::tasks::tutorial {
namespace {

std::string tokens_as_row(const std::vector<int64_t>& tokens) { return fmt::format("{}", fmt::join(tokens, " ")); }

std::vector<Number> numbers_of_addition() {
  const Batch batch = addition_batch(tensor({153}), tensor({391}), 3);
  const StoredRun& run = stored_run("addition");
  return {same("Maximum Digits", std::to_string(AdditionTask::Settings{}.max_digits)),
          same("Original Tensor Shape (input)", plain_shape(batch.source)),
          same("Full Input", rows_of(batch.source, 0)),
          same("Original Tensor Shape (target)", plain_shape(batch.target)),
          same("Actual Sum", std::to_string(153 + 391)),
          same("Target Sequence", rows_of(batch.target, 0)),
          drawn("Epoch 0: Average Loss, Final Accuracy", numbers_of_epoch(run, 0)),
          drawn("Epoch 5: Average Loss, Final Accuracy", numbers_of_epoch(run, 5)),
          drawn("Calculated Loss (Step: 3000)", std::string(run.last.substr(0, run.last.find(' ')))),
          drawn("Calculated Accuracy", std::string(run.last.substr(run.last.find(' ') + 1))),
          drawn("Addition Test (Digits: 3)", plain(run.tests)),
          own(origin_of(run))};
}

// All problems of three digits, by their carries.
struct CarryCounts {
  std::vector<double> by_count = std::vector<double>(4);
  double chained = 0, with_zero = 0, zeros = 0;
};

CarryCounts count_carries() {
  CarryCounts counts;
  const auto zeros_of = [](int64_t n) { return (n % 10 == 0) + (n / 10 % 10 == 0) + (n / 100 == 0); };
  for (int64_t a = 0; a < 500; ++a) {
    for (int64_t b = 0; b < 500; ++b) {
      const Carries carries = carries_of(a, b);
      counts.by_count[static_cast<std::size_t>(carries.count)] += 100. / 250'000;
      counts.chained += carries.chained ? 100. / 250'000 : 0;
      const int zeros = zeros_of(a) + zeros_of(b);
      counts.zeros += zeros / 6. * 100. / 250'000;
      counts.with_zero += zeros > 0 ? 100. / 250'000 : 0;
    }
  }
  return counts;
}

std::vector<Figure> figures_of_addition() {
  const CarryCounts counts = count_carries();
  const Batch batch = addition_batch(tensor({310, 153, 499, 7}), tensor({98, 391, 499, 25}), 3);
  return {{.panels = {draw_matrix(said("Source"), batch.source.to(kFloat32), {"310+98", "153+391", "499+499", "7+25"},
                                  {"a", "a", "a", "+", "b", "b", "b"}, 0, 20, 0),
                      draw_matrix(said("Target"), batch.target.to(kFloat32), {"408", "544", "998", "32"},
                                  {"c", "c", "c"}, 0, 20, 0)}},
          {draw(drawing::BarChart{.title = said("Problems by carries, in percent"),
                                  .labels = {said("none"), said("one"), said("two"), said("three"), said("chained")},
                                  .series = {{.name = said("share"),
                                              .y = {counts.by_count[0], counts.by_count[1], counts.by_count[2],
                                                    counts.by_count[3], counts.chained}}},
                                  .width = 420})},
          {curve_of(stored_run("addition"))}};
}

// The tokens of 310+098 under the tutorial's padding mask, with scores of seed 0.
std::string sum_as_mask() {
  Generator generator(0);
  const Tensor ids = addition_batch(tensor({310}), tensor({98}), 3).source[0];
  return json_of_mask({"3", "1", "0", "+", "0", "9", "8"}, randn({7, 7}, kFloat32, &generator), ids != 0);
}

std::string hidden_digits() {
  const CarryCounts counts = count_carries();
  return said("digits that are 0, and so hidden:      {:.1f} %\nproblems with at least one such digit: {:.1f} %\n",
              counts.zeros, counts.with_zero);
}

std::string addition_loss() {
  const Tensor p = given::added();
  const Tensor target = tensor({{1, 2, 0}});
  return said("AdditionLoss of the numbers as logits: {:.4f}\nAdditionLoss of their logarithms:      {:.4f}\n",
              nn::sequence_loss(p, target).item(), nn::sequence_loss(log(p), target).item());
}

std::vector<Number> numbers_of_parser() {
  const Tree shown = parse_expression("x=3+8");
  const std::vector<int64_t> in = expression_tokens(shown), out = linearise(shown, TreeForm::flat);
  const RunOptions options = ParserTask::defaults();
  std::vector<Number> numbers{
      same("Max Tokens", std::to_string(in.size())), same("Original Tensor Shape", fmt::format("1 {}", out.size())),
      different("Expression", spaced_text(in)),      same("Tokenized Input", tokens_as_row(in)),
      same("Tokenized Output", tokens_as_row(out)),
  };
  for (const std::string_view example : {"y=7/7", "x=4/3", "x=1*4"}) {
    const Tree tree = parse_expression(example);
    numbers.push_back(same(fmt::format("{}: Expression Tokens", example), tokens_as_row(expression_tokens(tree))));
    numbers.push_back(same(fmt::format("{}: Tree Tokens", example), tokens_as_row(linearise(tree, TreeForm::flat))));
  }
  numbers.push_back(same("Batch Size", std::to_string(options.batch_size)));
  numbers.push_back(same("Steps per Epoch", std::to_string(options.steps_per_epoch)));
  const StoredRun& run = stored_run("parser");
  numbers.push_back(drawn("Epoch 0: Average Loss, Final Accuracy", numbers_of_epoch(run, 0)));
  numbers.push_back(drawn("Epoch 5: Average Loss, Final Accuracy", numbers_of_epoch(run, 5)));
  numbers.push_back(different("Additional Tests", plain(run.tests)));
  numbers.push_back(own(origin_of(run)));
  return numbers;
}

std::vector<Figure> figures_of_parser() {
  return {{.panels = {draw_tree(parse_expression("y=7/7"), "y=7/7"), draw_tree(parse_expression("x=4/3"), "x=4/3"),
                      draw_tree(parse_expression("x=1*4"), "x=1*4")}},
          {draw_tree(parse_expression("x=(1+2)*3-4/5"), "x=(1+2)*3-4/5")},
          {curve_of(stored_run("parser"))}};
}

// The tree of y=7/7 while the decoder writes it: what it has read after the start, 0, under
// the causal mask; scores of seed 0.
std::string tree_as_mask() {
  Generator generator(0);
  return json_of_mask({"0", "ASSIGN", "y", "DIV", "7"}, randn({5, 5}, kFloat32, &generator), tril(ones({5, 5})));
}

std::string digits_one_too_high() {
  std::string out = said("printed by the tutorial    what its tokens mean\n");
  for (const auto& [printed, real] : {std::pair{"x=1+2 -> ADD 2 3", "x=1+2"}, {"y=3*4 -> MUL 4 5", "y=3*4"}})
    out += fmt::format("{:<26} {}\n", printed, list_text(linearise(parse_expression(real), TreeForm::flat)));
  return out;
}

std::string parser_loss() {
  const Tensor p = given::parsed();
  const Tensor target = tensor({{1, 0, 3, 2}, {1, 0, 4, 2}});
  return said("loss of the numbers as logits: {:.4f}\nloss of their logarithms:      {:.4f}\n",
              nn::sequence_loss(p, target).item(), nn::sequence_loss(log(p), target).item());
}

}  // namespace

const Computation k003_8_5_2{
    "003-8.5.2", numbers_of_addition, figures_of_addition, {sum_as_mask}, {hidden_digits, addition_loss}};
const Computation k003_8_5_3{
    "003-8.5.3", numbers_of_parser, figures_of_parser, {tree_as_mask}, {digits_one_too_high, nullptr, parser_loss}};

}  // namespace tapegrad::tasks::tutorial
