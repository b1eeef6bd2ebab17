// The code in docs/guides/models.md, gradients.md and optimisers.md: here word for word, compiled and run.
#include <tapegrad/tests/support/testing.h>

#include <iostream>

namespace tg = tapegrad;
namespace nn = tg::nn;

namespace {

struct Mlp {
  tg::nn::Linear up, down;
  explicit Mlp(int64_t dim) : up(dim, 4 * dim), down(4 * dim, dim) {}
  tg::Tensor operator()(const tg::Tensor& x) const { return x + down(tg::gelu(up(x))); }
  void visit(auto&& field) {
    field("up", up);
    field("down", down);
  }
};

// Runs in its own folder.
class Readme : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::current_path(folder_.path()); }
  void TearDown() override { std::filesystem::current_path(tg::tests::kSourceDir); }

 private:
  tg::tests::TemporaryFolder folder_;
};

// clang-format off
TEST_F(Readme, GradientChecks) {
const Mlp model(8);
tg::GradcheckReport report = tg::nn::gradcheck(model, {tg::randn({2, 8})}, {.gradcheck = {.order = 1}});
if (!report) std::cout << report.text << "\n";          // "... (element 3 of up.weight)"
EXPECT_TRUE(report.ok) << report.text;
}

TEST(Mlp, Gradients) {
  EXPECT_TRUE(tg::nn::gradients_match(Mlp(2), {tg::randn({2, 2})}));
  EXPECT_TRUE(tg::gradients_match([](const tg::Tensor& x) { return x * x; }, {tg::randn({3}, tg::kFloat64)}));
}

TEST_F(Readme, DerivativesByParameters) {
Mlp model(3);
const tg::Tensor x = tg::randn({2, 3}), y = tg::randn({2, 3});
std::vector<tg::Tensor> v, values;
for (const auto& p : nn::parameters(model)) v.push_back(tg::randn(p.tensor.shape())), values.push_back(p.tensor * 0.5);
const auto loss = [&](const Mlp& m) { return tg::mse_loss(m(x), y); };
auto [value, grads] = nn::value_and_grad(model, loss);             // one tensor per parameter
auto [again, hv] = nn::hvp(model, v, loss);                        // the Hessian times v; v has one tensor per parameter
auto blocks = nn::hessian(model, loss);                            // all of it, for a small model
tg::Tensor other = nn::functional_call(model, values, loss);       // the loss with other parameters
nn::vector_to_parameters(nn::parameters_to_vector(model) * 0.5, model);
EXPECT_EQ(value.item(), again.item());
EXPECT_EQ(grads.size(), hv.size());
EXPECT_EQ(blocks[0][1].shape(), (tg::Shape{12, 3, 12}));
EXPECT_EQ(loss(model).item(), other.item());
}

TEST_F(Readme, ForwardMode) {
Mlp model(3);
const tg::Tensor x = tg::randn({2, 3});
std::vector<tg::Tensor> v;
for (const auto& p : nn::parameters(model)) v.push_back(tg::randn(p.tensor.shape()));
const auto [u, slope] = tg::jvp(model, x, tg::ones_like(x));                 // model(x), and its slope along a tensor
const auto [y, dy] = nn::jvp(model, v, [&](const Mlp& m) { return m(x); });  // the same along one tensor per parameter
EXPECT_TRUE(tg::tests::same_bits(u, y));
EXPECT_TRUE(dy.shape() == slope.shape());
}

TEST_F(Readme, RecurrentNetworks) {
const tg::Tensor x = tg::randn({5, 3, 10}), more = tg::randn({2, 3, 10}), lengths = tg::tensor({5, 2, 3});
nn::LSTM lstm(10, 20, {.num_layers = 2, .dropout = 0.1, .bidirectional = true});
auto [output, hidden, cell] = lstm(x);                     // x [T, B, 10] -> [T, B, 40], [4, B, 20], [4, B, 20]
auto [later, h, c] = lstm(more, {hidden, cell});           // continues from these states
auto [padded, last, memory] = lstm(x, {}, lengths);        // int64 [B]: sequences of several lengths
nn::GRUCell step(10, 20);
tg::Tensor next = step(x[0], step(more[0]));               // two steps
EXPECT_EQ(output.shape(), (tg::Shape{5, 3, 40}));
EXPECT_EQ(later.shape(), (tg::Shape{2, 3, 40}));
for (const tg::Tensor& state : {hidden, cell, h, c, last, memory}) EXPECT_EQ(state.shape(), (tg::Shape{4, 3, 20}));
EXPECT_EQ(padded.shape(), output.shape());
EXPECT_EQ(next.shape(), (tg::Shape{3, 20}));
}

