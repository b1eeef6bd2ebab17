// Models of a program's own are drawn from a watched pass: all parameters are in a part, layers are drawn once, and the
// drawing is readable.
#include <tapegrad/tasks/architecture/architecture.h>
#include <tapegrad/tests/support/pictures/svg_check.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train/drawing/flow.h>

#include <numbers>

// Models as their authors wrote them in PyTorch, ported line by line: Whisper (OpenAI), DETR (Facebook) and a GPT with
// a mixture of experts (Mixtral's). Nothing in them knows that they are drawn.
namespace own_models {

using namespace tapegrad;

Tensor sinusoids(int64_t length, int64_t channels, double max_timescale = 10000) {
  const double log_timescale_increment = std::log(max_timescale) / (channels / 2 - 1);
  const Tensor inv_timescales = exp(-log_timescale_increment * arange(channels / 2, kFloat32));
  const Tensor scaled_time = arange(length, kFloat32)(all, newaxis) * inv_timescales(newaxis, all);
  return cat({sin(scaled_time), cos(scaled_time)}, 1);
}

struct MultiHeadAttention {
  int64_t n_state, n_head;
  nn::Linear query{n_state, n_state}, key{n_state, n_state, false}, value{n_state, n_state}, out{n_state, n_state};

  Tensor operator()(const Tensor& x, const Tensor& xa = {}, const Tensor& mask = {}) const {
    const Tensor& from = xa.defined() ? xa : x;
    return out(qkv_attention(query(x), key(from), value(from), mask));
  }

  Tensor qkv_attention(Tensor q, Tensor k, Tensor v, const Tensor& mask) const {
    const int64_t n_ctx = q.size(1);
    const double scale = std::pow(n_state / n_head, -0.25);
    q = unflatten(q, -1, {n_head, -1}).permute({0, 2, 1, 3});
    k = unflatten(k, -1, {n_head, -1}).permute({0, 2, 1, 3});
    v = unflatten(v, -1, {n_head, -1}).permute({0, 2, 1, 3});
    Tensor qk = matmul(q * scale, (k * scale).transpose(-1, -2));
    if (mask.defined()) qk += mask(range(0, n_ctx), range(0, n_ctx));
    const Tensor w = softmax(qk, -1);
    return matmul(w, v).permute({0, 2, 1, 3}).flatten(2);
  }
};

struct ResidualAttentionBlock {
  int64_t n_state, n_head;
  bool cross_attention = false;
  MultiHeadAttention attn{n_state, n_head};
  nn::LayerNorm attn_ln{n_state};
  nn::Optional<MultiHeadAttention> cross_attn =
      cross_attention ? nn::Optional<MultiHeadAttention>(MultiHeadAttention{n_state, n_head})
                      : nn::Optional<MultiHeadAttention>();
  nn::Optional<nn::LayerNorm> cross_attn_ln =
      cross_attention ? nn::Optional<nn::LayerNorm>(nn::LayerNorm(n_state)) : nn::Optional<nn::LayerNorm>();
  nn::Sequential<nn::Linear, nn::GELU, nn::Linear> mlp{nn::Linear(n_state, 4 * n_state), nn::GELU(),
                                                       nn::Linear(4 * n_state, n_state)};
  nn::LayerNorm mlp_ln{n_state};

  Tensor operator()(Tensor x, const Tensor& xa = {}, const Tensor& mask = {}) const {
    x += attn(attn_ln(x), {}, mask);
    if (cross_attn) x += (*cross_attn)((*cross_attn_ln)(x), xa);
    return x + mlp(mlp_ln(x));
  }
};

struct AudioEncoder {
  int64_t n_mels, n_ctx, n_state, n_head, n_layer;
  nn::Conv1d conv1{n_mels, n_state, 3, {.padding = 1}};
  nn::Conv1d conv2{n_state, n_state, 3, {.stride = 2, .padding = 1}};
  nn::Buffer positional_embedding{sinusoids(n_ctx, n_state)};
  nn::List<ResidualAttentionBlock> blocks = nn::repeat<ResidualAttentionBlock>(n_layer, n_state, n_head);
  nn::LayerNorm ln_post{n_state};

