// Section 8.5.1: the first hundred training steps of the copy task, loss by loss against the tutorial's own run in
// PyTorch.
#include <gtest/gtest.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/loss.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/nn/transformer.h>
#include <tapegrad/optim/adam.h>
#include <tapegrad/test_paths.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

namespace tapegrad {
namespace {

using nlohmann::json;

// Seed 0: constructors, then in every step the data and the dropout masks, all from the one generator.
void follow(const std::string& curve, double dropout) {
  const json losses = json::parse(std::ifstream(std::string(tests::kTestsDir) + "/data/curves.json"))[curve];
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

TEST(Copy, LossesWithDropout) { follow("copy", 0.1); }
TEST(Copy, LossesWithoutDropout) { follow("copy_nodropout", 0); }

}  // namespace
}  // namespace tapegrad