TEST_F(Readme, TheFormOfAttentionOfAModel) {
const nn::init::Skip no_draws;
nn::GPTModel model({.context_length = 8192, .attention = nn::WindowAttention{.window = 128}});
EXPECT_EQ(model.config.attention.as<nn::WindowAttention>()->window, 128);
}

TEST_F(Readme, LinformerPerformerReformer) {
const tg::Tensor x = tg::randn({2, 100, 16}), mask = nn::padding_mask(tg::ones({2, 100}, tg::kInt64));
nn::LinformerSelfAttention linformer({.d_in = 16, .d_out = 32, .num_heads = 4, .context_length = 100, .projected = 20});
nn::PerformerSelfAttention performer({.d_in = 16, .d_out = 32, .num_heads = 4, .num_features = 64});
nn::ReformerSelfAttention reformer({.d_in = 16, .d_out = 32, .num_heads = 4, .chunk_length = 8, .rounds = 4});
tg::Tensor y = performer(x, mask);              // x [B, T, 16], mask [B, 1, 1, T] -> [B, T, 32]
performer.redraw();                             // new features, say every 1,000 steps; they are saved with the model
EXPECT_EQ(y.shape(), (tg::Shape{2, 100, 32}));
EXPECT_EQ(linformer(x, mask).shape(), y.shape());
EXPECT_EQ(reformer(x, mask).shape(), y.shape());
}

TEST_F(Readme, ReversibleLayers) {
const tg::Tensor x = tg::randn({2, 100, 16});
nn::ReversibleStack<nn::ReformerSelfAttention, nn::FeedForward> stack;
for (int i = 0; i < 12; ++i) {
  stack.layers.emplace_back(
      nn::ReformerSelfAttention({.d_in = 16, .d_out = 16, .num_heads = 2}), nn::FeedForward(16, 64, 0.1));
}
tg::Tensor mixed = stack(x);                    // both halves begin as x; the result is their mean
stack.store_activations = true;                 // plain layers: faster, memory per layer, differentiable twice
EXPECT_EQ(mixed.shape(), x.shape());
}

struct Nets {                                                        // a plain model, with nn::EnsembleLinear for nn::Linear
  nn::EnsembleLinear up{3, 4, 8}, down{3, 8, 2};                     // three members
  tg::Tensor operator()(const tg::Tensor& x) const { return down(tanh(up(x))); }   // [B, 4], or [3, B, 4] -> [3, B, 2]
};
struct OneNet {
  nn::Linear up{4, 8}, down{8, 2};
  tg::Tensor operator()(const tg::Tensor& x) const { return down(tanh(up(x))); }
};

TEST_F(Readme, Ensembles) {
tg::manual_seed(1);
OneNet a, b, c;
const tg::Tensor x = tg::randn({5, 4}), target = tg::randn({5, 2}), before = a(x);
Nets nets;
nn::load_state_dict(nets, nn::stack_states({nn::state_dict(a), nn::state_dict(b), nn::state_dict(c)}));
nn::load_state_dict(a, nn::member_state(nn::state_dict(nets), 0));
EXPECT_TRUE(equal(a(x), before));
tg::Tape tape;
const tg::Tensor y = nets(x);
const tg::Gradients grads = tape.backward(sum(mean(square(y - target), {1, 2})));
int64_t member = 0;
for (const OneNet* net : {&a, &b, &c}) {
  tg::Tape own;
  const tg::Gradients of = own.backward(mse_loss((*net)(x), target));
  EXPECT_TRUE(tg::allclose(grads[nets.up.weight][member], of[net->up.weight], 1e-5, 1e-6));
  EXPECT_TRUE(tg::allclose(grads[nets.down.bias][member++], of[net->down.bias], 1e-5, 1e-6));
}
}

TEST_F(Readme, GradientsPerExample) {
nn::Sequential model{nn::Linear(4, 8), [](const tg::Tensor& x) { return relu(x); }, nn::Linear(8, 3)};
const tg::Tensor x = tg::randn({6, 4}), y = tg::tensor({0, 1, 2, 0, 1, 2});
tg::Generator generator(0);
tg::optim::SGD optimizer(nn::parameters(model), {.lr = 0.1});
const double max_norm = 1, noise_multiplier = 0.1, batch_size = 6;
for (int step = 0; step < 2; ++step) {
tg::Tape tape;
const tg::Tensor losses = tg::cross_entropy(model(x), y, {.reduction = tg::Reduction::none});   // [B]
if (step == 0) tg::require_separate_examples(tape, losses);        // an Error if the model mixes examples
tg::Gradients grads = tape.backward(losses, {.per_example = true});
tg::optim::clip_per_example(grads, max_norm);                      // each example's gradients; then their sum
tg::optim::add_noise(grads, noise_multiplier * max_norm, &generator);
grads *= 1.0 / batch_size;
optimizer.step(grads);
}
}