  Tensor operator()(Tensor x) const {
    x = gelu(conv1(x));
    x = gelu(conv2(x));
    x = x.permute({0, 2, 1});
    x = x + positional_embedding;
    for (const auto& block : blocks) x = block(x);
    return ln_post(x);
  }
};

struct TextDecoder {
  int64_t n_vocab, n_ctx, n_state, n_head, n_layer;
  nn::Embedding token_embedding{n_vocab, n_state};
  nn::Parameter positional_embedding{normal({n_ctx, n_state}, 0, 0.02)};
  nn::List<ResidualAttentionBlock> blocks = nn::repeat<ResidualAttentionBlock>(n_layer, n_state, n_head, true);
  nn::LayerNorm ln{n_state};

  Tensor operator()(const Tensor& ids, const Tensor& xa) const {
    const Tensor mask = triu(full({n_ctx, n_ctx}, -INFINITY), 1);
    Tensor x = token_embedding(ids) + positional_embedding(range(0, ids.size(-1)));
    for (const auto& block : blocks) x = block(x, xa, mask);
    x = ln(x);
    return matmul(x, token_embedding.weight.t());
  }
};

struct Whisper {
  AudioEncoder encoder{40, 50, 64, 4, 2};
  TextDecoder decoder{120, 24, 64, 4, 2};
  Tensor operator()(const Tensor& mel, const Tensor& tokens) const { return decoder(tokens, encoder(mel)); }
};

// --- DETR ---

struct PositionEmbeddingSine {
  int64_t num_pos_feats = 64;
  double temperature = 10000, scale = 2 * std::numbers::pi;
  Tensor operator()(const Tensor& mask) const {
    const Tensor not_mask = !mask;
    Tensor y_embed = cumsum(not_mask, 1, kFloat32), x_embed = cumsum(not_mask, 2, kFloat32);
    const double eps = 1e-6;
    y_embed = y_embed / (y_embed(all, range(-1, kAll)) + eps) * scale;
    x_embed = x_embed / (x_embed(ellipsis, range(-1, kAll)) + eps) * scale;
    Tensor dim_t = arange(num_pos_feats, kFloat32);
    dim_t = exp(2 * div(dim_t, scalar(2), Rounding::floor) / num_pos_feats * std::log(temperature));
    const auto waves = [&](const Tensor& embed) {
      const Tensor p = embed(ellipsis, newaxis) / dim_t;
      return stack({sin(p(ellipsis, range(0, kAll, 2))), cos(p(ellipsis, range(1, kAll, 2)))}, 4).flatten(3);
    };
    return cat({waves(y_embed), waves(x_embed)}, 3).permute({0, 3, 1, 2});
  }
};

struct Attention {
  int64_t d, h;
  nn::Linear q{d, d}, k{d, d}, v{d, d}, out{d, d};
  Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                    const Tensor& key_padding_mask = {}) const {
    const auto heads = [&](const Tensor& x) { return unflatten(x, -1, {h, -1}).transpose(1, 2); };
    Tensor mask;
    if (key_padding_mask.defined()) mask = (!key_padding_mask)(all, newaxis, newaxis, all);
    return out(scaled_dot_product_attention(heads(q(query)), heads(k(key)), heads(v(value)), {.mask = mask})
                   .transpose(1, 2)
                   .flatten(2));
  }
};

struct EncoderLayer {
  int64_t d, h, ff;
  Attention self_attn{d, h};
  nn::Linear linear1{d, ff}, linear2{ff, d};
  nn::LayerNorm norm1{d}, norm2{d};
  Tensor operator()(Tensor src, const Tensor& mask, const Tensor& pos) const {
    const Tensor q = src + pos;
    src = norm1(src + self_attn(q, q, src, mask));
    return norm2(src + linear2(relu(linear1(src))));
  }
};

