// `tapegrad show` prints the tables of tutorials 003 and 004, with the same digits and layout.
#include <gtest/gtest.h>
#include <tapegrad/tests/support/command_runner.h>

#include <string>
#include <vector>

namespace tapegrad::tests {
namespace {

std::string shown(std::vector<std::string> arguments) {
  const TemporaryFolder folder;
  arguments.insert(arguments.begin(), "show");
  arguments.insert(arguments.end(), {"--out", folder / "pictures"});
  const Ran ran = run_command(arguments);
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.err, "");
  return ran.out;
}

// Expects the blocks in the text, in this order.
void expect_blocks(const std::string& text, const std::vector<std::string>& blocks) {
  std::size_t at = 0;
  for (const std::string& block : blocks) {
    const std::size_t found = text.find(block, at);
    ASSERT_NE(found, std::string::npos) << block << "\nis not in\n" << text;
    at = found + block.size();
  }
}

constexpr const char* kScores =
    "                       I        love        deep    learning\n"
    "I           [      0.90][      0.70][      0.30][      0.20]\n"
    "love        [      0.60][      0.80][      0.90][      0.40]\n"
    "deep        [      0.20][      0.50][      0.70][      0.90]\n"
    "learning    [      0.40][      0.30][      0.80][      0.60]\n";

TEST(Tutorial003_8_2_1, WordVectorsAsShown) {
  expect_blocks(shown({"attention-steps"}), {"Input matrix shape: (5, 3)\n",
                                             " [[0.2 0.8 0.3]\n"
                                             " [0.7 0.2 0.9]\n"
                                             " [0.3 0.5 0.2]\n"
                                             " [0.1 0.3 0.4]\n"
                                             " [0.8 0.1 0.6]]\n",
                                             " [[0.2 0.7 0.3 0.1 0.8]\n"
                                             " [0.8 0.2 0.5 0.3 0.1]\n"
                                             " [0.3 0.9 0.2 0.4 0.6]]\n",
                                             "Similarity matrix shape: (5, 5)\n",
                                             "              time    flies     like       an    arrow\n"
                                             "time     [   0.77][   0.57][   0.52][   0.38][   0.42]\n"
                                             "flies    [   0.57][   1.34][   0.49][   0.49][   1.12]\n"
                                             "like     [   0.52][   0.49][   0.38][   0.26][   0.41]\n"
                                             "an       [   0.38][   0.49][   0.26][   0.26][   0.35]\n"
                                             "arrow    [   0.42][   1.12][   0.41][   0.35][   1.01]\n"});
}

TEST(Tutorial003_8_2_2, WeightsAndContextualVectorsAsShown) {
  expect_blocks(shown({"attention-steps"}), {"Attention weights shape: (5, 5)\n",
                                             " [[0.25130196 0.20574865 0.19571417 0.17014572 0.1770895 ]\n"
                                             " [0.14838442 0.32047566 0.13697608 0.13697608 0.25718775]\n"
                                             " [0.22189237 0.21533446 0.19290396 0.17109046 0.19877876]\n"
                                             " [0.20573742 0.22966017 0.18247272 0.18247272 0.19965696]\n"
                                             " [0.14836389 0.29876818 0.14688764 0.13833357 0.26764673]]\n",
                                             "Contextualized vectors shape: (5, 3)\n",
                                             " [[0.41168487 0.40880105 0.47401919]\n"
                                             " [0.51455048 0.31810231 0.56944172]\n"
                                             " [0.42911583 0.38823778 0.48665295]\n"
                                             " [0.43462426 0.37646585 0.49769319]\n"
                                             " [0.51082753 0.32015331 0.55869952]]\n"});
}

TEST(Tutorial003_8_2_5, CausalMaskAsShown) {
  expect_blocks(shown({"causal-mask"}), {kScores,
                                         "I           [      1.00][      0.00][      0.00][      0.00]\n"
                                         "love        [      1.00][      1.00][      0.00][      0.00]\n"
                                         "deep        [      1.00][      1.00][      1.00][      0.00]\n"
                                         "learning    [      1.00][      1.00][      1.00][      1.00]\n",
                                         "I           [   1.0e+00][      -inf][      -inf][      -inf]\n"
                                         "love        [   1.0e+00][   1.0e+00][      -inf][      -inf]\n"
                                         "deep        [   1.0e+00][   1.0e+00][   1.0e+00][      -inf]\n"
                                         "learning    [   1.0e+00][   1.0e+00][   1.0e+00][   1.0e+00]\n",
                                         "I           [       1.9][      -inf][      -inf][      -inf]\n"
                                         "love        [       1.6][       1.8][      -inf][      -inf]\n"
                                         "deep        [       1.2][       1.5][       1.7][      -inf]\n"
                                         "learning    [       1.4][       1.3][       1.8][       1.6]\n",
                                         "becomes 1.9. The softmax is unchanged",
                                         "I           [      1.00][      0.00][      0.00][      0.00]\n"
                                         "love        [      0.45][      0.55][      0.00][      0.00]\n"
                                         "deep        [      0.25][      0.34][      0.41][      0.00]\n"
                                         "learning    [      0.22][      0.20][      0.32][      0.26]\n"});
}

TEST(Tutorial003_8_2_5, PaddingMaskAsShown) {
  expect_blocks(shown({"padding-mask"}), {"tensor([[[1., 1., 1., 1.]],\n\n"
                                          "        [[1., 1., 1., 0.]],\n\n"
                                          "        [[1., 1., 1., 1.]],\n\n"
                                          "        [[1., 1., 1., 1.]]])\n",
                                          kScores,
                                          "I           [   9.0e-01][   7.0e-01][   3.0e-01][   2.0e-01]\n"
                                          "love        [   6.0e-01][   8.0e-01][   9.0e-01][   4.0e-01]\n"
                                          "deep        [   2.0e-01][   5.0e-01][   7.0e-01][   9.0e-01]\n"
                                          "learning    [   4.0e-01][   3.0e-01][   8.0e-01][   6.0e-01]\n",
                                          "I           [      0.35][      0.29][      0.19][      0.17]\n"
                                          "love        [      0.23][      0.28][      0.31][      0.19]\n"
                                          "deep        [      0.17][      0.22][      0.27][      0.33]\n"
                                          "learning    [      0.22][      0.20][      0.32][      0.26]\n",
                                          // Not in the tutorial: the sentence with padding.
                                          "I           [   9.0e-01][   7.0e-01][   3.0e-01][      -inf]\n",
                                          "PAD         [      0.29][      0.27][      0.44][      0.00]\n"});
}

TEST(Tutorial003_8_3_1, IndicesAsShown) {
  expect_blocks(shown({"positional-encoding"}),
                {"                dim1      dim2      dim3      dim4\n"
                 "I         [    0.20][    0.30][    0.10][    0.40]\n"
                 "love      [    0.50][    0.20][    0.80][    0.10]\n"
                 "deep      [    0.30][    0.70][    0.20][    0.50]\n"
                 "learning  [    0.60][    0.40][    0.30][    0.20]\n",
                 "[0 1 2 3]\n",
                 "I         [    0.20][    0.30][    0.10][    0.40]\n"
                 "love      [    1.50][    1.20][    1.80][    1.10]\n"
                 "deep      [    2.30][    2.70][    2.20][    2.50]\n"
                 "learning  [    3.60][    3.40][    3.30][    3.20]\n",
                 "I (0):\n", " [0.2 0.3 0.1 0.4]\n", " [0.2 0.3 0.1 0.4]\n", " [0. 0. 0. 0.]\n", "love (1):\n",
                 " [0.5 0.2 0.8 0.1]\n", " [1.5 1.2 1.8 1.1]\n", " [1. 1. 1. 1.]\n", "deep (2):\n",
                 " [0.3 0.7 0.2 0.5]\n", " [2.3 2.7 2.2 2.5]\n", " [2. 2. 2. 2.]\n", "learning (3):\n",
                 " [0.6 0.4 0.3 0.2]\n", " [3.6 3.4 3.3 3.2]\n", " [3. 3. 3. 3.]\n"});
}

TEST(Tutorial003_8_3_2, PeriodsAsShown) {
  expect_blocks(shown({"positional-encoding"}),
                {"First dimension (i=0): 1.00\nMiddle dimension (i=128): 100.00\nLast dimension (i=255): 9646.62\n",
                 "i=  0: 1.0000000000\ni=128: 100.0000000000\ni=255: 9646.6161991120\n",
                 "First (i=0): 1.0000000000\nMiddle (i=128): 0.0100000000\nLast (i=255): 0.0001036633\n"});
}

// The numbers of NumPy's seed 42, which the tutorial's package sets.
TEST(Tutorial003_8_4_1, LayerNormAsShownSeed42) {
  expect_blocks(shown({"layer-norm"}),
                {"Input Data Shape: (2, 5, 6)\nMean Shape: (2, 5, 1)\nStandard Deviation Shape: (2, 5, 1)\n"
                 "Normalized Data Shape: (2, 5, 6)\nGamma (Scale) Values:\n",
                 " [0.95208258 0.9814341  0.8893665  0.88037934 1.08125258 1.135624  ]\nBeta (Shift) Values:\n",
                 " [-0.00720101  0.10035329  0.0361636  -0.06451198  0.03613956  0.15380366]\n"
                 "Scaled & Shifted Data Shape: (2, 5, 6)\n"});
}

TEST(Tutorial004, Cells10To36JourneyAsShown) {
  expect_blocks(shown({"attention-steps", "--example", "journey"}),
                {"tensor([[0.9995, 0.9544, 0.9422, 0.4753, 0.4576, 0.6310],\n"
                 "        [0.9544, 1.4950, 1.4754, 0.8434, 0.7070, 1.0865],\n",
                 "        [0.1385, 0.2379, 0.2333, 0.1240, 0.1082, 0.1581],\n", "        [0.4419, 0.6515, 0.5683],\n",
                 "tensor([0.4306, 1.4551])\n", "tensor([0.1500, 0.2264, 0.2199, 0.1311, 0.0906, 0.1820])\n",
                 "        [0.3061, 0.8210],\n", "tensor([[-0.0739,  0.0713],\n",
                 "tensor([[0.1921, 0.1646, 0.1652, 0.1550, 0.1721, 0.1510],\n",
                 "tensor([[0.2899,   -inf,   -inf,   -inf,   -inf,   -inf],\n"
                 "        [0.4656, 0.1723,   -inf,   -inf,   -inf,   -inf],\n"
                 "        [0.4594, 0.1703, 0.1731,   -inf,   -inf,   -inf],\n"
                 "        [0.2642, 0.1024, 0.1036, 0.0186,   -inf,   -inf],\n"
                 "        [0.2183, 0.0874, 0.0882, 0.0177, 0.0786,   -inf],\n"
                 "        [0.3408, 0.1270, 0.1290, 0.0198, 0.1290, 0.0078]])\n",
                 "tensor([[1.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000],\n"
                 "        [0.5517, 0.4483, 0.0000, 0.0000, 0.0000, 0.0000],\n"
                 "        [0.3800, 0.3097, 0.3103, 0.0000, 0.0000, 0.0000],\n"
                 "        [0.2758, 0.2460, 0.2462, 0.2319, 0.0000, 0.0000],\n"
                 "        [0.2175, 0.1983, 0.1984, 0.1888, 0.1971, 0.0000],\n"
                 "        [0.1935, 0.1663, 0.1666, 0.1542, 0.1666, 0.1529]])\n",
                 "tensor([[2.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000],\n"
                 "        [0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000],\n"
                 "        [0.7599, 0.6194, 0.6206, 0.0000, 0.0000, 0.0000],\n"
                 "        [0.0000, 0.4921, 0.4925, 0.0000, 0.0000, 0.0000],\n"
                 "        [0.0000, 0.3966, 0.0000, 0.3775, 0.0000, 0.0000],\n"
                 "        [0.0000, 0.3327, 0.3331, 0.3084, 0.3331, 0.0000]])\n"});
}

}  // namespace
}  // namespace tapegrad::tests