struct Language {
  nn::Embedding table{5, 3};
  nn::Linear encoder{3, 3}, head{3, 5};
  tg::Tensor operator()(const tg::Tensor& ids) const { return head(encoder(table(ids))); }
  void visit(auto&& field) {
    field("table", table);
    field("encoder", encoder);
    field("head", head);
  }
};

TEST_F(Readme, TiedAndFrozenParameters) {
Language model;
const tg::Tensor ids = tg::tensor({{1, 2}});
tie(model.table.weight, model.head.weight);     // one leaf from now on, with the first one's values
nn::freeze(model.encoder);                      // constants until nn::unfreeze(model.encoder)
std::cout << nn::summary(model, {ids});         // with the shapes of outputs
EXPECT_EQ(nn::count_trainable_parameters(model), 20);
}

TEST_F(Readme, Decoding) {
const nn::Transformer model({.vocab_size = 6, .hidden_size = 4, .num_hidden_layers = 1, .num_attention_heads = 2, .intermediate_size = 8, .max_position_embeddings = 32});
const nn::GPTModel gpt(nn::gpt_preset("tiny"));
const tg::Tensor src = tg::tensor({{3, 4, 5, 0}}), start = tg::tensor({1}).reshape({1, 1}), prompt = tg::tensor({{3, 4}});
nn::TransformerNext next(model, src, nn::padding_mask(src));
nn::Generated best = nn::generate(next, start, {.max_new_tokens = 20, .end_token = 2, .beams = 4});
nn::GPTNext gpt_next(gpt);
nn::Generated drawn =
    nn::generate(gpt_next, prompt, {.max_new_tokens = 20, .temperature = 0.8, .top_k = 50, .top_p = 0.9});
EXPECT_EQ(drawn.lengths[0], 20);
EXPECT_LE(best.lengths[0], 20);
}

TEST_F(Readme, Gpt) {
const tg::Tensor ids = tg::tensor({{1, 2, 3}}), prompt = ids, next = tg::tensor({4}).reshape({1, 1});
nn::GPTModel model(nn::gpt_preset("tiny"));
tg::Tensor logits = model(ids);                 // ids [B, T] -> [B, T, V]
nn::KVCache cache;
model(prompt, &cache), model(next, &cache);     // computes the new positions only
model.recompute_blocks = true;                  // activation checkpointing: backward runs each block again
EXPECT_EQ(logits.shape(), (tg::Shape{1, 3, 50257}));
EXPECT_EQ(cache.length(), 4);
const tg::Tensor y = tg::tensor({{2, 3, 4}});
const nn::EvalMode eval(model);
tg::Tensor loss = tg::linear_cross_entropy(model.hidden(ids), model.out_head.weight, y);   // y [B, T]
EXPECT_NEAR(loss.item(), tg::cross_entropy(model(ids), y).item(), 1e-5);
}

TEST_F(Readme, Gpt2OfHuggingFace) {
{
const nn::GPTModel small({.vocab_size = 6, .context_length = 4, .emb_dim = 4, .n_heads = 2, .n_layers = 1, .qkv_bias = true, .tied_head = true});
std::filesystem::create_directory("gpt2");
tg::tests::spill("gpt2/config.json", nn::to_hugging_face_config(small.config));
tg::save_safetensors("gpt2/model.safetensors", nn::to_hugging_face(small));
}
std::ifstream file("gpt2/config.json");
std::string config(std::istreambuf_iterator<char>(file), {});
nn::GPTModel model(nn::gpt_config_of_hugging_face(config, "gpt2/config.json"));
nn::load_state_dict(model, nn::from_hugging_face(tg::load_safetensors("gpt2/").tensors, model.config));
nn::eval(model);               // no dropout
nn::store(model, "bfloat16");  // for generation: half the memory, twice the tokens per second
EXPECT_EQ(model(tg::tensor({{1, 2}})).shape(), (tg::Shape{1, 2, 6}));
}

