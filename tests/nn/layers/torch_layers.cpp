// PyTorch's attention, Transformer layers, EmbeddingBag and convolution layers: names, initial weights and results.
// ctest: families products
#include <tapegrad/tests/support/contents.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

using Leaves = std::vector<Tensor>;

// The case of make_torch_layers.py in both types: call(module, inputs, weights) gives y.
template <class Module>
void expect_as_pytorch(const std::string& name, const std::function<Module()>& make, const Leaves& inputs,
                       const std::function<Tensor(const Module&, const Leaves&, Tensor*)>& call) {
  const Json& wanted = stored("torch_layers.json").at(name);
  manual_seed(3);
  Module module = make();
  EXPECT_EQ(rand({1}).item<float>(), wanted["next"].get<float>()) << name << ": random numbers were drawn otherwise";
  EXPECT_EQ(Json(names_of(nn::state_dict(module))), wanted["names"]) << name;
  std::size_t i = 0;
  for (const auto& [path, parameter] : nn::named_parameters(module))
    expect_close(parameter, wanted["initial"].at(i++), {1e-6, 1e-9}, name + ", initial " + path);
  for (const DType dtype : {kFloat32, kFloat64}) {
    const Room room = dtype == kFloat32 ? Room{2e-5, 2e-5} : Room{1e-7, 2e-8};
    nn::to(module, dtype);
    set_weights(module);
    Leaves x;
    for (const Tensor& input : inputs) x.push_back(input.to(dtype).as_leaf());
    manual_seed(7);
    Tape tape;
    Tensor weights;
    const Tensor y = call(module, x, wanted.contains("weights") ? &weights : nullptr);
    EXPECT_EQ(Json(std::vector<int64_t>(y.shape().begin(), y.shape().end())), wanted["shape"]) << name;
    expect_close(y, wanted["y"], room, name);
    if (weights.defined()) expect_close(weights, wanted["weights"], room, name + ", weights");
    const Gradients grads = tape.backward(y, {.grad_output = filled(y.shape(), 40).to(dtype)});
    i = 0;
    for (const Tensor& input : x) expect_close(grads[input], wanted["grads"].at(i++), room, name + ", dx");
    for (const auto& [path, parameter] : nn::named_parameters(module))
      expect_close(grads[parameter], wanted["grads"].at(i++), room, name + ", " + path);
  }
}

Tensor hidden_later() { return !nn::causal_mask(4); }
Tensor hidden_padding() { return tensor({{0, 0, 0, 1}, {0, 0, 1, 1}}) != 0; }
Tensor four_steps() { return filled({4, 2, 8}, 20) * 2; }
Tensor batch_of_two() { return filled({2, 4, 8}, 21) * 2; }
Tensor memory_of_three() { return filled({3, 2, 8}, 22) * 2; }

void expect_attention(const std::string& name, const nn::MultiheadAttentionOptions& options, const Leaves& inputs,
                      nn::MultiheadPass pass = {}) {
  expect_as_pytorch<nn::MultiheadAttention>(
      name, [&] { return nn::MultiheadAttention(8, 2, options); }, inputs,
      [=](auto& module, auto& x, Tensor* weights) mutable {
        pass.weights = weights;
        if (pass.attn_mask.defined() && pass.attn_mask.dtype() != kBool)
          pass.attn_mask = pass.attn_mask.to(x[0].dtype());
        return module(x[0], x.size() > 1 ? x[1] : x[0], x.back(), pass);
      });
}

TEST(MultiheadAttention, EqualsPyTorch) {
  expect_attention("self", {.dropout = 0.3}, {four_steps()});
  expect_attention("cross", {.kdim = 6, .vdim = 3}, {four_steps(), filled({5, 2, 6}, 23), filled({5, 2, 3}, 24)});
  expect_attention("memory", {}, {four_steps(), memory_of_three()}, {.average_attn_weights = false});
  expect_attention("masks", {.dropout = 0.3, .batch_first = true}, {batch_of_two()},
                   {.key_padding_mask = hidden_padding(), .attn_mask = hidden_later()});
  expect_attention("added masks", {}, {four_steps()},
                   {.key_padding_mask = hidden_padding(), .attn_mask = filled({4, 4, 4}, 30) * 3});
  expect_attention("one more key", {.add_bias_kv = true, .add_zero_attn = true}, {four_steps()},
                   {.key_padding_mask = hidden_padding(), .attn_mask = hidden_later()});
  expect_attention("without bias", {.bias = false}, {four_steps()});
  expect_attention("without a batch", {}, {four_steps().select(1, 0)}, {.attn_mask = hidden_later()});
}

TEST(MultiheadAttention, ErrorsNameTheCause) {
  const nn::MultiheadAttention module(8, 2);
  const Tensor x = zeros({4, 2, 8});
  EXPECT_ERROR(nn::MultiheadAttention(8, 3));
  EXPECT_ERROR(module(x, zeros({4, 3, 8}), x));
  EXPECT_ERROR(module(x, x, x, {.key_padding_mask = zeros({4, 2}, kBool)}));
  EXPECT_ERROR(module(x, x, x, {.attn_mask = zeros({4, 4}, kInt64)}));
}

