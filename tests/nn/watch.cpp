// nn::watch: the members of a model, the operations of one pass, and the C++ of each module; nn::summary.
#include <tapegrad/tests/nn/tied_language.h>
#include <tapegrad/tests/support/contents.h>
#include <tapegrad/tests/support/testing.h>

#include <variant>

namespace tapegrad::watch_tests {
namespace {

using namespace tests;
using Kind = nn::WatchedMember::Kind;

struct Block {
  int64_t dim;
  bool causal = false;
  nn::LayerNorm norm{dim};
  nn::Linear up{dim, 2 * dim}, down{2 * dim, dim, false};
  nn::Dropout drop{0.1};
  Tensor operator()(const Tensor& x) const { return x + drop(down(relu(up(norm(x))))); }
};
struct Net {
  nn::Embedding table{10, 4};
  nn::List<Block> blocks = nn::repeat<Block>(2, 4);
  Tensor operator()(const Tensor& ids) const {
    Tensor x = table(ids);
    for (const Block& block : blocks) x = block(x);
    return x;
  }
};

const nn::WatchedMember& member_of(const nn::Watched& seen, const char* path) {
  for (const nn::WatchedMember& member : seen.members)
    if (member.path == path) return member;
  fail("test", std::string("there is no ") + path);
}

TEST(Watch, HasTheMembersOfAModel) {
  const Net net;
  const nn::Watched seen = nn::watch(net);
  EXPECT_TRUE(seen.operations.empty());
  EXPECT_EQ(seen.members[0].type, "Net");
  EXPECT_EQ(seen.members[0].count, nn::count_parameters(net));
  const nn::WatchedMember& up = member_of(seen, "blocks.1.up");
  EXPECT_EQ(up.name, "up");
  EXPECT_EQ(up.depth, 2U);
  EXPECT_EQ(up.code, "nn::Linear(4, 8)");
  EXPECT_EQ(up.count, 4 * 8 + 8);
  EXPECT_EQ(up.as<nn::Linear>(), &net.blocks[1].up);
  EXPECT_EQ(up.as<nn::Embedding>(), nullptr);
  EXPECT_EQ(member_of(seen, "blocks.0").code, "Block{.dim = 4, .causal = false}");
  EXPECT_EQ(member_of(seen, "table.weight").kind, Kind::parameter);
  EXPECT_EQ(member_of(seen, "table.weight").shape, (Shape{10, 4}));
}

TEST(Watch, HasEveryOperationWithItsModuleInputsAndValue) {
  Net net;
  nn::freeze(net.table);
  const Tensor ids = tensor({{1, 2, 3}});
  const nn::Watched seen = nn::watch(net, [&] { return net(ids); });
  EXPECT_TRUE(net.table.weight.frozen());
  EXPECT_TRUE(net.blocks[0].drop.training);
  EXPECT_TRUE(member_of(seen, "table.weight").frozen);
  std::vector<std::string> ran;
  for (const nn::WatchedOperation& op : seen.operations) {
    ASSERT_TRUE(op.value.defined()) << op.name;
    EXPECT_EQ(op.value.tape_index().tape, 0U);
    ASSERT_EQ(op.constants.size(), op.inputs.size());
    if (op.name != "leaf") ran.push_back(op.module + ": " + std::string(op.name));
  }
  EXPECT_TEXT(ran);
  const nn::WatchedOperation &sum = seen.operations.back(),
                             &down = seen.operations[static_cast<std::size_t>(sum.inputs[1])];
  EXPECT_EQ(down.module, "blocks.1.down");
  EXPECT_TRUE(equal(sum.value, seen.result));
  nn::eval(net);
  EXPECT_TRUE(equal(seen.result, net(ids)));
}

TEST(Watch, KeepsConstantsAndTheNamesOfParametersInTheWatchedPart) {
  Net net;
  const NamedTensors named = nn::parameters(net);
  const Tensor shift = full({4}, 3.0), x = ones({1, 4});
  const nn::Watched seen = nn::watch(net.blocks[0], [&] { return net.blocks[0].norm(x) + shift; });
  const nn::WatchedOperation& sum = seen.operations.back();
  EXPECT_EQ(sum.inputs[1], -1);
  EXPECT_TRUE(equal(sum.constants[1], shift));
  EXPECT_FALSE(sum.constants[0].defined());
  EXPECT_EQ(seen.operations[0].module, "norm.weight");
  EXPECT_EQ(detail::leaf_name(named[1].tensor.tape_index()), "blocks.0.norm.weight") << "the model's names stay";
}

TEST(Watch, HasSettingsGradientsAndThePartsOfAttention) {
  nn::Linear layer(2, 2);
  const Tensor x = tensor({{{1, 2}, {3, 5}, {0, -1}}}).to(kFloat32);
  const auto loss = [&] {
    const Tensor q = layer(x);
    return sum(square(scaled_dot_product_attention(q, q, q, {.causal = true}).transpose(0, 1)));
  };
  const nn::Watched seen = nn::watch(layer, loss, {.gradients = true, .plain_attention = true});
  std::string ran;
  for (const nn::WatchedOperation& op : seen.operations) ran += std::string(op.name) + " ";
  EXPECT_EQ(ran, "leaf leaf linear transpose matmul mul masked_fill softmax matmul transpose square sum ");
  const auto setting = [&](std::size_t i) { return seen.operations[i].settings.at(0); };
  EXPECT_EQ(setting(3).first, "from");
  EXPECT_EQ(std::get<double>(setting(3).second), 1);
  EXPECT_EQ(std::get<double>(setting(5).second), 1 / std::sqrt(2.));
  EXPECT_TRUE(std::get<Tensor>(setting(6).second)[0][1].item<bool>()) << "a later key";
  Tape tape;
  const Tensor fused = loss();
  EXPECT_NEAR(fused.item(), seen.result.item(), 1e-4);
  expect_near(seen.operations[0].gradient, tape.backward(fused)[layer.weight]);
  EXPECT_EQ(seen.operations.back().gradient.item(), 1);
}

// A pass that raises restores the model; a pass inside of a pass is its own.
TEST(Watch, EndsWithItsPass) {
  Net net;
  EXPECT_NE(error_of([&] { nn::watch(net, [&] { return net(tensor({{11}})); }); }), "");
  EXPECT_TRUE(net.blocks[0].drop.training);
  nn::Linear inner(2, 2);
  const nn::Watched seen = nn::watch(net, [&] {
    EXPECT_EQ(nn::watch(inner, [&] { return inner(ones({1, 2})); }).operations.size(), 3U);
    return net(tensor({{1}}));
  });
  for (const nn::WatchedOperation& op : seen.operations) EXPECT_NE(op.value.size(-1), 2);
}

template <class Module>
std::string code_of(const Module& module) {
  return nn::watch(module).members.at(0).code;
}

std::string without_spaces(std::string text) {
  std::erase(text, ' ');
  return text;
}

// Each of these lines is C++ that makes the module: the compiler and the comparison read the same text.
#define EXPECT_CODE(...) EXPECT_EQ(without_spaces(code_of(__VA_ARGS__)), without_spaces(#__VA_ARGS__))

TEST(Watch, CodeIsWhatMakesTheModule) {
  EXPECT_CODE(nn::Linear(3, 4));
  EXPECT_CODE(nn::Linear(3, 4, false));
  EXPECT_CODE(nn::Embedding(5, 3));
  EXPECT_CODE(nn::Embedding(5, 3, 1));
  EXPECT_CODE(nn::Embedding(5, 3, {.sparse = true}));
  EXPECT_CODE(nn::Embedding(5, 3, {.padding = 1, .sparse = true}));
  EXPECT_CODE(nn::Dropout(0.25));
  EXPECT_CODE(nn::LayerNorm(4));
  EXPECT_CODE(nn::LayerNorm(4, 1e-06));
  EXPECT_CODE(nn::LayerNorm(4, {.eps = 0.1, .bias = false}));
  EXPECT_CODE(nn::LayerNorm(Shape{4, 5}, {.affine = false}));
  EXPECT_CODE(nn::LayerNormStd(4, 0.001));
  EXPECT_CODE(nn::RMSNorm(4, 1e-05));
  EXPECT_CODE(nn::RMSNorm(Shape{4, 5}, {.eps = 0.1}));
  EXPECT_CODE(nn::Conv1d(4, 6, 3, {.stride = 2, .padding = 1}));
  EXPECT_CODE(nn::Conv2d(4, 6, {3, 5}, {.padding = Padding::same, .groups = 2}, false));
  EXPECT_CODE(nn::Conv2d(4, 6, 1, {}, false));
  EXPECT_CODE(nn::Conv3d(2, 2, 3, {.dilation = {1, 2, 1}, .padding_mode = PadMode::replicate}));
  EXPECT_CODE(nn::FeedForward(4, 8, 0.1));
  EXPECT_CODE(nn::FeedForward(4, 8, 0, nn::Activation::gelu_tanh));
  EXPECT_CODE(nn::FeedForward(4, 8, 0, {nn::Activation::elu, 0.5}));
  EXPECT_CODE(nn::GPTFeedForward(4));
  EXPECT_CODE(nn::LanguageHead(9, 4, false));
  EXPECT_CODE(nn::LanguageHead(9, 4, true));
  EXPECT_CODE(nn::LlamaMLP({.hidden_size = 4, .intermediate_size = 6, .mlp_bias = true}));
  EXPECT_CODE(
      nn::LlamaAttention({.hidden_size = 8, .num_attention_heads = 4, .num_key_value_heads = 2, .head_dim = 4}));
  EXPECT_CODE(nn::MultiHeadAttention(8, 2, 0.1));
  EXPECT_CODE(nn::MultiHeadAttention(8, 2, 0, nn::Positions::shaw));
  EXPECT_CODE(nn::MultiHeadAttention({.d_in = 8, .d_out = 8, .num_heads = 2, .qkv_bias = true}, nn::kAttentionNames));
  EXPECT_CODE(nn::MultiHeadSelfAttention(
      {.d_in = 8, .d_out = 8, .num_heads = 4, .dropout = 0.1, .causal = false, .num_kv_heads = 2}));
  EXPECT_CODE(nn::MultiHeadSelfAttention(
      {.d_in = 8, .d_out = 8, .num_heads = 4, .causal = false, .attention = nn::attention_named("window")}));
  EXPECT_CODE(nn::AddedPositions(nn::Positions::learned, 6, 4));
  EXPECT_CODE(nn::AddedPositions(nn::Positions::conv_multiscale, 6, 4, {}, true));
  EXPECT_CODE(nn::RelativePositions(nn::Positions::t5, 2, 4, true));
  EXPECT_EQ(code_of(nn::AddedPositions(nn::Positions::rope, 6, 4)), "");
  EXPECT_EQ(code_of(nn::RelativePositions(nn::Positions::learned, 2, 4, true)), "");
}

// An encoding of a program's own has no constant.
class OwnKind final : public nn::PositionKind {
 public:
  OwnKind() : PositionKind("log-bias", "a test", Role::relative) {}
};

TEST(Watch, CodeOfPositionsCompiles) {
  for (const nn::PositionKind* kind : nn::position_kinds()) {
    const std::string code = nn::code_of(kind->positions());
    if (code == fmt::format("nn::positions_named(\"{}\")", kind->name)) continue;  // without a constant
    EXPECT_TRUE(code.starts_with("nn::Positions::")) << code;
    EXPECT_EQ(code.find('-'), std::string::npos) << code;
  }
  EXPECT_EQ(nn::code_of(nn::Positions::conv_multiscale), "nn::Positions::conv_multiscale");
  EXPECT_EQ(nn::code_of(OwnKind().positions()), "nn::positions_named(\"log-bias\")");
}

struct Classifier {
  nn::Sequential<nn::Linear, nn::Dropout, nn::LayerNorm> stem{nn::Linear(6, 4), nn::Dropout(0.5), nn::LayerNorm(4)};
  nn::List<nn::Linear> layers = nn::repeat<nn::Linear>(2, 4, 4);
  nn::Hooked<nn::Linear> head{4, 4, false};
  nn::Buffer steps{zeros({3})};
  Tensor operator()(const Tensor& x) const {
    EXPECT_FALSE(stem.get<1>().training);
    Tensor y = stem(x);
    for (const nn::Linear& layer : layers) y = layer(y);
    return head(y).flatten();
  }
};

TEST(Summary, IsATreeWithMarks) {
  Classifier model;
  nn::tie(model.layers[0].weight, model.head.weight);
  nn::freeze(model.stem);
  EXPECT_TEXT(nn::summary(model));
}

TEST(Summary, HasTheShapesOfOutputs) {
  Classifier model;
  nn::freeze(model.layers[1]);
  const Tensor x = randn({2, 6});
  manual_seed(9);
  const Tensor expected = rand({3});
  manual_seed(9);
  EXPECT_TEXT(nn::summary(model, {x}));
  EXPECT_EQ(values_of(rand({3})), values_of(expected)) << "the generator goes on as before";
  EXPECT_TRUE(model.stem.get<1>().training);
  EXPECT_TRUE(model.layers[1].weight.frozen());
  EXPECT_ERROR(nn::summary(model, {randn({2, 5})}));
  EXPECT_TRUE(model.stem.get<1>().training);
}

TEST(Summary, ATiedParameterDoesNotTellWhichModuleUsedIt) {
  Language model = tied_language();
  const std::string text = nn::summary(model, {tensor({{0, 1}})});
  expect_parts(text, {"\nLanguage               -> [1, 2, 5]", "\n  table     Embedding                   15",
                      "\n  middle    Linear     -> [1, 2, 3]"});
}

TEST(Summary, OfAPartAndOfOneParameter) {
  const Language model;
  EXPECT_TEXT(nn::summary(model.middle));
  EXPECT_TEXT(nn::summary(model.middle.weight));
}

}  // namespace
}  // namespace tapegrad::watch_tests
