// `tapegrad show` prints the tables of tutorials 002, 003 and 004: the numbers of their pages, in the tutorial's
// layout.
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/tutorials/computed.h>
#include <tapegrad/tutorials/find.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>

namespace tapegrad::tests {
namespace {

using namespace tasks::tutorial;
using tasks::Language;

std::string shown(std::vector<std::string> arguments) {
  const TemporaryFolder folder;
  arguments.insert(arguments.begin(), "show");
  arguments.insert(arguments.end(), {"--out", folder / "pictures"});
  const Ran ran = successful(run_command(arguments));
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

// The rows of a page's numbers that are equal to the tutorial's, of all labels or of these.
std::vector<std::string> rows_of_page(const std::vector<std::string>& place,
                                      const std::vector<std::string>& labels = {}) {
  std::vector<std::string> rows;
  const PageList found = find_pages(pages(), place);
  EXPECT_EQ(found.size(), 1U);
  for (const tasks::tutorial::Number& number : computed(*found.at(0), Language::en).numbers) {
    if (number.mark != Mark::equal) continue;
    if (!labels.empty() && std::ranges::find(labels, number.label) == labels.end()) continue;
    for (const std::string& row : lines(number.printed)) rows.push_back(row);
  }
  EXPECT_GE(rows.size(), std::max<std::size_t>(labels.size(), 1));
  return rows;
}

TEST(Tutorial003_8_2_1, WordVectorsAsShown) {
  const std::string text = shown({"attention-steps"});
  expect_blocks(plain(text), rows_of_page({"003", "8.2.2"}));
  expect_blocks(text, {"Input matrix shape: (5, 3)\n", " [[0.2 0.8 0.3]\n [0.7 0.2 0.9]\n",
                       "              time    flies     like       an    arrow\ntime     [   0.77]["});
}

TEST(Tutorial003_8_2_5, MasksAsShown) {
  const std::string causal = shown({"causal-mask"}), padding = shown({"padding-mask"});
  expect_blocks(plain(causal + padding), rows_of_page({"003", "8.2.5"}));
  expect_blocks(causal, {"                       I        love        deep    learning\nI           [      0.90][",
                         "I           [   1.0e+00][      -inf][", "becomes 1.9. The softmax is unchanged"});
  expect_blocks(padding, {"tensor([[[1., 1., 1., 1.]],\n\n        [[1., 1., 1., 0.]],\n\n",
                          // Not in the tutorial: the sentence with padding.
                          "I           [   9.0e-01][   7.0e-01][   3.0e-01][      -inf]\n",
                          "PAD         [      0.29][      0.27][      0.44][      0.00]\n"});
}

TEST(Tutorial003_8_3, PositionsAsShown) {
  const std::string text = shown({"positional-encoding"});
  std::vector<std::string> rows = rows_of_page({"003", "8.3.1"});
  const std::vector<std::string> waves = rows_of_page({"003", "8.3.2"});
  rows.insert(rows.end(), waves.begin(), waves.end());
  expect_blocks(plain(text), rows);
  expect_blocks(text, {"                dim1      dim2      dim3      dim4\nI         [    0.20][", "I (0):\n",
                       "First dimension (i=0): 1.00\nMiddle dimension (i=128): ", "i=  0: 1.0000000000\ni=128: ",
                       "First (i=0): 1.0000000000\n"});
}

// The numbers of NumPy's seed 42, which the tutorial's package sets.
TEST(Tutorial003_8_4_1, LayerNormAsShownSeed42) {
  const std::string text = shown({"layer-norm"});
  expect_blocks(plain(text), rows_of_page({"003", "8.4.1"}));
  expect_blocks(text, {"Input Data Shape: (2, 5, 6)\nMean Shape: (2, 5, 1)\nStandard Deviation Shape: (2, 5, 1)\n"
                       "Normalized Data Shape: (2, 5, 6)\nGamma (Scale) Values:\n [0.95",
                       "Beta (Shift) Values:\n [-0.00", "Scaled & Shifted Data Shape: (2, 5, 6)\n"});
}

TEST(Tutorial004, Cells10To36JourneyAsShown) {
  const std::string text = shown({"attention-steps", "--example", "journey"});
  std::vector<std::string> rows = rows_of_page(
      {"004", "9-14"}, {"cell 10: inputs @ inputs.T", "cell 11: attn_weights", "cell 13: all_context_vecs"});
  const auto add = [&](const std::string& cells, const std::vector<std::string>& labels) {
    const std::vector<std::string> more = rows_of_page({"004", cells}, labels);
    rows.insert(rows.end(), more.begin(), more.end());
  };
  add("15-20", {"cell 18: query_2"});
  add("21-27", {"cell 23: attn_weights_2", "cell 24: context_vec_2", "cell 27: sa_v2(inputs)"});
  add("28-33", {"cell 28: attn_weights", "cell 32: masked", "cell 33: attn_weights"});
  add("34-36", {"cell 36: dropout(attn_weights)"});
  expect_blocks(plain(text), rows);
  expect_blocks(text, {"tensor([[0.9995, 0.9544,", "tensor([[0.2899,   -inf,   -inf,   -inf,   -inf,   -inf],\n"});
}

}  // namespace
}  // namespace tapegrad::tests
