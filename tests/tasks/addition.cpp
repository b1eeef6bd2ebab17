// The addition task in the command: its options, answers and files, and every wrong request.
#include <tapegrad/tasks/seq2seq/addition/addition.h>
#include <tapegrad/tasks/settings/settings.h>
#include <tapegrad/tests/support/runs/tiny_run.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tasks {
namespace {

using namespace tests;

TEST(Expression, IsReadWithAndWithoutSpaces) {
  const AdditionTask task(AdditionTask::defaults());
  for (const char* text : {"310+98", " 310 + 98 ", "310 +098", "310+0098"}) {
    const Batch example = task.read_expression(text);
    EXPECT_EQ(example.source.to_vector<int64_t>(), (Tokens{3, 1, 0, 10, 0, 9, 8})) << text;
    EXPECT_EQ(example.target.to_vector<int64_t>(), (Tokens{4, 0, 8})) << text;
  }
}

TEST(Expression, ErrorsPointAtTheCharacter) {
  const AdditionTask task(AdditionTask::defaults());
  expect_said("tasks/errors/texts.txt", "sums",
              [&](const std::string& text) { return error_of([&] { task.read_expression(text); }); });
}

TEST(Draws, AreRecordedAndLeftOutOfTheTestSet) {
  RunOptions options = tiny_options("addition");
  options.of<AdditionTask>().max_digits = 2;  // operands below 50: 2,500 problems
  AdditionTask task(options);
  Generator generator(3);
  std::set<Tokens> drawn;
  const auto rows = [&](const Batch& batch) { return answers_of(task, batch, batch.target, batch.source.size(0)); };
  for (int i = 0; i < 10; ++i)
    for (const Answer& row : rows(task.draw_training(100, generator))) drawn.insert(row.input);
  AdditionTask again(options);
  again.set_state(task.state());
  const TestSet test_set = again.test_set(10'000, generator);
  EXPECT_EQ(test_set.examples.source.size(0), 2500 - static_cast<int64_t>(drawn.size()));
  for (const Answer& row : rows(test_set.examples)) {
    EXPECT_EQ(drawn.count(row.input), 0u);
    EXPECT_EQ(10 * row.target[0] + row.target[1], 10 * row.input[0] + row.input[1] + 10 * row.input[3] + row.input[4]);
    drawn.insert(row.input);
  }
  EXPECT_EQ(drawn.size(), 2500u);  // no problem twice
  EXPECT_EQ(again.test_set(7, generator).what.rfind("7 of the ", 0), 0u);
  EXPECT_THROW(AdditionTask(AdditionTask::defaults()).set_state(task.state()), Error);
}

TEST(Carries, AndChainsOfCarriesAreCounted) {
  const auto expect = [](int64_t a, int64_t b, int64_t count, bool chained) {
    EXPECT_EQ(carries_of(a, b).count, count) << a << " + " << b;
    EXPECT_EQ(carries_of(a, b).chained, chained) << a << " + " << b;
  };
  expect(310, 98, 1, false);
  expect(123, 456, 0, false);
  expect(155, 367, 2, false);
  expect(199, 1, 2, true);
  expect(145, 256, 2, true);
  expect(90, 20, 1, false);
}

TEST(Masks, MaskNothingUnlessTheTutorialsAreSelected) {
  RunOptions options = AdditionTask::defaults();
  const Tensor source = AdditionTask(options).read_expression("310+98").source;
  EXPECT_FALSE(AdditionTask(options).source_mask(source).defined());
  options.of<AdditionTask>().tutorial_masks = true;
  EXPECT_EQ(AdditionTask(options).source_mask(source).to_vector<bool>(),
            (std::vector<bool>{true, true, false, true, false, true, true}));
}

TEST(Recipe, IsTheTutorialsWithItsMasks) {
  const auto adapted = [](bool masks, const std::string& schedule, const std::vector<std::string>& given) {
    RunOptions o = AdditionTask::defaults();
    o.of<AdditionTask>().tutorial_masks = masks;
    if (!schedule.empty()) o.schedule = schedule;
    AdditionTask::adapt(o, given);
    return o;
  };
  RunOptions o = adapted(true, "", {"tutorial-masks"});
  EXPECT_EQ(o.schedule, "constant");
  EXPECT_EQ(o.lr, 1e-4);
  o = adapted(false, "noam", {"schedule"});
  EXPECT_EQ(o.schedule, "noam");
  EXPECT_EQ(o.warmup, 4000);
  o = adapted(false, "", {});
  RunOptions defaults = AdditionTask::defaults();
  EXPECT_EQ(to_json("addition", fields_of(o)), to_json("addition", fields_of(defaults)));
}

TEST(Run, OfTheLongestNumbersFitsIntoEightyColumns) {
  const TemporaryFolder folder;
  expect_narrow(train_tiny(folder, "addition", "run", {"--max-digits", "17", "--steps-per-epoch", "2"}).out);
  expect_narrow(successful(run_command({"test", "addition", "--count", "5", "--target", "0"}, folder)).out);
}

TEST(Run, WritesAModelThatOtherVerbsRead) {
  const TemporaryFolder folder;
  const Ran ran = train_tiny(folder, "addition", "run");
  expect_parts(ran.out, {"Epoch 1, Average Loss: ", "of the last batch:", " (actual answer: ",
                         "=== Loss calculation details (step 20) ===", "Calculated loss: ", "Model saved to "});

  expect_narrow(ran.out);
  const CommandLine test{{"test", "addition"}, folder};
  const Ran one = successful(test({"--expression", "310+98"}));
  EXPECT_TRUE(one.out.starts_with("310 + 98 = ")) << one.out;
  expect_parts(one.out, {"(actual answer: 408)\nCorrect: "});
  EXPECT_EQ(Json::parse(test({"--expression", "310+98", "--json"}).out)["expected"], "408");
  expect_parts(test({"--expression", "700+98"}).out, {"trained with numbers up to 499"});

  const Ran tested = successful(test({"--count", "300", "--target", "0"}));
  expect_narrow(tested.out);
  expect_parts(tested.out, {"problems that no training step drew (seed 1), decoded\n  greedily:",
                            "Digit accuracy, by position", "Carries in the sum", "Digits of the longer number",
                            "3, one above 499", "not in training", "10 positions allow numbers of up to 4 digits"});
  const Json told = Json::parse(test({"--count", "300", "--target", "0", "--json"}).out);
  EXPECT_EQ(told["digit_accuracy"].size(), 3u);
  EXPECT_EQ(told["carries"].size(), 3u);
  EXPECT_EQ(told["digits"].size(), 5u);
  int64_t problems = 0;
  for (const auto& row : told["carries"]) problems += row["count"].get<int64_t>();
  EXPECT_EQ(problems, 300);

  const Ran shown = successful(run_command({"attention", "addition", "--expression", "153+391"}, folder));
  expect_parts(shown.out, {"Input: 153 + 391"});
  expect_narrow(shown.out);
  expect_parts(slurp(folder / "run/attention.svg"), {"</svg>"});
  expect_errors("tasks/errors/runs.txt", "a run of addition", folder);
}

}  // namespace
}  // namespace tapegrad::tasks
