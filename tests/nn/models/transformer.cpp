// The encoder-decoder Transformer: initial parameters, shapes, and a whole model against PyTorch.
// ctest: products
#include <tapegrad/tests/nn/models/small_models.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

nn::TransformerConfig config_of(const Json& c, double dropout) {
  return {.vocab_size = c["vocab_size"],
          .hidden_size = c["hidden_size"],
          .num_hidden_layers = c["num_hidden_layers"],
          .num_attention_heads = c["num_attention_heads"],
          .intermediate_size = c["intermediate_size"],
          .dropout_prob = dropout,
          .hidden_dropout_prob = dropout,
          .attention_probs_dropout_prob = dropout,
          .max_position_embeddings = c["max_position_embeddings"]};
}

// Names, shapes and values of all parameters after construction with seed 0, as PyTorch gives them for the tutorial's
// three tasks: the sum to one ulp of an element, the first elements exactly or to one ulp.
TEST(Transformer, StartsWithPyTorchsParameters) {
  const Json& golden = stored("init.json");
  for (const auto& [task, expected] : golden.items()) {
    SCOPED_TRACE(task);
    manual_seed(0);
    nn::Transformer model(config_of(expected["config"], 0.1));
    const auto parameters = nn::named_parameters(model);
    ASSERT_EQ(parameters.size(), expected["parameters"].size());
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const Json& e = expected["parameters"][i];
      const Tensor& p = parameters[i].parameter;
      ASSERT_EQ(e["name"], parameters[i].name);
      ASSERT_EQ(str(p.shape()),
                str(Shape(e["shape"].get<std::vector<int64_t>>().data(), static_cast<int64_t>(e["shape"].size()))));
      const std::vector<float> values = p.to_vector<float>();
      double sum = 0;
      for (const float v : values) sum += v;
      EXPECT_NEAR(sum, e["sum"].get<double>(), 1e-9) << e["name"];
      for (std::size_t j = 0; j < e["first"].size(); ++j) {
        const auto first = static_cast<float>(e["first"][j].get<double>());
        EXPECT_LE(std::abs(values[j] - first), std::nextafter(std::abs(first), 1e9F) - std::abs(first)) << e["name"];
      }
    }
  }
}

// tests/data/transformer.json, made by make_transformer.py next to it.
TEST(Transformer, LogitsLossAndEveryGradientEqualPyTorchs) {
  const Json& golden = stored("transformer.json");
  for (const auto& [dtype, post] :
       {std::pair{kFloat64, false}, {kFloat32, false}, {kFloat64, true}}) {  // Pre-LN with relu, Post-LN with gelu
    nn::TransformerConfig config = config_of(golden["config"], 0);
    config.post_norm = post;
    config.activation = post ? nn::Activation::gelu : nn::Activation::relu;
    nn::Transformer model(config);
    nn::to(model, dtype);
    set_weights(model);
    const Json& theirs = post ? golden["post"] : golden;
    const Room room = dtype == kFloat64 ? Room{1e-9, 1e-9} : Room{1e-5, 2e-5};
    const Tensor src = ids(golden["src"]), tgt_in = ids(golden["tgt_in"]), tgt = ids(golden["tgt"]);
    Tape tape;
    const Tensor outputs = model(src, tgt_in, nn::padding_mask(src), nn::causal_mask(tgt_in.size(1)));
    expect_close(outputs, theirs["outputs"], room, "outputs");
    const Tensor loss = nn::sequence_loss(outputs, tgt);
    EXPECT_NEAR(loss.item(), theirs["loss"].get<double>(), room.relative * theirs["loss"].get<double>());
    expect_close_gradients(model, tape.backward(loss), theirs["grads"], room);
  }
}

TEST(Transformer, ShapesAndAttentionMaps) {  // sections 8.4.2 to 8.4.4
  manual_seed(3);
  const nn::Transformer model = evaluated(nn::Transformer(small_transformer(13, 9)));
  const Tensor src = randint(1, 13, {3, 7}), tgt = randint(1, 13, {3, 5});
  nn::AttentionMaps maps;
  EXPECT_EQ(model.encoder.embeddings(src).shape(), (Shape{3, 7, 8}));
  EXPECT_EQ(model.encode(src).shape(), (Shape{3, 7, 8}));
  EXPECT_EQ(model.decode(model.encode(src), {}, tgt).shape(), (Shape{3, 5, 8}));
  const Tensor outputs = model(src, tgt, nn::padding_mask(src), nn::causal_mask(5), &maps);
  EXPECT_EQ(outputs.shape(), (Shape{3, 5, 13}));
  for (const float s : sum(exp(outputs), -1).to_vector<float>()) EXPECT_NEAR(s, 1, 1e-5);
  EXPECT_TRUE(equal(model(src, tgt), model.predict(model.decode(model.encode(src), {}, tgt))));
  std::vector<std::string> names;
  for (const NamedTensor& map : maps) names.push_back(map.name + " " + str(map.tensor.shape()));
  EXPECT_TEXT(names);
  // Queries and keys come with each map: without masks and positions, the weights follow from them.
  ASSERT_EQ(maps.vectors.size(), 6U);
  const auto& [queries, keys] = maps.vectors[5];
  EXPECT_EQ(str(queries.shape()) + str(keys.shape()), "[3, 2, 5, 4][3, 2, 7, 4]");
  expect_near(softmax(matmul(queries, keys.t()) / 2.0, -1), maps[5].tensor);
}

TEST(Transformer, Errors) {
  EXPECT_ERROR(nn::Transformer({.hidden_size = 5, .num_attention_heads = 2}));
  EXPECT_ERROR(nn::Transformer({.num_hidden_layers = 0}));
  EXPECT_ERROR(nn::Transformer({.vocab_size = -3}));
  EXPECT_ERROR(nn::Transformer({.dropout_prob = 1.1}));
  EXPECT_ERROR(nn::Transformer({.layer_norm_eps = -1}));
  EXPECT_ERROR(nn::Transformer({.vocab_size = 6, .pad_token_id = 6}));
  const nn::Transformer model(small_transformer(6, 5));
  EXPECT_ERROR(nn::greedy_decode(model, ones({1, 2}, kInt64), {}, 6));
  EXPECT_ERROR(model.encode(ones({1, 2})));
  EXPECT_ERROR(nn::transformer_preset("palm"));
  nn::DecoderCache none;
  EXPECT_ERROR(model.decoder.step(ones({1, 1}, kInt64), none));
}

}  // namespace
}  // namespace tapegrad::tests
