// Tutorial 003, section 8.5.3: the parser's printed tokens and loss, and its first batches.
#include <tapegrad/tasks/seq2seq/parser/parser.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/tutorials/explain/explain.h>

namespace tapegrad::tasks {
namespace {

using Row = std::vector<int64_t>;

TEST(Tutorial003_8_5_3, PrintedTokens) {
  const auto expect = [](const char* text, const Row& in, const Row& out, const char* list) {
    const Tree tree = parse_expression(text);
    EXPECT_EQ(expression_tokens(tree), in);
    EXPECT_EQ(linearise(tree, TreeForm::flat), out);
    EXPECT_EQ(list_text(tree), list);
    EXPECT_EQ(read_tree(out, TreeForm::flat).tree, tree);
  };
  expect("y=7/7", {12, 1, 21, 5, 21}, {6, 12, 10, 21, 21}, "['ASSIGN', 'y', ['DIV', '7', '7']]");
  expect("x=4/3", {11, 1, 18, 5, 17}, {6, 11, 10, 18, 17}, "['ASSIGN', 'x', ['DIV', '4', '3']]");
  expect("x=1*4", {11, 1, 15, 4, 18}, {6, 11, 9, 15, 18}, "['ASSIGN', 'x', ['MUL', '1', '4']]");
  // The tutorial prints "x = 4 + 9", because it encodes digits with 14 and decodes them with 13.
  expect("x=3+8", {11, 1, 17, 2, 22}, {6, 11, 7, 17, 22}, "['ASSIGN', 'x', ['ADD', '3', '8']]");
  EXPECT_EQ(token_name(23), "9");
}

TEST(Tutorial003_8_5_3, ExplainsWithTheTutorialsFigures) {
  const std::string text = explain_parser({}, TreeForm::flat);
  tests::expect_parts(
      text, {"Expression: x = 3 + 8", "[11, 1, 17, 2, 22]", "[6, 11, 7, 17, 22]", "Generated expression: y=7/7",
             "Parse tree: ['ASSIGN', 'y', ['DIV', '7', '7']]", "Expression tokens: [12, 1, 21, 5, 21]",
             "Tree tokens: [6, 12, 10, 21, 21]", "Padded expression tokens: [11, 1, 18, 5, 17]",
             "Padded tree tokens: [6, 11, 9, 15, 18]", "0.357 + 0.223 + 0.357 + 0.223 = 1.160",
             "0.223 + 0.357 + 0.357 + 0.105 = 1.042", "mean of both: 1.101", "[1, 0, 3, 2] and [1, 0, 4, 2]",
             "[True, True]; accuracy 1.0", "[0,1,0,0,0], [1,0,0,0,0], [0,0,0,1,0], [0,0,1,0,0]"});
}

TEST(Tutorial003_8_5_3, FirstBatches) {
  RunOptions options = ParserTask::defaults();
  resolve(options);
  ParserTask task(options);
  for (const std::string row : tests::stored("parser_curves.json")["first_batches"]) {
    std::istringstream texts(row);
    const Batch batch = task.draw_training(64, default_generator());
    int64_t i = 0;
    for (std::string text; texts >> text; ++i) {
      const Tree tree = parse_expression(text);
      EXPECT_EQ(batch.source[i].to_vector<int64_t>(), expression_tokens(tree));
      EXPECT_EQ(batch.target[i].to_vector<int64_t>(), linearise(tree, TreeForm::flat));
    }
    EXPECT_EQ(i, 64);
  }
}

}  // namespace
}  // namespace tapegrad::tasks
