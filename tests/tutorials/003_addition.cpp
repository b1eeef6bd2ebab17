// Tutorial 003, section 8.5.2: the numbers that the tutorial prints for the addition task.
#include <tapegrad/tasks/seq2seq/addition/addition.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/tutorials/programs/given.h>

namespace tapegrad::tasks {
namespace {

using namespace tests;

AdditionTask task() { return AdditionTask(AdditionTask::defaults()); }

TEST(Tutorial003_8_5_2, OperandsAreDrawnUpTo499) {
  Generator generator(1);
  const Batch batch = task().draw(100'000, generator);
  int64_t largest = 0;
  for (const Answer& row : answers_of(task(), batch, batch.target, batch.source.size(0))) {
    const int64_t first = 100 * row.input[0] + 10 * row.input[1] + row.input[2];
    const int64_t second = 100 * row.input[4] + 10 * row.input[5] + row.input[6];
    largest = std::max({largest, first, second});
    ASSERT_EQ(row.input[3], 10);
    ASSERT_EQ(first + second, 100 * row.target[0] + 10 * row.target[1] + row.target[2]);
  }
  EXPECT_EQ(largest, 499);
}

TEST(Tutorial003_8_5_2, LengthOfTheRun) {
  RunOptions o = AdditionTask::defaults();
  resolve(o);
  EXPECT_EQ(o.num_epochs, 10);
  EXPECT_EQ(o.steps_per_epoch, 300);
}

// -log(0.8) - log(0.7) - log(0.8) = 0.803.
TEST(Tutorial003_8_5_2, LossByHand) {
  const Tensor outputs = log(tasks::given::added());
  const Tensor target = tensor({1, 2, 0}).reshape({1, 3});
  EXPECT_NEAR(task().loss(outputs, target).item(), 0.803, 5e-4);
  EXPECT_NEAR(task().loss(cat({outputs, outputs}), cat({target, target})).item(), 0.803,
              5e-4);  // a mean over the batch
  EXPECT_EQ(accuracy(task(), argmax(outputs, -1), target), 1);
}

TEST(Tutorial003_8_5_2, Explanation) {
  const Ran ran = successful(run_command({"explain", "addition"}));
  EXPECT_EQ(ran.err, "");
  expect_parts(ran.out, {"Maximum digits: 3", "Tensor shape: [1, 7]", "First number: 153 (indices [1, 5, 3])",
                         "Plus sign: '+' (index 10)", "Second number: 391 (indices [3, 9, 1])",
                         "Full input: [1, 5, 3, 10, 3, 9, 1]", "Tensor shape: [1, 3]", "Actual sum: 544",
                         "Target sequence: [5, 4, 4]", "\"007\" -> [0, 0, 7]", "from 0 to 499", "[0, 5, 4]",
                         "[1, 1, 0, 1, 0, 1, 1]", "   1 0 0\n   1 1 0\n   1 1 1\n", "0.223 + 0.357 + 0.223 = 0.803",
                         "exact match: True; accuracy 1.0"});
}

TEST(Tutorial003_8_5_2, ExplanationOfAnotherExample) {
  const Ran ran = successful(run_command({"explain", "addition", "--expression", "310+98"}));
  expect_parts(ran.out, {"Full input: [3, 1, 0, 10, 0, 9, 8]", "Target sequence: [4, 0, 8]"});
  successful(run_command({"explain", "addition", "--max-digits", "5", "--seed", "2"}));
}

}  // namespace
}  // namespace tapegrad::tasks
