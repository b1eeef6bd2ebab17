// Seed 000: the mask of 5 x 5, the model's shapes, logits and every gradient against PyTorch, and the gradient means of
// a deep network with and without shortcuts.
#include <gtest/gtest.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/gpt.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/tests/stored.h>

#include <nlohmann/json.hpp>

namespace tapegrad {
namespace {

using nlohmann::json;
using tests::expect_close;
using tests::expect_close_gradients;
using tests::ids;

// tests/data/tutorials.json, made by make_tutorials.py beside it: the seed's model in PyTorch, from manual_seed(123).
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

TEST(Seed000, MaskOfFiveByFive) {
  const Tensor mask = triu(ones({5, 5}), 1);
  EXPECT_EQ(str(mask), R"(tensor([[0., 1., 1., 1., 1.],
        [0., 0., 1., 1., 1.],
        [0., 0., 0., 1., 1.],
        [0., 0., 0., 0., 1.],
        [0., 0., 0., 0., 0.]]))");
  EXPECT_TRUE(all((mask == 0) == nn::causal_mask(5)));
}

TEST(Seed000, ShapesAndNames) {
  nn::GPTModel model = small_model(golden()["seed000"]["config"]);
  const Tensor tokens = ids(golden()["seed000"]["ids"]);
  EXPECT_EQ(model(tokens).shape(), (Shape{2, 5, 11}));
  EXPECT_EQ(model.hidden(tokens).shape(), (Shape{2, 5, 8}));
  nn::AttentionMaps maps;
  model(tokens, nullptr, &maps);
  ASSERT_EQ(maps.size(), 2U);
  EXPECT_EQ(maps[1].name + " " + str(maps[1].tensor.shape()), "trf_blocks.1.att [2, 2, 5, 5]");
  EXPECT_EQ(amax(abs(triu(maps[0].tensor, 1))).item(), 0);  // nobody looks ahead
  const json grads = golden()["seed000"]["grads"];
  const auto parameters = nn::named_parameters(model);
  EXPECT_EQ(parameters.size(), grads.size());
  for (const auto& [name, parameter] : parameters) {
    EXPECT_TRUE(grads.contains(name)) << name;
  }
}

TEST(Seed000, LogitsInTrainingDrawEveryDropoutAsPyTorchDoes) {
  const json g = golden()["seed000"];
  const nn::GPTModel model = small_model(g["config"]);
  expect_close(model(ids(g["ids"])), g["in_training"], {2e-6, 2e-6}, "logits");
}

TEST(Seed000, LogitsAndEveryGradientEqualPyTorchs) {
  const json g = golden()["seed000"];
  for (const DType dtype : {kFloat64, kFloat32}) {
    const double room = dtype == kFloat64 ? 1e-8 : 2e-6;  // the seed's weights are float32: equal draws, to an ulp
    nn::GPTModel model = small_model(g["config"]);
    nn::eval(model);
    nn::convert(model, dtype);
    Tape tape;
    const Tensor logits = model(ids(g["ids"]));
    expect_close(logits, g["logits"], {room, room}, "logits");
    const Tensor loss = cross_entropy(logits, ids(g["targets"]));
    EXPECT_NEAR(loss.item(), g["loss"].get<double>(), room);
    expect_close_gradients(model, tape.backward(loss), g["grads"], {room, room});
  }
}

// Linear layers of three, three, three, three and one number with the seed's GELU behind each.
struct DeepNetwork {
  explicit DeepNetwork(bool shortcuts) : shortcuts(shortcuts) {
    for (const int width : {3, 3, 3, 3, 1}) layers.emplace_back(3, width);
  }
  Tensor operator()(Tensor x) const {
    for (const nn::Linear& layer : layers) {
      const Tensor y = gelu(layer(x), Gelu::tanh);
      x = shortcuts && x.shape() == y.shape() ? x + y : y;
    }
    return x;
  }
  void visit(auto&& field) { field("layers", layers); }

  bool shortcuts;
  nn::List<nn::Linear> layers;
};

std::vector<double> gradient_means(bool shortcuts, DType dtype) {
  manual_seed(123);
  DeepNetwork network(shortcuts);
  nn::convert(network, dtype);
  Tape tape;
  const Tensor output = network(tensor({{1., 0., -1.}}, dtype));
  const Gradients grads = tape.backward(mse_loss(output, zeros({1, 1}, dtype)));
  std::vector<double> means;
  for (const nn::Linear& layer : network.layers) means.push_back(mean(abs(grads[layer.weight])).item());
  return means;
}

// The figures are float32, printed with all digits, and the last ones are the rounding of one machine: PyTorch 1.13 on
// x86-64 prints others (up to 3.4e-7 away), other books others again. In float64 nothing is left to rounding: the
// figures are the true values to 3e-7, and ours are PyTorch's to the last digits.
TEST(Seed000, GradientMeansOfFiveLayersSeed123) {
  const std::vector<double> printed[] = {
      {0.00020173587836325169, 0.00012011159560643137, 0.0007152039906941354, 0.0013988736318424344,
       0.005049645435065031},
      {0.22169792652130127, 0.20694106817245483, 0.32896995544433594, 0.2665732204914093, 1.3258540630340576}};
  const json exact = golden()["gradient_means_float64"];
  for (const bool shortcuts : {false, true}) {
    const std::vector<double> single = gradient_means(shortcuts, kFloat32), twice = gradient_means(shortcuts, kFloat64);
    for (std::size_t layer = 0; layer < 5; ++layer) {
      const double figure = printed[shortcuts][layer], truth = exact[shortcuts][layer];
      EXPECT_NEAR(single[layer], figure, 4e-7 * figure) << "layer " << layer;
      EXPECT_NEAR(twice[layer], figure, 3e-7 * figure) << "layer " << layer;
      EXPECT_NEAR(twice[layer], truth, 1e-13 * truth) << "layer " << layer;
    }
  }
}

// Nothing in them drops out: the other mask stream leaves them as they are.
TEST(Seed000, GradientMeansInTheMklStream) {
  const std::vector<double> means = gradient_means(true, kFloat32);
  default_generator().set_mask_stream(MaskStream::kMcg31m1);
  const std::vector<double> again = gradient_means(true, kFloat32);
  default_generator().set_mask_stream(MaskStream::kMt19937);
  EXPECT_EQ(again, means);
}

}  // namespace
}  // namespace tapegrad