struct DecoderLayer {
  int64_t d, h, ff;
  Attention self_attn{d, h}, multihead_attn{d, h};
  nn::Linear linear1{d, ff}, linear2{ff, d};
  nn::LayerNorm norm1{d}, norm2{d}, norm3{d};
  Tensor operator()(Tensor tgt, const Tensor& memory, const Tensor& mask, const Tensor& pos,
                    const Tensor& query_pos) const {
    const Tensor q = tgt + query_pos;
    tgt = norm1(tgt + self_attn(q, q, tgt));
    tgt = norm2(tgt + multihead_attn(tgt + query_pos, memory + pos, memory, mask));
    return norm3(tgt + linear2(relu(linear1(tgt))));
  }
};

struct MLP {
  nn::List<nn::Linear> layers;
  MLP(int64_t i, int64_t h, int64_t o, int64_t n) {
    for (int64_t l = 0; l < n; ++l) layers.emplace_back(l == 0 ? i : h, l == n - 1 ? o : h);
  }
  void visit(auto&& field) { field("layers", layers); }
  Tensor operator()(Tensor x) const {
    for (std::size_t i = 0; i < layers.size(); ++i) x = i + 1 < layers.size() ? relu(layers[i](x)) : layers[i](x);
    return x;
  }
};

struct DETR {
  int64_t classes, queries, d = 64, h = 4, ff = 128, layers = 2;
  nn::Sequential<nn::Conv2d, nn::ReLU, nn::Conv2d, nn::ReLU, nn::Conv2d, nn::ReLU> backbone{
      nn::Conv2d(3, 16, 3, {.stride = 2, .padding = 1}),  nn::ReLU(),
      nn::Conv2d(16, 32, 3, {.stride = 2, .padding = 1}), nn::ReLU(),
      nn::Conv2d(32, 48, 3, {.stride = 2, .padding = 1}), nn::ReLU()};
  PositionEmbeddingSine position{d / 2};
  nn::Conv2d input_proj{48, d, 1};
  nn::Embedding query_embed{queries, d};
  nn::List<EncoderLayer> encoder = nn::repeat<EncoderLayer>(layers, d, h, ff);
  nn::List<DecoderLayer> decoder = nn::repeat<DecoderLayer>(layers, d, h, ff);
  nn::LayerNorm norm{d};
  nn::Linear class_embed{d, classes + 1};
  MLP bbox_embed{d, d, 4, 3};
  std::pair<Tensor, Tensor> operator()(const Tensor& image, const Tensor& mask) const {
    const Tensor features = backbone(image);
    Tensor m = interpolate(mask(newaxis).to(kFloat32), {.size = {features.size(-2), features.size(-1)}}).to(kBool)[0];
    const Tensor pos = position(m).flatten(2).permute({0, 2, 1});
    Tensor src = input_proj(features).flatten(2).permute({0, 2, 1});
    m = m.flatten(1);
    const Tensor query = repeat(query_embed.weight.unsqueeze(0), {src.size(0), 1, 1});
    for (const auto& layer : encoder) src = layer(src, m, pos);
    Tensor tgt = zeros_like(query);
    for (const auto& layer : decoder) tgt = layer(tgt, src, m, pos, query);
    const Tensor hs = norm(tgt);
    return {class_embed(hs), sigmoid(bbox_embed(hs))};
  }
};

// --- a mixture of experts ---

struct Expert {
  int64_t d, h;
  nn::Linear w1{d, h, false}, w2{h, d, false}, w3{d, h, false};
  Tensor operator()(const Tensor& x) const { return w2(silu(w1(x)) * w3(x)); }
};

struct Routed {
  Tensor y, balance, z;
};