TEST_F(Readme, Lora) {
nn::GPTModel model({.vocab_size = 6, .context_length = 4, .emb_dim = 4, .n_heads = 2, .n_layers = 1});
nn::lora(model, {.rank = 8, .alpha = 16, .targets = {"W_query", "W_value"}, .dropout = 0.05});
tg::optim::AdamW adam(nn::trainable_parameters(model), {.lr = 2e-4});    // the updates only
nn::save_adapter(model, "my-adapter");                            // later: nn::load_adapter(model, "my-adapter")
nn::merge_lora(model);                                            // weights with the updates; a plain model again
EXPECT_FALSE(nn::has_lora(model));
EXPECT_EQ(adam.parameters().size(), 4U);
}

TEST_F(Readme, LlamaOfHuggingFace) {
{
const nn::LlamaModel small({.vocab_size = 6, .hidden_size = 4, .intermediate_size = 6, .num_hidden_layers = 1, .num_attention_heads = 2, .max_position_embeddings = 32});
std::filesystem::create_directory("llama");
tg::tests::spill("llama/config.json", nn::to_hugging_face_config(small.config));
tg::save_safetensors("llama/model.safetensors", nn::to_hugging_face(small));
}
const tg::Tensor prompt = tg::tensor({{3, 4}});
std::ifstream file("llama/config.json");
std::string config(std::istreambuf_iterator<char>(file), {});
nn::LlamaModel model = [&] {
  const nn::init::Skip skip;   // weights are loaded next
  return nn::LlamaModel(nn::llama_config_of_hugging_face(config, "llama/config.json"));
}();
nn::load_state_dict(model, nn::from_hugging_face(tg::load_safetensors("llama/").tensors, model.config));
nn::DecoderNext next(model);
nn::Generated answer = nn::generate(next, prompt, {.max_new_tokens = 20});
EXPECT_EQ(answer.lengths[0], 20);
}

TEST_F(Readme, MixedPrecision) {
Mlp model(4);
const std::vector<std::pair<tg::Tensor, tg::Tensor>> batches(3, {tg::randn({2, 4}), tg::randn({2, 4})});
tg::optim::Adam adam(tg::nn::parameters(model), {.lr = 1e-4});
for (const auto& [x, y] : batches) {
  tg::Tape tape;
  tg::Tensor loss;
  {
    const tg::Autocast autocast(tg::kBFloat16);
    loss = tg::mse_loss(model(x), y);
  }
  adam.step(tape.backward(loss));                // parameters, gradients and Adam's moments are float32
}
}

TEST_F(Readme, ATrainingLoop) {
Mlp model(4);
const std::vector<std::pair<tg::Tensor, tg::Tensor>> batches(3, {tg::randn({2, 4}), tg::randn({2, 4})});
tg::optim::Adam adam(tg::nn::parameters(model), {.lr = 1e-4});
tg::optim::Schedule schedule = tg::optim::Noam{.hidden_size = 64, .warmup = 400};
for (const auto& [x, y] : batches) {
  tg::Tape tape;
  tg::Gradients grads = tape.backward(tg::mse_loss(model(x), y));
  tg::optim::clip_grad_norm(grads, 1.0);
  adam.set_lr(schedule(adam.steps() + 1));   // steps count from 1
  adam.step(grads);
}
EXPECT_EQ(adam.steps(), 3);
}

TEST_F(Readme, PositionsHaveOptions) {
nn::GPTModel model({.positions = nn::Positions::rope, .position_options = nn::RopeOptions{.base = 500'000}});
nn::PositionOptions options(nn::ConvPositionOptions{.width = 5},
                            nn::CompositePositionOptions{.added = "conv", .relative = "alibi"});
options.of<nn::RopeOptions>().ntk_scale = 4;  // nn::positions_named("rope") is nn::Positions::rope
EXPECT_EQ(options.of<nn::RopeOptions>().ntk_scale, 4);
}
// clang-format on

std::string read(const std::string& path) {
  std::ifstream in(std::string(tg::tests::kSourceDir) + "/" + path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

TEST(GuidesCode, IsInThisFileWordForWord) {
  const std::string here = read("tests/nn/guides.cpp");
  const std::string begin = "```cpp\n", end = "```\n";
  int blocks = 0;
  for (const char* const path : {"docs/guides/models.md", "docs/guides/optimisers.md"}) {
    const std::string text = read(path);
    for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
      at += begin.size();
      const std::string code = text.substr(at, text.find(end, at) - at);
      EXPECT_NE(here.find(code), std::string::npos) << path << " has code that is not tested:\n" << code;
      ++blocks;
    }
  }
  EXPECT_EQ(blocks, 20);
}

}  // namespace
