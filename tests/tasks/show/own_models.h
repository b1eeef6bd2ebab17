// Models as their authors wrote them in PyTorch, ported line by line: Whisper (OpenAI), DETR (Facebook) and a GPT with
// a mixture of experts (Mixtral's). Nothing in them knows that they are drawn.
#pragma once

#include <tapegrad/tapegrad.h>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>
#include <vector>

namespace own_models {

namespace tg = tapegrad;
namespace nn = tapegrad::nn;
using tapegrad::Tensor;

inline Tensor sinusoids(int64_t length, int64_t channels, double max_timescale = 10000) {
  const double log_timescale_increment = std::log(max_timescale) / (channels / 2 - 1);
  const Tensor inv_timescales = tg::exp(-log_timescale_increment * tg::arange(channels / 2, tg::kFloat32));
  const Tensor scaled_time =
      tg::arange(length, tg::kFloat32)(tg::all, tg::newaxis) * inv_timescales(tg::newaxis, tg::all);
  return tg::cat({tg::sin(scaled_time), tg::cos(scaled_time)}, 1);
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
    q = tg::unflatten(q, -1, {n_head, -1}).permute({0, 2, 1, 3});
    k = tg::unflatten(k, -1, {n_head, -1}).permute({0, 2, 1, 3});
    v = tg::unflatten(v, -1, {n_head, -1}).permute({0, 2, 1, 3});
    Tensor qk = tg::matmul(q * scale, (k * scale).transpose(-1, -2));
    if (mask.defined()) qk += mask(tg::range(0, n_ctx), tg::range(0, n_ctx));
    const Tensor w = tg::softmax(qk, -1);
    return tg::matmul(w, v).permute({0, 2, 1, 3}).flatten(2);
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
    x = tg::gelu(conv1(x));
    x = tg::gelu(conv2(x));
    x = x.permute({0, 2, 1});
    x = x + positional_embedding;
    for (const auto& block : blocks) x = block(x);
    return ln_post(x);
  }
};

struct TextDecoder {
  int64_t n_vocab, n_ctx, n_state, n_head, n_layer;
  nn::Embedding token_embedding{n_vocab, n_state};
  nn::Parameter positional_embedding{tg::normal({n_ctx, n_state}, 0, 0.02)};
  nn::List<ResidualAttentionBlock> blocks = nn::repeat<ResidualAttentionBlock>(n_layer, n_state, n_head, true);
  nn::LayerNorm ln{n_state};

  Tensor operator()(const Tensor& ids, const Tensor& xa) const {
    const Tensor mask = tg::triu(tg::full({n_ctx, n_ctx}, -INFINITY), 1);
    Tensor x = token_embedding(ids) + positional_embedding(tg::range(0, ids.size(-1)));
    for (const auto& block : blocks) x = block(x, xa, mask);
    x = ln(x);
    return tg::matmul(x, token_embedding.weight.t());
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
    Tensor y_embed = tg::cumsum(not_mask, 1, tg::kFloat32), x_embed = tg::cumsum(not_mask, 2, tg::kFloat32);
    const double eps = 1e-6;
    y_embed = y_embed / (y_embed(tg::all, tg::range(-1, tg::kAll)) + eps) * scale;
    x_embed = x_embed / (x_embed(tg::ellipsis, tg::range(-1, tg::kAll)) + eps) * scale;
    Tensor dim_t = tg::arange(num_pos_feats, tg::kFloat32);
    dim_t = tg::exp(2 * tg::div(dim_t, tg::scalar(2), tg::Rounding::floor) / num_pos_feats * std::log(temperature));
    const auto waves = [&](const Tensor& embed) {
      const Tensor p = embed(tg::ellipsis, tg::newaxis) / dim_t;
      return tg::stack({tg::sin(p(tg::ellipsis, tg::range(0, tg::kAll, 2))),
                        tg::cos(p(tg::ellipsis, tg::range(1, tg::kAll, 2)))},
                       4)
          .flatten(3);
    };
    return tg::cat({waves(y_embed), waves(x_embed)}, 3).permute({0, 3, 1, 2});
  }
};

struct Attention {
  int64_t d, h;
  nn::Linear q{d, d}, k{d, d}, v{d, d}, out{d, d};
  Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                    const Tensor& key_padding_mask = {}) const {
    const auto heads = [&](const Tensor& x) { return tg::unflatten(x, -1, {h, -1}).transpose(1, 2); };
    Tensor mask;
    if (key_padding_mask.defined()) mask = (!key_padding_mask)(tg::all, tg::newaxis, tg::newaxis, tg::all);
    return out(tg::scaled_dot_product_attention(heads(q(query)), heads(k(key)), heads(v(value)), {.mask = mask})
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
    return norm2(src + linear2(tg::relu(linear1(src))));
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
    return norm3(tgt + linear2(tg::relu(linear1(tgt))));
  }
};

