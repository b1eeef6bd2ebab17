// Tutorial 003, section 8.5.1: the copy task's explanation and matches. (Its training: curves_copy.cpp.)
#include <tapegrad/tests/support/testing.h>

namespace tapegrad {
namespace {

using namespace tests;

TEST(Tutorial003_8_5_1, ASequenceMatchesAsAWhole) {
  const Tensor outputs = one_hot(tensor({{0, 1, 2}, {0, 1, 2}}), 5).to(kFloat32);
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
