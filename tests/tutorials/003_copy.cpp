// Tutorial 003, section 8.5.1: the copy task's explanation and loss. (Its training: curves_copy.cpp.)
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/tutorials/programs/given.h>

namespace tapegrad {
namespace {

using namespace tests;

// CopyLoss's example: five tokens, two sequences of three.
TEST(Tutorial003_8_5_1, LossByHand) {
  const Tensor outputs = tasks::given::copied();
  const Tensor target = tensor({{0, 1, 2}, {0, 1, 2}});
  double expected = 0;
  const std::vector<float> z = outputs.to_vector<float>();
  for (int token = 0; token < 6; ++token) {
    double total = 0;
    for (int v = 0; v < 5; ++v) total += std::exp(z[token * 5 + v]);
    expected -= std::log(std::exp(z[token * 5 + token % 3]) / total + 1e-10) / 2;
  }
  EXPECT_NEAR(nn::sequence_loss(outputs, target).item(), expected, 1e-5);
  EXPECT_EQ(nn::exact_match(outputs, target), 1);
  EXPECT_EQ(nn::exact_match(outputs, tensor({{0, 1, 2}, {0, 1, 3}})), 0.5);
}

TEST(Tutorial003_8_5_1, Explanation) {
  const Ran ran = successful(run_command({"explain", "copy"}));
  EXPECT_EQ(ran.err, "");
  expect_parts(ran.out,
               {"Sequence length: 5", "Tensor shape: [1, 5]", "Input sequence: [7, 15, 2, 3, 12]",
                "Target sequence: [7, 15, 2, 3, 12]", "from 1 to 19", "[7, 15, 2, 3, 12] -> [7, 15, 2, 3, 12]",
                "[0, 7, 15, 2, 3]", "   1 0 0 0 0\n   1 1 0 0 0\n   1 1 1 0 0\n   1 1 1 1 0\n   1 1 1 1 1\n",
                "1/2 * (0.1054 + 0.2231 + 0.1054 + 0.2231 + 0.3567 + 0.2231) = 0.6184", "[True, True]; accuracy 1.0"});
}

}  // namespace
}  // namespace tapegrad