struct MLP {
  nn::List<nn::Linear> layers;
  MLP(int64_t i, int64_t h, int64_t o, int64_t n) {
    for (int64_t l = 0; l < n; ++l) layers.emplace_back(l == 0 ? i : h, l == n - 1 ? o : h);
  }
  void visit(auto&& field) { field("layers", layers); }
  Tensor operator()(Tensor x) const {
    for (std::size_t i = 0; i < layers.size(); ++i) x = i + 1 < layers.size() ? tg::relu(layers[i](x)) : layers[i](x);
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
    Tensor m = tg::interpolate(mask(tg::newaxis).to(tg::kFloat32), {.size = {features.size(-2), features.size(-1)}})
                   .to(tg::kBool)[0];
    const Tensor pos = position(m).flatten(2).permute({0, 2, 1});
    Tensor src = input_proj(features).flatten(2).permute({0, 2, 1});
    m = m.flatten(1);
    const Tensor query = tg::repeat(query_embed.weight.unsqueeze(0), {src.size(0), 1, 1});
    for (const auto& layer : encoder) src = layer(src, m, pos);
    Tensor tgt = tg::zeros_like(query);
    for (const auto& layer : decoder) tgt = layer(tgt, src, m, pos, query);
    const Tensor hs = norm(tgt);
    return {class_embed(hs), tg::sigmoid(bbox_embed(hs))};
  }
};

// --- a mixture of experts ---

struct Expert {
  int64_t d, h;
  nn::Linear w1{d, h, false}, w2{h, d, false}, w3{d, h, false};
  Tensor operator()(const Tensor& x) const { return w2(tg::silu(w1(x)) * w3(x)); }
};

struct Routed {
  Tensor y, balance, z;
};

struct MoE {
  int64_t d, hidden, n, k;
  nn::Linear gate{d, n, false};
  nn::List<Expert> experts = nn::repeat<Expert>(n, d, hidden);
  Routed operator()(Tensor x) const {
    const tg::Shape shape = x.shape();
    x = x.reshape({-1, shape[-1]});
    const Tensor logits = gate(x);
    const Tensor probs = tg::softmax(logits, 1);
    auto [weights, chosen] = tg::topk(probs, k, -1);
    weights /= tg::sum(weights, -1, true);
    Tensor y = tg::zeros_like(x);
    const Tensor mask = tg::one_hot(chosen, n).permute({2, 1, 0});
    for (int64_t e = 0; e < n; ++e) {
      const Tensor where = tg::nonzero(mask[e]), idx = where(tg::all, 0), top = where(tg::all, 1);
      const Tensor current = experts[e](x(top)) * weights(top, idx)(tg::all, tg::newaxis);
      y = tg::index_add(y, 0, top, current);
    }
    const Tensor share = tg::mean(tg::one_hot(chosen, n).to(tg::kFloat32), {0, 1});
    const Tensor balance = n * tg::sum(share * tg::mean(probs, 0));
    const Tensor z = tg::mean(tg::square(tg::logsumexp(logits, -1)));
    return {y.reshape(shape), balance, z};
  }
};

struct Block {
  int64_t d, heads, hidden, experts, k;
  nn::LayerNorm ln_1{d}, ln_2{d};
  nn::Linear c_attn{d, 3 * d}, c_proj{d, d};
  MoE moe{d, hidden, experts, k};
  Routed operator()(Tensor x) const {
    auto qkv = tg::chunk(c_attn(ln_1(x)), 3, -1);
    for (Tensor& t : qkv) t = tg::unflatten(t, -1, {heads, -1}).transpose(1, 2);
    const Tensor a = tg::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], {.causal = true});
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
    Tensor x = wte(ids) + wpe(tg::arange(ids.size(1)));
    Tensor balance = tg::scalar(0), z = tg::scalar(0);
    for (const auto& block : h) {
      const auto [y, b, zz] = block(x);
      x = y;
      balance += b, z += zz;
    }
    const Tensor logits = lm_head(ln_f(x));
    if (!targets.defined()) return logits;
    const Tensor ce = tg::cross_entropy(logits, targets);
    return ce + 0.01 * balance + 0.001 * z;
  }
};

}  // namespace own_models
