// Tutorial 004, attention step by step on a sentence of six words: what holds beyond the numbers that cells 2 to 42
// print, which are on its pages.
#include <tapegrad/autograd/kernels/family.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/programs/attention.h>

namespace tapegrad {
namespace {

Tensor inputs() { return tasks::given::journey(); }

Tensor batch() { return stack({inputs(), inputs()}); }

// A sum is 1 or an adjacent float, printed as 1. or 1.0000; this depends on the order of the additions, so on the
// kernel family. AVX2's order gives the tutorial's output.
void expect_shares_sum(const Tensor& sums, const char* printed) {
  for (const double sum : sums.to(kFloat64).to_vector<double>()) EXPECT_NEAR(sum, 1, 2.5e-7);
  if (kernel_family() == KernelFamily::avx2) {
    EXPECT_EQ(str(sums), printed);
  }
}

TEST(Tutorial004, Cells5To12SharesSumToOne) {
  const Tensor x = inputs(), scores = matmul(x, x[1]);
  expect_shares_sum(sum(scores / sum(scores)), "tensor(1.0000)");
  expect_shares_sum(sum(exp(scores) / sum(exp(scores))), "tensor(1.)");
  expect_shares_sum(sum(softmax(scores)), "tensor(1.)");
  const Tensor weights = softmax(matmul(x, x.t()));
  expect_shares_sum(sum(weights, -1), "tensor([1.0000, 1.0000, 1.0000, 1.0000, 1.0000, 1.0000])");
  double as_printed = 0;  // cell 12 adds up the four digits
  for (const double share : weights[1].to(kFloat64).to_vector<double>()) as_printed += std::round(share * 1e4) / 1e4;
  EXPECT_EQ(as_printed, 1.0);
}

Tensor causal_weights() {
  return softmax(masked_fill(tasks::tutorial::journey_scores(), triu(ones({6, 6}), 1).to(kBool), -INFINITY) /
                 std::sqrt(2.0));
}

// Cells 35 and 36 as PyTorch prints them with Intel's MKL.
TEST(Tutorial004, Cells35And36DropoutInTheMklStream) {
  const Tensor weights = causal_weights();
  const nn::Dropout dropout(0.5);
  default_generator().set_mask_stream(MaskStream::kMcg31m1);
  manual_seed(123);
  const Tensor mask = dropout(ones({6, 6}));
  manual_seed(123);
  const Tensor dropped = dropout(weights);
  default_generator().set_mask_stream(MaskStream::kMt19937);
  EXPECT_TEXT(str(mask) + "\n");
  EXPECT_TEXT(str(dropped) + "\n");
}

// A shorter sentence uses a corner of the mask; its words attend to the same words as before.
TEST(Tutorial004, Cell38ShorterSentences) {
  manual_seed(123);
  const tasks::CausalAttention attention(3, 2, 6, 0.0);
  const Tensor context = attention(batch());
  EXPECT_LT(amax(abs(attention(narrow(batch(), 1, 0, 4)) - narrow(context, 1, 0, 4))).item(), 1e-6);
}

}  // namespace
}  // namespace tapegrad
