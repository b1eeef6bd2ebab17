// Tutorial 000: the mask of 5 x 5, the model's shapes, logits and every gradient against PyTorch.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad {
namespace {

using json = Json;
using namespace tests;

// tests/data/tutorials.json, written by make_tutorials.py: the tutorial's model in PyTorch, after manual_seed(123).
json golden() { return tests::stored("tutorials.json"); }

nn::GPTModel small_model(const json& config) {
  manual_seed(123);
  return nn::GPTModel({.vocab_size = config["vocab_size"],
                       .context_length = config["context_length"],
                       .emb_dim = config["emb_dim"],
                       .n_heads = config["n_heads"],
                       .n_layers = config["n_layers"],
                       .drop_rate = 0.1});
}

TEST(Tutorial000, MaskOfFiveByFiveIsTheCausalMask) {
  EXPECT_TRUE(all((triu(ones({5, 5}), 1) == 0) == nn::causal_mask(5)));
}

TEST(Tutorial000, LogitsInTrainingDrawEveryDropoutAsPyTorchDoes) {
  const json g = golden()["tutorial000"];
  const nn::GPTModel model = small_model(g["config"]);
  expect_close(model(ids(g["ids"])), g["in_training"], {2e-6, 2e-6}, "logits");
}

TEST(Tutorial000, LogitsAndEveryGradientEqualPyTorchs) {
  const json g = golden()["tutorial000"];
  for (const DType dtype : {kFloat64, kFloat32}) {
    const double room = dtype == kFloat64 ? 1e-8 : 2e-6;  // the tutorial's weights are float32: equal draws, to an ulp
    nn::GPTModel model = small_model(g["config"]);
    nn::eval(model);
    nn::to(model, dtype);
    Tape tape;
    const Tensor logits = model(ids(g["ids"]));
    expect_close(logits, g["logits"], {room, room}, "logits");
    const Tensor loss = cross_entropy(logits, ids(g["targets"]));
    EXPECT_NEAR(loss.item(), g["loss"].get<double>(), room);
    expect_close_gradients(model, tape.backward(loss), g["grads"], {room, room});
  }
}

}  // namespace
}  // namespace tapegrad