template <class Layer>
std::function<Layer()> layer_of(const nn::torch::TransformerLayerOptions& options) {
  return [=] { return Layer(8, 2, options); };
}

TEST(TorchTransformer, EncoderEqualsPyTorch) {
  using Layer = nn::torch::TransformerEncoderLayer;
  const nn::torch::TransformerLayerOptions small{.dim_feedforward = 6, .dropout = 0.3};
  expect_as_pytorch<Layer>("encoder layer", layer_of<Layer>(small), {four_steps()},
                           [](auto& m, auto& x, Tensor*) { return m(x[0], hidden_later(), hidden_padding()); });
  expect_as_pytorch<Layer>("encoder layer, pre-norm",
                           layer_of<Layer>({.dim_feedforward = 6,
                                            .dropout = 0.3,
                                            .activation = nn::Activation::gelu,
                                            .layer_norm_eps = 1e-3,
                                            .batch_first = true,
                                            .norm_first = true}),
                           {batch_of_two()}, [](auto& m, auto& x, Tensor*) { return m(x[0], {}, hidden_padding()); });
  expect_as_pytorch<Layer>("encoder layer, batch first",
                           layer_of<Layer>({.dim_feedforward = 6, .dropout = 0.3, .batch_first = true}),
                           {batch_of_two()}, [](auto& m, auto& x, Tensor*) { return m(x[0]); });
  using Stack = nn::torch::TransformerEncoder;
  expect_as_pytorch<Stack>(
      "encoder", [&] { return Stack(Layer(8, 2, small), 2, nn::LayerNorm(8)); }, {four_steps()},
      [](auto& m, auto& x, Tensor*) { return m(x[0]); });
}

TEST(TorchTransformer, DecoderAndWholeModelEqualPyTorch) {
  using Layer = nn::torch::TransformerDecoderLayer;
  const nn::torch::TransformerLayerOptions small{.dim_feedforward = 6, .dropout = 0.3};
  expect_as_pytorch<Layer>(
      "decoder layer", layer_of<Layer>(small), {four_steps(), memory_of_three()}, [](auto& m, auto& x, Tensor*) {
        return m(x[0], x[1], {.tgt_mask = hidden_later(), .tgt_key_padding_mask = hidden_padding()});
      });
  expect_as_pytorch<Layer>(
      "decoder layer, pre-norm",
      layer_of<Layer>({.dim_feedforward = 6, .dropout = 0.3, .batch_first = true, .norm_first = true}),
      {batch_of_two(), filled({2, 3, 8}, 25)}, [](auto& m, auto& x, Tensor*) {
        return m(x[0], x[1],
                 {.tgt_mask = hidden_later(), .memory_key_padding_mask = narrow(hidden_padding(), 1, 1, 3)});
      });
  using Whole = nn::torch::Transformer;
  expect_as_pytorch<Whole>(
      "transformer", [&] { return Whole(8, 2, 1, 1, small); }, {memory_of_three(), four_steps()},
      [](auto& m, auto& x, Tensor*) { return m(x[0], x[1], {.decoder = {.tgt_mask = hidden_later()}}); });
}

TEST(TorchTransformer, WithoutBiasAndWithAnInvalidCount) {
  const nn::torch::TransformerEncoderLayer layer(8, 2, {.dim_feedforward = 6, .bias = false});
  EXPECT_EQ(nn::state_dict(layer).size(), 6u);  // four matrices and two norms
  EXPECT_EQ(error_of([&] { nn::torch::TransformerEncoder(layer, 0); }), "[transformer] expected num_layers > 0, got 0");
}

void expect_bags(const std::string& name, const nn::EmbeddingBagOptions& options, const Tensor& ids,
                 const Tensor& offsets = {}, const Leaves& weights = {}) {
  expect_as_pytorch<nn::EmbeddingBag>(
      name, [&] { return nn::EmbeddingBag(7, 3, options); }, weights,
      [&](auto& m, auto& x, Tensor*) { return m(ids, offsets, x.empty() ? Tensor() : x[0]); });
}

TEST(EmbeddingBag, EqualsPyTorch) {
  using nn::Bag;
  const Tensor ids = tensor({1, 2, 4, 5, 4, 3, 2, 6}), offsets = tensor({0, 3, 3, 7});
  expect_bags("bag mean", {}, ids, offsets);
  expect_bags("bag sum", {.mode = Bag::sum, .padding_idx = 2}, ids, offsets.to(kInt32), {filled({8}, 26)});
  expect_bags("bag max", {.mode = Bag::max, .padding_idx = 4}, ids, offsets);
  expect_bags("bag rows", {.padding_idx = 2}, tensor({{1, 2, 2}, {4, 3, 2}}));
  expect_bags("bag last", {.mode = Bag::sum, .include_last_offset = true}, ids, tensor({0, 3, 3, 8}));
}

