// Tutorial 003, sections 8.4.1 and 8.4.4: normalisation, embeddings and the configuration of the whole model.
#include <tapegrad/tests/support/printed.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad {
namespace {

using tests::expect_prints;

// The data of the figure, of which it shows the first sequence with two digits.
TEST(Tutorial003_8_4_1, LayerNormDisplaySeed42) {
  NumpyRandom random(42);
  const Tensor x = (random.randn({2, 5, 6}) * 5).to(kFloat32);
  expect_prints(x[0], "{:.2f}",
                "2.48 -0.69 3.24 7.62 -1.17 -1.17 7.90 3.84 -2.35 2.71 -2.32 -2.33 1.21 -9.57 -8.62 -2.81 -5.06 1.57 "
                "-4.54 -7.06 7.33 -1.13 0.34 -7.12 -2.72 0.55 -5.75 1.88 -3.00 -1.46");
  EXPECT_EQ(mean(x, -1, true).shape(), (Shape{2, 5, 1}));
  EXPECT_EQ(std(x, -1, true, 0).shape(), (Shape{2, 5, 1}));
  nn::LayerNormStd norm(6);
  const Tensor normalised = norm(x);
  EXPECT_EQ(normalised.shape(), (Shape{2, 5, 6}));
  EXPECT_LT(amax(abs(mean(normalised, -1))).item(), 1e-6);
  EXPECT_LT(amax(abs(std(normalised, -1, false, 0) - 1)).item(), 1e-5);
  expect_prints(normalised[0], "{:.2f}",
                "0.24 -0.76 0.48 1.86 -0.91 -0.91 1.70 0.66 -0.92 0.38 -0.91 -0.91 1.17 -1.31 -1.09 0.25 -0.27 1.26 "
                "-0.50 -1.00 1.86 0.18 0.47 -1.01 -0.39 0.93 -1.61 1.46 -0.50 0.12");
  const Tensor gamma = 1 + 0.1 * random.randn({6}), beta = 0.1 * random.randn({6});
  norm.gamma.set(gamma.to(kFloat32));
  norm.beta.set(beta.to(kFloat32));
  EXPECT_EQ(norm(x).shape(), (Shape{2, 5, 6}));
  expect_prints(norm(x)[0], "{:.2f}",
                "0.22 -0.65 0.46 1.58 -0.95 -0.88 1.62 0.75 -0.78 0.27 -0.95 -0.88 1.11 -1.19 -0.94 0.15 -0.26 1.58 "
                "-0.48 -0.88 1.69 0.09 0.55 -1.00 -0.38 1.01 -1.40 1.22 -0.51 0.29");
}

// tests/data/tutorials.json, written by make_tutorials.py: the section's embedding with seed 0.
TEST(Tutorial003_8_4_4, EmbeddingsOfTwoSequences) {
  const Json golden = tests::stored("tutorials.json")["tutorial003_embeddings"];
  manual_seed(0);
  nn::Embeddings embeddings({.vocab_size = 1000, .hidden_size = 768, .max_position_embeddings = 512});
  nn::eval(embeddings);
  const Tensor ids = tensor({{1, 5, 9, 2}, {6, 3, 7, 4}});
  const Tensor embedded = embeddings(ids);
  EXPECT_EQ(str(ids.shape()), "[2, 4]");
  EXPECT_EQ(str(embedded.shape()), "[2, 4, 768]");
  EXPECT_EQ(str(embedded[0][0].slice(0, 0, 10)), golden["printed"].get<std::string>());
}

TEST(Tutorial003_8_4_4, Configuration) {
  const nn::TransformerConfig config;
  EXPECT_EQ(config.vocab_size, 30000);
  EXPECT_EQ(config.hidden_size, 768);
  EXPECT_EQ(config.num_hidden_layers, 12);
  EXPECT_EQ(config.num_attention_heads, 12);
  EXPECT_EQ(config.intermediate_size, 3072);
  EXPECT_EQ(config.hidden_dropout_prob, 0.1);
  EXPECT_EQ(config.attention_probs_dropout_prob, 0.1);
  EXPECT_EQ(config.max_position_embeddings, 512);
  EXPECT_EQ(config.layer_norm_eps, 1e-6);  // the text says 1e-12; the code, which made the curves, 1e-6
}

}  // namespace
}  // namespace tapegrad
