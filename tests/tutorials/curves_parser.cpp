// Tutorial 003, section 8.5.3: the whole parser run against the tutorial's own in PyTorch (seed 0), what it
// learns, and the first steps of two others.
#include <tapegrad/tasks/seq2seq/parser/parser.h>
#include <tapegrad/tasks/seq2seq/sample.h>
#include <tapegrad/tests/support/curves.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/tutorials/pages/runs.h>

namespace tapegrad::tasks {
namespace {

using namespace tests;

// The means of the epochs within 5 % or 0.02; at the end every expression is right.
TEST(Tutorial003_8_5_3, WholeRun) {
  const Json reference = stored("parser_curves.json");
  Trainer trainer(tutorial_options("parser"));
  expect_curve(trainer,
               {"parser", reference["parser"], 1e-4, 3e-3, reference["epoch_loss"], reference["epoch_accuracy"]},
               reference["epoch_loss"].size());
  EXPECT_TRUE(trainer.finished());
  // What the page and the documents have of this run is this run.
  const tutorial::StoredRun& on_page = tutorial::stored_run("parser");
  EXPECT_EQ(bits_of(nn::state_dict(trainer->transformer())), on_page.bits);
  EXPECT_EQ(on_page.loss.size(), reference["epoch_loss"].size());
  nn::eval(trainer->transformer());
  const Task& task = trainer->task();
  Generator generator(1);
  const Batch all = task.test_set(1200, generator).examples;
  const Tensor predicted = decode(task, trainer->transformer(), all.source, all.target.size(1));
  const ParserScore score = score_trees(TreeForm::flat, answers_of(task, all, predicted, 1200));
  EXPECT_EQ(score.expressions, 1200);
  EXPECT_EQ(score.exact, 1200);
  EXPECT_EQ(score.right_nodes, score.nodes);

  // Digits are decoded with the id that encodes them; the tutorial's program prints ADD 2 3.
  const Tensor source = task.read_expression("x=1+2").source;
  const auto answer = decode(task, trainer->transformer(), source, 5)[0].to_vector<int64_t>();
  EXPECT_EQ(list_text(answer), "['ASSIGN', 'x', 'ADD', '1', '2']");
}

TEST(Tutorial003_8_5_3, LossesWithoutDropout) {
  expect_hundred_steps(without_dropout(tutorial_options("parser")),
                       {"without dropout", stored("parser_curves.json")["parser_nodropout"], 1e-4, 3e-3});
}

TEST(Tutorial003_8_5_3, FirstTwentyStepsOfOtherSeeds) {
  expect_first_losses_of_other_seeds(tutorial_options("parser"), 1e-4);
}

}  // namespace
}  // namespace tapegrad::tasks