struct MoE {
  int64_t d, hidden, n, k;
  nn::Linear gate{d, n, false};
  nn::List<Expert> experts = nn::repeat<Expert>(n, d, hidden);
  Routed operator()(Tensor x) const {
    const Shape shape = x.shape();
    x = x.reshape({-1, shape[-1]});
    const Tensor logits = gate(x);
    const Tensor probs = softmax(logits, 1);
    auto [weights, chosen] = topk(probs, k, -1);
    weights /= sum(weights, -1, true);
    Tensor y = zeros_like(x);
    const Tensor mask = one_hot(chosen, n).permute({2, 1, 0});
    for (int64_t e = 0; e < n; ++e) {
      const Tensor where = nonzero(mask[e]), idx = where(all, 0), top = where(all, 1);
      const Tensor current = experts[e](x(top)) * weights(top, idx)(all, newaxis);
      y = index_add(y, 0, top, current);
    }
    const Tensor share = mean(one_hot(chosen, n).to(kFloat32), {0, 1});
    const Tensor balance = n * sum(share * mean(probs, 0));
    const Tensor z = mean(square(logsumexp(logits, -1)));
    return {y.reshape(shape), balance, z};
  }
};

struct Block {
  int64_t d, heads, hidden, experts, k;
  nn::LayerNorm ln_1{d}, ln_2{d};
  nn::Linear c_attn{d, 3 * d}, c_proj{d, d};
  MoE moe{d, hidden, experts, k};
  Routed operator()(Tensor x) const {
    auto qkv = chunk(c_attn(ln_1(x)), 3, -1);
    for (Tensor& t : qkv) t = unflatten(t, -1, {heads, -1}).transpose(1, 2);
    const Tensor a = scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], {.causal = true});
    x = x + c_proj(a.transpose(1, 2).flatten(2));
    const auto [y, balance, z] = moe(ln_2(x));
    return {x + y, balance, z};
  }
};

struct MoEGPT {
  int64_t vocab, ctx, d, layers, heads, hidden, experts, k;
  nn::Embedding wte{vocab, d}, wpe{ctx, d};
  nn::List<Block> h = nn::repeat<Block>(layers, d, heads, hidden, experts, k);
  nn::LayerNorm ln_f{d};
  nn::Linear lm_head{d, vocab, false};
  Tensor operator()(const Tensor& ids, const Tensor& targets = {}) const {
    Tensor x = wte(ids) + wpe(arange(ids.size(1)));
    Tensor balance = scalar(0), z = scalar(0);
    for (const auto& block : h) {
      const auto [y, b, zz] = block(x);
      x = y;
      balance += b, z += zz;
    }
    const Tensor logits = lm_head(ln_f(x));
    if (!targets.defined()) return logits;
    const Tensor ce = cross_entropy(logits, targets);
    return ce + 0.01 * balance + 0.001 * z;
  }
};

}  // namespace own_models

