// Tutorial 003, section 8.5.1: the copy task's explanation and loss, and the first hundred training steps, loss by loss
// against the tutorial's own run in PyTorch.
#include <tapegrad/tests/support/testing.h>

#include <cstdio>

namespace tapegrad {
namespace {

using namespace tests;
using nlohmann::json;

// CopyLoss's example: five tokens, two sequences of three.
TEST(Tutorial003_8_5_1, LossByHand) {
  const Tensor outputs = tensor(std::vector<float>{0.9F, 0.1F, 0, 0, 0, 0.1F, 0.8F, 0.1F, 0, 0, 0,    0.1F, 0.9F, 0, 0,
                                                   0.8F, 0.2F, 0, 0, 0, 0.1F, 0.7F, 0.2F, 0, 0, 0.1F, 0.1F, 0.8F, 0, 0},
                                {2, 3, 5});
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

// Seed 0: the constructors draw first, then each step its data and its dropout masks, all from one generator.
void follow(const std::string& curve, double dropout) {
  const json losses = stored("curves.json")[curve];
  ASSERT_EQ(losses.size(), 100U);
  manual_seed(0);
  nn::Transformer model({.vocab_size = 20,
                         .hidden_size = 64,
                         .num_hidden_layers = 2,
                         .num_attention_heads = 2,
                         .intermediate_size = 128,
                         .dropout_prob = dropout,
                         .hidden_dropout_prob = dropout,
                         .attention_probs_dropout_prob = dropout,
                         .max_position_embeddings = 20});
  optim::Adam adam(nn::parameters(model), {.lr = 1e-4, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-9});
  double worst = 0;
  for (std::size_t step = 0; step < losses.size(); ++step) {
    const Tensor src = randint(1, 20, {40, 20});
    const Tensor given = cat({zeros({40, 1}, kInt64), narrow(src, 1, 0, 19)}, 1);
    Tape tape;
    const Tensor outputs = model(src, given, nn::padding_mask(src), nn::causal_mask(20));
    const Tensor loss = nn::sequence_loss(outputs, src);
    const double expected = losses[step];
    worst = std::max(worst, std::abs(loss.item() - expected) / expected);
    ASSERT_NEAR(loss.item(), expected, 2e-5 * expected) << "step " << step + 1;
    adam.step(tape.backward(loss));
  }
  std::printf("%s: worst relative difference of 100 losses %.2g\n", curve.c_str(), worst);
}

TEST(Tutorial003_8_5_1, LossesWithDropout) { follow("copy", 0.1); }
TEST(Tutorial003_8_5_1, LossesWithoutDropout) { follow("copy_nodropout", 0); }

}  // namespace
}  // namespace tapegrad
