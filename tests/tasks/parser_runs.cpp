// The parser task in the command: explaining, training, testing, drawing, resuming, and every wrong request.
#include <tapegrad/tasks/seq2seq/parser/parser.h>
#include <tapegrad/tests/support/in_training.h>
#include <tapegrad/tests/support/runs/tiny_run.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/tutorials/explain/explain.h>

#include <chrono>

namespace tapegrad::tasks {
namespace {

using namespace tests;

using ParserCommand = InAFolder;

TEST_F(ParserCommand, Explains) {
  const Ran ran = successful(run_command({"explain", "parser"}));
  EXPECT_EQ(ran.out, explain_parser({}, TreeForm::flat));
  const Ran nested = successful(run_command({"explain", "parser", "--expression", "y=(1+2)*3"}));
  expect_parts(nested.out, {"y = ( 1 + 2 ) * 3", "[12, 1, 25, 15, 2, 16, 26, 4, 17]",
                            "[27, 6, 12, 27, 9, 27, 7, 15, 16, 28, 17, 28, 28]", "   └── MUL\n       ├── ADD\n"});
  expect_parts(run_command({"explain", "parser", "--seed", "4"}).out, {"=== 1 parsing example ===", "1.101"});
  for (const char* text : {"x=3+8", "z=(9-8*7)/6*(5+4)"}) {
    std::istringstream told(run_command({"explain", "parser", "--expression", text}).out);
    for (std::string line; std::getline(told, line);) EXPECT_LE(line.size(), 80u) << line;
  }
}

TEST_F(ParserCommand, NestedRunFromTrainingToPicture) {
  const std::string out = folder / "run";
  const Ran trained = successful(run_command(tiny_run("parser", out, {"--depth", "2"}), folder));
  expect_parts(trained.out, {"Epoch 0, Average Loss: ", ", Final Accuracy: ", ", Learning Rate: ",
                             "=== Prediction Result Samples ===", "Input: ", "Prediction: ", "Truth: ['ASSIGN', '",
                             "Result: Incorrect", "=== Loss calculation details (step 20) ===", "wrong"});
  const std::string report = slurp(out + "/report.html");
  expect_parts(report, {"class=\"node", "class=\"label\"", "--depth", "--data-seed"});
  EXPECT_EQ(report.find("http://"), std::string::npos);

  const auto test = [&](const Arguments& more) { return run_command(joined({"test", "parser"}, more), folder); };
  const Ran rates = successful(test({"--count", "60", "--target", "0"}));
  expect_parts(rates.out, {"60 expressions up to depth 2 that training has not sampled", "exact match", "node accuracy",
                           "structure", "well-formed", "depth  expressions  exact trees", "Input: y=(1+2)*3"});
  expect_error(test({"--count", "60"}), 1, {"[test parser] exact match", "is below the target 0.99"});
  const nlohmann::json told = nlohmann::json::parse(test({"--count", "60", "--target", "0", "--json"}).out);
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

  expect_error(test({"--expression", "x=1%2"}), 2,
               {"[--expression] \"x=1%2\": column 4: expected an operator (+ - * /), got '%'"});
  expect_error(test({"--expression", "x=1+\n2"}), 2, {"column 5: expected a digit or (, got '\\n'"});
  expect_error(test({"--expression", "x=1+2*(3-4)"}), 2, {"nesting depth 3", "--depth 2"});
  expect_error(test({"--expression", "x=1+2", "--draw", folder / "tree.png"}), 2, {"[--draw]", "tree.png"});
  expect_error(test({"--expression", "x=1+2", "--draw", folder / "none/tree.svg"}), 2, {"[--draw]", "none/tree.svg"});
  expect_error(test({"--draw", folder / "tree.svg"}), 2, {"[--draw]", "--expression"});
  expect_error(run_command({"test", "copy", "--model", out + "/model.safetensors"}), 2,
               {"[--model]", "was trained for the task parser, not for copy"});
}

TEST_F(ParserCommand, NestedTreesFitIntoEightyColumns) {
  const Ran trained =
      successful(run_command(tiny_run("parser", "run", {"--depth", "3", "--steps-per-epoch", "2"}), folder));
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
  const Ran trained = successful(run_command(tiny_run("parser", folder / "run"), folder));
  expect_narrow(trained.out);
  const Ran ran = successful(run_command({"test", "parser", "--target", "0"}, folder));
  expect_narrow(ran.out);
  expect_parts(ran.out, {"All 1200 expressions", "(0 of 1200)", "=== Additional Tests ===", "Input: x=1+2"});
  expect_error(run_command({"test", "parser", "--expression", "x=1+2*3"}, folder), 2,
               {"[--expression]", "nesting depth 2", "--depth 1"});
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