namespace tapegrad::tasks::architecture {
namespace {

using namespace tests;

void expect_drawn(const Architecture& found, int64_t parameters) {
  int64_t sum = 0;
  for (const Stack& stack : found.stacks) sum += parameters_of(stack);
  EXPECT_EQ(sum, parameters);
  EXPECT_EQ(found.parameters, parameters);
  const drawing::FlowChart chart = chart_of(found);
  EXPECT_EQ(faults_of_svg(drawing::svg_file(draw(chart))), std::vector<std::string>());
  expect_narrow(table_of(found));
}

// "attn_ln", "attn", "+ attn_ln": the parts of a stack in order; a sum with the part whose input it adds.
std::vector<std::string> titles_of(const Stack& stack, std::size_t first = 0, std::size_t last = 1000) {
  std::vector<std::string> titles;
  for (std::size_t i = first; i < std::min(stack.parts.size(), last + 1); ++i) {
    const drawing::FlowStep& step = stack.parts[i].step;
    titles.push_back(step.adds ? "+ " + stack.parts[*step.adds].step.title : step.title);
  }
  return titles;
}
using Titles = std::vector<std::string>;

TEST(OwnModels, WhisperHasAnEncoderAndADecoder) {
  manual_seed(1);
  own_models::Whisper model;
  const Tensor mel = randn({1, 40, 100}), tokens = tensor({{1, 2, 3, 4}});
  const nn::Watched seen = nn::watch(model, [&] { return model(mel, tokens); });
  const Architecture found = architecture_of(seen, "Whisper", {mel, tokens});
  expect_drawn(found, nn::count_parameters(model));
  nn::eval(model);
  EXPECT_TRUE(equal(found.result, model(mel, tokens)));
  ASSERT_EQ(found.stacks.size(), 2U);
  const Stack &encoder = found.stacks[0], &decoder = found.stacks[1];
  EXPECT_EQ(encoder.name, "Encoder");
  EXPECT_EQ(encoder.input_shape, "[1, 40, 100]");
  EXPECT_EQ(titles_of(encoder), (Titles{"conv1", "gelu", "conv2", "gelu", "add", "Layer norm", "attn", "+ Layer norm",
                                        "Layer norm", "mlp", "+ Layer norm", "Layer norm"}));
  ASSERT_EQ(encoder.layers.size(), 1U);
  EXPECT_EQ(encoder.layers[0].times, 2);
  EXPECT_EQ(encoder.parts[2].step.code[0], "nn::Conv1d(64, 64, 3, {.stride = 2, .padding = 1})");
  EXPECT_EQ(encoder.parts[6].step.code[0], "MultiHeadAttention{.n_state = 64, .n_head = 4}");
  EXPECT_EQ(encoder.parts[6].step.output, "[1, 50, 64]");
  EXPECT_EQ(titles_of(decoder),
            (Titles{"Token embedding", "add", "Layer norm", "attn", "+ Layer norm", "Layer norm", "cross_attn",
                    "+ Layer norm", "Layer norm", "mlp", "+ Layer norm", "Layer norm", "matmul"}));
  EXPECT_EQ(decoder.parts[1].count, 24 * 64) << "the positions are a parameter of the decoder";
  EXPECT_EQ(decoder.parts[6].step.reads, 0U);
  EXPECT_EQ(decoder.parts.back().step.output, "[1, 4, 120]");
}

TEST(OwnModels, DetrIsOneStack) {
  manual_seed(1);
  own_models::DETR model{6, 12};
  const Tensor image = randn({2, 3, 32, 32}), mask = zeros({2, 32, 32}, kBool);
  const nn::Watched seen = nn::watch(model, [&] { return model(image, mask); });
  EXPECT_FALSE(seen.result.defined()) << "a pair";
  const Architecture found = architecture_of(seen, "DETR", {image});
  expect_drawn(found, nn::count_parameters(model));
  ASSERT_EQ(found.stacks.size(), 1U);
  const Stack& stack = found.stacks[0];
  EXPECT_EQ(titles_of(stack, 0, 6), (Titles{"Conv2d", "ReLU", "Conv2d", "ReLU", "Conv2d", "ReLU", "input_proj"}));
  const std::vector<std::string> all = titles_of(stack);
  EXPECT_EQ(std::count(all.begin(), all.end(), "self_attn"), 4)
      << "layers that begin with different sums are drawn one by one";
  EXPECT_EQ(std::count(all.begin(), all.end(), "+ linear1"), 4);
}

TEST(OwnModels, AMixtureOfExpertsIsOnePart) {
  manual_seed(1);
  own_models::MoEGPT model{100, 32, 64, 2, 4, 96, 8, 2};
  tie(model.wte.weight, model.lm_head.weight);
  const Tensor ids = tensor({{1, 2, 3, 4, 5}});
  const nn::Watched seen = nn::watch(model, [&] { return model(ids); });
  const Architecture found = architecture_of(seen, "MoE", {ids});
  expect_drawn(found, nn::count_parameters(model));
  const Stack& stack = found.stacks.at(0);
  const auto moe =
      std::find_if(stack.parts.begin(), stack.parts.end(), [](const Part& part) { return part.step.title == "moe"; });
  ASSERT_NE(moe, stack.parts.end());
  EXPECT_EQ(moe->step.code[0], "MoE{.d = 64, .hidden = 96, .n = 8, .k = 2}");
  EXPECT_EQ(moe->all, 2 * nn::count_parameters(model.h[0].moe));
  EXPECT_EQ(moe->step.output, "[1, 5, 64]");
  EXPECT_EQ((moe + 1)->step.code[0], "x + y");
  EXPECT_EQ(stack.parts.back().step.output, "[1, 5, 100]");
}

}  // namespace
}  // namespace tapegrad::tasks::architecture