TEST(EmbeddingBag, EmptyBagsAndErrors) {
  const nn::EmbeddingBag bag(7, 3, {.mode = nn::Bag::max, .padding_idx = 2});
  EXPECT_TRUE(equal(bag(tensor({2, 2}), tensor({0, 1})), zeros({2, 3})));
  EXPECT_TRUE(equal(bag(zeros({0}, kInt64), tensor({0, 0})), zeros({2, 3})));
  EXPECT_EQ(bag(zeros({2, 0}, kInt64)).shape(), Shape({2, 3}));
  const Tensor ids = tensor({1, 3});
  EXPECT_ERROR(bag(ids, {}, {}));
  EXPECT_ERROR(bag(tensor({{1, 3}}), tensor({0}), {}));
  EXPECT_ERROR(bag(ids, tensor({1, 2}), {}));
  EXPECT_ERROR(bag(ids, tensor({0, 2, 1}), {}));
  EXPECT_ERROR(bag(ids, tensor({0, 3}), {}));
  EXPECT_ERROR(bag(ids, tensor({0}), ones({2})));
  const nn::EmbeddingBag sum(7, 3, {.mode = nn::Bag::sum});
  EXPECT_ERROR(sum(ids, tensor({0}), ones({3})));
}

// The first parameters, by name, and the result.
template <class Make>
void expect_pytorchs(const char* name, const Shape& x_shape, Make make) {
  SCOPED_TRACE(name);
  const Json& golden = stored("convolution.json").at(name);
  manual_seed(123);
  auto layer = make();
  const auto parameters = nn::named_parameters(layer);
  EXPECT_EQ(parameters.size(), golden["parameters"].size());
  for (const auto& [path, parameter] : parameters) {
    const Json& expected = golden["parameters"].at(path);
    const auto sizes = expected["shape"].get<std::vector<int64_t>>();
    ASSERT_EQ(parameter->shape(), Shape(sizes.data(), static_cast<int64_t>(sizes.size()))) << path;
    expect_close(parameter, expected["values"], {2e-7, 0}, path);
  }
  expect_close(layer(filled(x_shape, 0).to(kFloat32)), golden["y"], {1e-6, 1e-6}, "y");
}

TEST(Convolution, StartsWithPyTorchsParameters) {
  expect_pytorchs("conv1d", {2, 4, 9}, [] { return nn::Conv1d(4, 6, 3, {.stride = 2, .padding = 1}); });
  expect_pytorchs("conv1d_groups", {2, 4, 5}, [] { return nn::Conv1d(4, 6, 2, {.groups = 2}, false); });
  expect_pytorchs("conv2d", {2, 3, 4, 5}, [] { return nn::Conv2d(3, 4, 3, {.padding = 1}); });
  expect_pytorchs("conv2d_depthwise", {1, 4, 5, 6}, [] {
    return nn::Conv2d(4, 4, {3, 2}, {.stride = {1, 2}, .groups = 4});
  });
  expect_pytorchs("conv1d_same", {2, 3, 5},
                  [] { return nn::Conv1d(3, 4, 4, {.padding = Padding::same, .dilation = 3}); });
  expect_pytorchs("conv2d_same", {2, 3, 4, 5}, [] { return nn::Conv2d(3, 4, {2, 5}, {.padding = Padding::same}); });
  expect_pytorchs("conv1d_reflect", {3, 7},
                  [] { return nn::Conv1d(3, 4, 4, {.stride = 2, .padding = 2, .padding_mode = PadMode::reflect}); });
  expect_pytorchs("conv2d_circular", {2, 2, 3, 4}, [] {
    return nn::Conv2d(2, 4, {2, 3}, {.padding = {1, 2}, .groups = 2, .padding_mode = PadMode::circular});
  });
  expect_pytorchs("conv2d_replicate_same", {2, 2, 3, 4}, [] {
    return nn::Conv2d(2, 3, {4, 2}, {.padding = Padding::same, .padding_mode = PadMode::replicate});
  });
  expect_pytorchs("conv_transpose1d", {2, 3, 4},
                  [] { return nn::ConvTranspose1d(3, 5, 3, {.stride = 2, .padding = 1, .output_padding = 1}); });
  expect_pytorchs("conv_transpose2d", {1, 4, 2, 3}, [] {
    return nn::ConvTranspose2d(4, 6, {2, 3}, {.stride = {2, 1}, .groups = 2});
  });
}

TEST(ConvolutionErrors, OfLayers) {
  EXPECT_ERROR(nn::Conv2d(0, 3, 3));
  EXPECT_ERROR(nn::Conv1d(3, -1, 3));
  EXPECT_ERROR(nn::ConvTranspose2d(3, 3, {3, 0}));
  EXPECT_ERROR(nn::ConvTranspose1d(3, 3, 3, {.groups = 0}));
  EXPECT_ERROR(nn::Conv2d(4, 6, 3, {.groups = 4}));
  EXPECT_ERROR(nn::Conv2d(4, 6, {1, 2, 3}));
}

}  // namespace
}  // namespace tapegrad::tests
