// Expressions, trees and tokens: all conversions, every fault of a text; the parser task, and its runs by the command.
#include <tapegrad/tasks/seq2seq/parser/parser.h>
#include <tapegrad/tasks/seq2seq/parser/tree_drawing.h>
#include <tapegrad/tasks/seq2seq/sample.h>
#include <tapegrad/tests/support/runs/tiny_run.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/tutorials/explain/explain.h>

namespace tapegrad::tasks {
namespace {

using namespace tests;
using Row = std::vector<int64_t>;

Tree digit(int d) { return {ExpressionTokens::kDigit + d, {}}; }
Tree op(char sign, const Tree& left, const Tree& right) {
  return {ExpressionTokens::kAdd + static_cast<int64_t>(std::string_view("+-*/").find(sign)), {left, right}};
}
Tree x_is(const Tree& value) { return {ExpressionTokens::kAssign, {{ExpressionTokens::kVariable, {}}, value}}; }

RunOptions options_of(int64_t depth) {
  RunOptions o = ParserTask::defaults();
  o.of<ParserTask>().depth = depth;
  ParserTask::adapt(o, {"depth"});
  resolve(o);
  return o;
}

// Of a model that learns nothing, in one epoch of this many steps.
RunOptions small_options_of(int64_t depth, int64_t steps) {
  RunOptions o = options_of(depth);
  o.config.hidden_size = o.config.intermediate_size = 8;
  o.config.num_hidden_layers = o.num_epochs = 1;
  o.steps_per_epoch = steps;
  resolve(o);
  return o;
}

TEST(Expression, Precedence) {
  EXPECT_EQ(parse_expression("x=1+2"), x_is(op('+', digit(1), digit(2))));
  EXPECT_EQ(parse_expression("x=1+2*3"), x_is(op('+', digit(1), op('*', digit(2), digit(3)))));
  EXPECT_EQ(parse_expression("x=1*2+3"), x_is(op('+', op('*', digit(1), digit(2)), digit(3))));
  EXPECT_EQ(parse_expression("x=(1+2)*3"), x_is(op('*', op('+', digit(1), digit(2)), digit(3))));
  EXPECT_EQ(parse_expression("x=1-2-3"), x_is(op('-', op('-', digit(1), digit(2)), digit(3))));
  EXPECT_EQ(parse_expression("x=1-(2-3)"), x_is(op('-', digit(1), op('-', digit(2), digit(3)))));
  EXPECT_EQ(parse_expression("x=8/4/2"), x_is(op('/', op('/', digit(8), digit(4)), digit(2))));
  EXPECT_EQ(parse_expression("  x = ( ( 7 ) ) /\t9 "), x_is(op('/', digit(7), digit(9))));
}

TEST(Expression, ParenthesesOnlyIfNeeded) {
  for (const char* text : {"x=1+2+3", "y=1-(2-3)", "z=1*(2/3)", "x=(1+2)*(3-4)", "y=1+2*3-4/5", "z=(1*2+3)/4",
                           "x=1+(2+3)", "x=((1+2)*3+4)*5"})
    EXPECT_EQ(expression_text(parse_expression(text)), text);
  EXPECT_EQ(expression_text(parse_expression("x=((1)+(2*3))")), "x=1+2*3");
}

TEST(Expression, RoundTrips) {
  NumpyRandom stream(5);
  for (int depth = 1; depth <= ParserTask::kDeepest; ++depth) {
    std::size_t longest_in = 0, longest_out = 0;
    for (int i = 0; i < 3000; ++i) {
      const Tree tree = draw_expression(stream, depth);
      ASSERT_EQ(parse_expression(expression_text(tree)), tree) << expression_text(tree);
      ASSERT_LE(operator_depth(tree), depth);
      const Row in = expression_tokens(tree), brackets = linearise(tree, TreeForm::brackets);
      std::string text;
      for (const int64_t token : in) text += token_name(token);
      ASSERT_EQ(text, expression_text(tree));
      Row padded = brackets;
      padded.resize(brackets.size() + 3);
      const ReadTree read = read_tree(padded, TreeForm::brackets);
      ASSERT_TRUE(read.whole);
      ASSERT_EQ(read.tree, tree);
      ASSERT_EQ(read.used, brackets.size());
      longest_in = std::max(longest_in, in.size());
      longest_out = std::max(longest_out, brackets.size());
      if (operator_depth(tree) == 1) {
        const Row flat = linearise(tree, TreeForm::flat);
        ASSERT_EQ(read_tree(flat, TreeForm::flat).tree, tree);
        ASSERT_TRUE(read_tree(flat, TreeForm::flat).whole);
      }
    }
    EXPECT_LE(longest_in, static_cast<std::size_t>(longest_expression(depth)));
    EXPECT_LE(longest_out, static_cast<std::size_t>(longest_tree(depth, TreeForm::brackets)));
  }
}

TEST(Expression, LongestRowsAreReached) {
  Tree tree = digit(1);
  for (int depth = 1; depth <= 4; ++depth) {
    tree = op(depth % 2 == 1 ? '+' : '*', tree, tree);  // a product of sums, a sum of products in parentheses or not
    EXPECT_EQ(static_cast<int64_t>(linearise(x_is(tree), TreeForm::brackets).size()),
              longest_tree(depth, TreeForm::brackets));
  }
  // Right operands of the same precedence and sums under products need parentheses: three operators, two pairs.
  EXPECT_EQ(static_cast<int64_t>(expression_tokens(parse_expression("x=(1+2)*(3+4)")).size()), longest_expression(2));
  EXPECT_EQ(longest_expression(1), 5);
  EXPECT_EQ(longest_expression(3), 29);
}

TEST(Expression, FaultsNameTheirColumn) {
  expect_said("tasks/errors/texts.txt", "expressions",
              [](const std::string& text) { return error_of([&] { parse_expression(text); }); });

  std::string deep = "x=";
  deep += std::string(65, '(') + "1";
  expect_parts(error_of([&] { parse_expression(deep); }),
               {"column 67: expected at most 64 nested parentheses, got '('"});
  EXPECT_ERROR(parse_expression("x=" + std::string(5000, '1')));
  // Of a long text, only the part around the fault is shown.
  std::string many = "x=1";
  for (int i = 0; i < 500; ++i) many += "+1";
  EXPECT_ERROR(parse_expression(many + "!"));
  EXPECT_EQ(operator_depth(parse_expression(many)), 500);
}

TEST(Trees, RowsThatAreNotATree) {
  const auto flat = [](const Row& row) { return read_tree(row, TreeForm::flat); };
  EXPECT_TRUE(flat({6, 11, 7, 15, 16}).whole);
  for (const Row& row :
       {Row{}, {11}, {6, 15, 7, 15, 16}, {6, 11, 15, 15, 16}, {6, 11, 7, 7, 16}, {6, 11, 7, 15}, {6, 99}})
    EXPECT_FALSE(flat(row).whole);
  // The part before the fault is kept.
  EXPECT_EQ(list_text(flat({6, 11, 7, 15, 7}).tree), "['ASSIGN', 'x', ['ADD', '1']]");

  const Tree tree = parse_expression("y=1+2*3");
  const Row row = linearise(tree, TreeForm::brackets);
  EXPECT_EQ(list_text(row), "['[', 'ASSIGN', 'y', '[', 'ADD', '1', '[', 'MUL', '2', '3', ']', ']', ']']");
  EXPECT_EQ(list_text(tree), "['ASSIGN', 'y', ['ADD', '1', ['MUL', '2', '3']]]");
  for (std::size_t length = 0; length < row.size(); ++length)
    EXPECT_FALSE(read_tree(std::span(row).first(length), TreeForm::brackets).whole) << length;
  for (std::size_t i = 0; i < row.size(); ++i) {
    Row bad = row;
    bad[i] = ExpressionTokens::kEquals;
    EXPECT_FALSE(read_tree(bad, TreeForm::brackets).whole) << i;
  }
}

TEST(Trees, AreCompared) {
  const Tree truth = parse_expression("x=1+2*3");
  EXPECT_EQ(count_nodes(truth), 7);
  EXPECT_EQ(count_same_nodes(truth, truth), 7);
  EXPECT_EQ(count_same_nodes(truth, parse_expression("x=1+2*4")), 6);
  EXPECT_EQ(count_same_nodes(truth, parse_expression("x=(1+2)*3")), 2);  // ASSIGN and x
  EXPECT_TRUE(same_structure(truth, parse_expression("z=9+8*7")));
  EXPECT_FALSE(same_structure(truth, parse_expression("x=1-2*3")));
  EXPECT_FALSE(same_structure(truth, parse_expression("x=1*2+3")));
}

TEST(Trees, AreDrawn) {
  const Tree tree = parse_expression("x=1+2*3"), other = parse_expression("x=1+4");
  EXPECT_EQ(draw_tree_text(tree), "ASSIGN\n├── x\n└── ADD\n    ├── 1\n    └── MUL\n        ├── 2\n        └── 3\n");
  EXPECT_EQ(draw_tree_text(other, &tree),
            "ASSIGN\n├── x\n└── ADD\n    ├── 1\n    └── 4 (MUL is right)\n        ├── (missing: 2)\n        └── "
            "(missing: 3)\n");
  EXPECT_EQ(draw_tree_text(tree, &other),
            "ASSIGN\n├── x\n└── ADD\n    ├── 1\n    └── MUL (4 is right)\n        ├── 2 (should not be)\n        └── 3 "
            "(should not be)\n");
  const drawing::Drawing drawing = draw_tree(tree, "x=1+2*3", &other);
  expect_parts(drawing.body, {">ASSIGN</text>", ">MUL</text>", "class=\"node wrong\"", "class=\"branch\"", "x=1+2*3"});
  EXPECT_EQ(draw_tree_text(read_tree(Row{11}, TreeForm::flat).tree), "?\n");
}

TEST(ParserTask, AllFlatExpressionsOnce) {
  std::set<std::string> texts;
  for (const Tree& tree : every_flat_expression()) {
    EXPECT_EQ(operator_depth(tree), 1);
    texts.insert(expression_text(tree));
  }
  EXPECT_EQ(texts.size(), 1200U);
  EXPECT_TRUE(texts.count("x=0+0") == 1 && texts.count("z=9/9") == 1);
}

TEST(ParserTask, PaddingIsMaskedAndNotCounted) {
  const RunOptions options = options_of(3);
  const ParserTask task(options);
  const Tree small = parse_expression("x=1+2"), large = parse_expression("y=(1+2)*(3-4*5)");
  const Batch one = task.batch_of(std::vector<Tree>{small}), both = task.batch_of(std::vector<Tree>{small, large});
  EXPECT_GT(both.source.size(1), one.source.size(1));
  EXPECT_GT(both.target.size(1), one.target.size(1));
  EXPECT_EQ(both.target[0].to_vector<int64_t>().back(), 0);

  // Log-probabilities that say p at every right token, and anything at padding.
  const int64_t vocab = options.config.vocab_size;
  const auto outputs = [&](const Batch& batch, double p, double at_padding) {
    const Tensor hot = one_hot(batch.target, vocab).to(kFloat32);
    const Tensor real = ne(batch.target, 0.0).unsqueeze(-1);
    const Tensor rest = full(hot.shape(), (1 - p) / static_cast<double>(vocab - 1));
    return log(where(real, hot * p + (1.0 - hot) * rest, at_padding));
  };
  const auto tokens_of = [](const Tree& t) { return static_cast<double>(linearise(t, TreeForm::brackets).size()); };
  for (const double at_padding : {0.9, 0.001}) {
    EXPECT_NEAR(task.loss(outputs(both, 0.5, at_padding), both.target).item(),
                std::log(2.0) * (tokens_of(small) + tokens_of(large)) / 2, 1e-4);
    const Tensor predicted = predicted_tokens(task, outputs(both, 0.5, at_padding), both.target);
    EXPECT_EQ(accuracy(task, predicted, both.target), 1.0);
  }

  // The model's answer to an expression does not depend on padding.
  manual_seed(3);
  nn::Transformer model(options.model());
  nn::eval(model);
  const Tensor alone =
      model(one.source, shifted(task, one.target), task.source_mask(one.source), nn::causal_mask(one.target.size(1)));
  const Tensor padded = model(both.source, shifted(task, both.target), task.source_mask(both.source),
                              nn::causal_mask(both.target.size(1)));
  expect_near(narrow(narrow(padded, 0, 0, 1), 1, 0, one.target.size(1)).contiguous(), alone);
}

TEST(ParserTask, TestSetIsUnseen) {
  RunOptions options = small_options_of(2, 5);
  ParserTask task(options);
  const std::vector<std::string> seen = task.training_expressions();
  EXPECT_GT(seen.size(), 100U);
  Generator generator(9);
  for (int i = 0; i < 5; ++i) {
    const Batch batch = task.draw_training(options.batch_size, generator);
    for (const Answer& row : answers_of(task, batch, batch.target, options.batch_size)) {
      const Tree tree = read_tree(row.target, task.form()).tree;
      EXPECT_TRUE(std::binary_search(seen.begin(), seen.end(), expression_text(tree)));
    }
  }
  const TestSet test_set = task.test_set(300, generator);
  EXPECT_EQ(test_set.examples.source.size(0), 300);
  const std::vector<Answer> right = answers_of(task, test_set.examples, test_set.examples.target, 300);
  for (const Answer& row : right) {
    const Tree tree = read_tree(row.target, task.form()).tree;
    EXPECT_FALSE(std::binary_search(seen.begin(), seen.end(), expression_text(tree)));
  }
  const ParserScore all = score_trees(task.form(), right);
  EXPECT_EQ(all.exact, 300);
  EXPECT_EQ(all.right_nodes, all.nodes);
  EXPECT_EQ(all.by_depth[0].expressions + all.by_depth[1].expressions, 300);

  manual_seed(1);
  nn::Transformer model(options.model());
  nn::eval(model);
  const Tensor guessed = decode(task, model, test_set.examples.source, test_set.examples.target.size(1));
  const ParserScore none = score_trees(task.form(), answers_of(task, test_set.examples, guessed, 300));
  EXPECT_EQ(none.exact, 0);
  EXPECT_LT(none.right_nodes, none.nodes);
}

TEST(ParserTask, AnswersEndWithTheirTree) {
  const ParserTask task(options_of(3));
  const Tokens row = linearise(parse_expression("y=1+2*3"), TreeForm::brackets);
  for (std::size_t length = 1; length <= row.size(); ++length)
    EXPECT_EQ(task.ends_answer(std::span(row).first(length)), length == row.size()) << length;
  EXPECT_TRUE(task.ends_answer(Tokens{5}));
  EXPECT_FALSE(ParserTask(options_of(1)).ends_answer(Tokens{6, 11}));
}

TEST(ParserTask, InvalidSettings) {
  RunOptions o = ParserTask::defaults();
  o.of<ParserTask>().depth = 3;
  EXPECT_ERROR(resolve(o));
  o.config.vocab_size = 29;
  o.config.max_position_embeddings = 32;
  EXPECT_ERROR(resolve(o));
  o = ParserTask::defaults();
  o.config.vocab_size = 24;
  EXPECT_EQ(error_of([&] { resolve(o); }), "[--vocab-size] expected at least 25, the tokens of expressions, got 24");
  EXPECT_ERROR(ParserTask(options_of(2)).read_expression("x=1+2*(3-4)"));
}

using ParserCommand = InAFolder;

TEST_F(ParserCommand, Explains) {
  const Ran ran = successful(run_command({"explain", "parser"}));
  EXPECT_EQ(ran.out, explain_parser({}, TreeForm::flat));
  const Ran nested = successful(run_command({"explain", "parser", "--expression", "y=(1+2)*3"}));
  expect_parts(nested.out, {"y = ( 1 + 2 ) * 3", "[12, 1, 25, 15, 2, 16, 26, 4, 17]",
                            "[27, 6, 12, 27, 9, 27, 7, 15, 16, 28, 17, 28, 28]", "   └── MUL\n       ├── ADD\n"});
  expect_parts(run_command({"explain", "parser", "--seed", "4"}).out, {"=== 1 parsing example ===", "1.101"});
  expect_parts(run_command({"explain", "parser", "--num-examples", "4", "--seed", "3"}).out,
               {"=== 4 parsing examples ===", "Example 4:"});
}

TEST_F(ParserCommand, NestedRunFromTrainingToPicture) {
  const std::string out = folder / "run";
  const Ran trained = train_tiny(folder, "parser", "run", {"--depth", "2"});
  expect_parts(trained.out, {"Epoch 0, Average Loss: ", ", Final Accuracy: ", ", Learning Rate: ",
                             "=== Prediction Result Samples ===", "Input: ", "Prediction: ", "Truth: ['ASSIGN', '",
                             "Result: Incorrect", "=== Loss calculation details (step 20) ===", "wrong"});
  const std::string report = slurp(out + "/report.html");
  expect_parts(report, {"class=\"node", "class=\"label\"", "--depth", "--data-seed"});
  EXPECT_EQ(report.find("http://"), std::string::npos);

  const CommandLine test{{"test", "parser"}, folder};
  const Ran rates = successful(test({"--count", "60", "--target", "0"}));
  expect_parts(rates.out, {"60 expressions up to depth 2 that training has not sampled", "exact match", "node accuracy",
                           "structure", "well-formed", "depth  expressions  exact trees", "Input: y=(1+2)*3"});
  const Json told = Json::parse(test({"--count", "60", "--target", "0", "--json"}).out);
  EXPECT_EQ(told["count"], 60);
  EXPECT_TRUE(told["node_accuracy"].is_number());
  EXPECT_TRUE(told["by_depth"].is_array());

  const Ran one = successful(test({"--expression", "x = 1+2*3", "--draw", folder / "tree.svg"}));
  expect_parts(one.out, {"Input Expression: x = 1 + 2 * 3\n", "Predicted Parse Tree: ",
                         "Actual Parse Tree: ['ASSIGN', 'x', ['ADD', '1', ['MUL', '2', '3']]]", "Correct: "});
  EXPECT_NE(slurp(folder / "tree.svg").find("</svg>"), std::string::npos);
  EXPECT_EQ(test({"--expression", "x=1+2", "--draw", folder / "tree.html"}).code, 0);
  EXPECT_NE(slurp(folder / "tree.html").find("</html>"), std::string::npos);

  successful(run_command({"attention", "parser", "--expression", "x=1*(2-3)"}, folder));
  EXPECT_NE(slurp(out + "/attention.html").find("</html>"), std::string::npos);

  expect_errors("tasks/errors/runs.txt", "tests of a parser", folder);
}

TEST_F(ParserCommand, NestedTreesFitIntoEightyColumns) {
  const Ran trained = train_tiny(folder, "parser", "run", {"--depth", "3", "--steps-per-epoch", "2"});
  expect_narrow(trained.out);
  expect_parts(trained.out, {"predicted, below it the target; exact match", "\n      [ ASSIGN "});
  const std::string report = slurp(folder / "run/report.html");
  EXPECT_EQ(report.find("[["), std::string::npos);
  EXPECT_EQ(report.find(", ]"), std::string::npos);

  const Ran one = successful(run_command({"test", "parser", "--expression", "x=(1+2)*3-4/(5+6)"}, folder));
  expect_narrow(one.out);
  expect_parts(one.out,
               {"Actual Parse Tree: ['ASSIGN', 'x', ['SUB', ['MUL', ['ADD', '1', '2'], '3'],\n    ['DIV', '4',"});
  expect_narrow(run_command({"test", "parser", "--count", "20", "--target", "0"}, folder).out);
  expect_narrow(run_command({"attention", "parser", "--expression", "x=(1+2)*3-4/(5+6)"}, folder).out);
}

TEST_F(ParserCommand, FlatRun) {
  const Ran trained = train_tiny(folder, "parser", "run");
  expect_narrow(trained.out);
  const Ran ran = successful(run_command({"test", "parser", "--target", "0"}, folder));
  expect_narrow(ran.out);
  expect_parts(ran.out, {"All 1200 expressions", "(0 of 1200)", "=== Additional Tests ===", "Input: x=1+2"});
  EXPECT_TEXT(rejected(run_command({"test", "parser", "--expression", "x=1+2*3"}, folder)));
}

// The data seed defaults to the seed, and has an effect on the data only.
TEST_F(ParserCommand, DataSeed) {
  RunOptions options = ParserTask::defaults();
  options.seed = 7;
  ParserTask by_seed(options);
  options.of<ParserTask>().data_seed = 7;
  options.seed = 1;
  ParserTask named(options);
  Generator generator(0);
  EXPECT_EQ(by_seed.draw_training(9, generator).source.to_vector<int64_t>(),
            named.draw_training(9, generator).source.to_vector<int64_t>());
}

}  // namespace
}  // namespace tapegrad::tasks
