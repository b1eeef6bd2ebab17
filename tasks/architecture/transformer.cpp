// The parts of the encoder-decoder Transformer, as nn/models/transformer.cpp runs them.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/tasks/architecture/builder.h>
#include <tapegrad/tasks/language/messages.h>

#include <algorithm>

namespace tapegrad::tasks::architecture {
namespace {

class TransformerParts {
 public:
  TransformerParts(nn::Transformer& model, std::string_view title)
      : model_(model), c_(model.config), out_(title, nn::named_parameters(std::as_const(model))) {}

  Architecture run() {
    const nn::EvalMode eval(model_);
    const PauseRecording pause;
    const int64_t most = c_.longest_input();
    const Tensor source = full({2, std::min<int64_t>(4, most)}, c_.vocab_size - 1, kInt64);
    const Tensor target = full({2, std::min<int64_t>(3, most)}, c_.vocab_size - 1, kInt64);
    const Tensor memory = encoder(source);
    Tensor x = decoder(target, memory);
    x = out_.box(
        {.name = said("Generator"), .code = {linear_code(model_.generator)}, .paths = {"generator"}, .colour = kHead},
        x, model_.generator(x));
    x = out_.box({.name = said("Log-softmax"), .code = {"log_softmax(x, -1)"}}, x, log_softmax(x, -1));
    return out_.done({source, target}, x);
  }

 private:
  // What acts in the self-attention of all layers, next to the flow.
  void relative(const nn::RelativePositions& positions, const std::string& path, bool causal, std::size_t layers_at,
                const nn::PositionBias& bias) {
    if (!positions.encoding.defined()) return;
    const nn::Positions kind = nn::relative_kind(c_.positions, c_.position_options);
    // Its own box comes first; in a Pre-LN layer attention follows a normalisation.
    const std::size_t attention = layers_at + 1 + (c_.post_norm ? 0 : 1);
    out_.beside({.name = said("Relative positions ({})", kind.name()),
                 .code = {relative_code(kind, c_.num_attention_heads, c_.hidden_size / c_.num_attention_heads, causal)},
                 .paths = {path},
                 .colour = kPositions,
                 .feeds = attention},
                bias_text(bias, causal ? 'T' : 'S'));
  }

  Tensor embedded(const nn::Embeddings& e, const std::string& path, bool causal, const Tensor& ids) {
    Tensor x = out_.box({.name = said("Token embedding"),
                         .code = {embedding_code(e.token_embeddings)},
                         .paths = {path + ".token_embeddings"},
                         .colour = kEmbedding},
                        ids, e.token_embeddings(ids));
    if (has_added(e)) {
      const nn::Positions kind = nn::added_kind(c_.positions, c_.position_options);
      x = out_.box({.name = said("Positions ({})", kind.name()),
                    .code = {added_code(kind, c_.max_position_embeddings, c_.hidden_size, causal)},
                    .paths = {path + ".position_embeddings"},
                    .colour = kPositions},
                   x, e.position_embeddings(x));
    }
    Box box = norm(e.norm, path + ".norm");
    box.name = said("Layer norm, dropout");
    box.code.push_back(dropout_code(e.dropout.p));
    return out_.box(box, x, e.dropout(e.norm(x)));
  }
  static bool has_added(const nn::Embeddings& e) { return e.position_embeddings.encoding.defined(); }

  static Box norm(const nn::LayerNormStd& layer, std::string path) {
    const std::string eps = layer.eps == 1e-6 ? "" : ", " + number(layer.eps);
    return {.name = said("Layer norm"),
            .code = {fmt::format("nn::LayerNormStd({}{})", layer.gamma.tensor().numel(), eps)},
            .paths = {std::move(path)},
            .colour = kNorm};
  }

  // The short constructor where it makes the same module.
  static std::string code_of(const nn::MultiHeadAttention& a) {
    const nn::SelfAttentionConfig& c = a.config;
    if (c.attention.traits().scores && !c.causal) {
      return fmt::format("nn::MultiHeadAttention({}, {}, {}{})", c.d_in, c.num_heads, number(c.dropout),
                         a.positions.defined() ? fmt::format(", nn::Positions::{}", c.positions.name()) : "");
    }
    return attention_code("nn::MultiHeadAttention", a, "nn::kAttentionNames");
  }
  Box feed_forward(const nn::FeedForward& f, std::string path) {
    const std::string activation(nn::name(f.activation));
    return {
        .name = said("Feed-forward ({})", activation),
        .code = {fmt::format("nn::FeedForward({}, {}, {}{})", c_.hidden_size, c_.intermediate_size, number(f.dropout.p),
                             f.activation == nn::Activation::relu ? "" : ", nn::Activation::" + activation)},
        .paths = {std::move(path)},
        .colour = kFeedForward};
  }

  // x + dropout(block(norm(x))), or norm(x + dropout(block(x))). `at`: the first part of it in its layer.
  template <class Block>
  Tensor around(const Tensor& x, std::size_t at, const Box& norm_box, const nn::LayerNormStd& norm, const Box& box,
                const nn::Dropout& dropout, const Block& block) {
    if (c_.post_norm) {
      const Tensor y = out_.box(box, x, block(x));
      const Tensor z = out_.sum(at, "x + dropout(y)", y, x + dropout(y));
      return out_.box(norm_box, z, norm(z));
    }
    const Tensor n = out_.box(norm_box, x, norm(x)), y = out_.box(box, n, block(n));
    return out_.sum(at, "x + dropout(y)", y, x + dropout(y));
  }

  Tensor encoder(const Tensor& ids) {
    const nn::TransformerEncoder& e = model_.encoder;
    out_.stack({.name = said("Encoder"),
                .input = said("source ids"),
                .output = said("memory"),
                .letters = said("B: sequences, S: tokens of the source")},
               ids, 'S');
    const nn::PositionBias bias = e.relative_positions(ids.size(1), ids.size(1), 0, kFloat32);
    relative(e.relative_positions, "encoder.relative_positions", false, has_added(e.embeddings) ? 3 : 2, bias);
    Tensor x = embedded(e.embeddings, "encoder.embeddings", false, ids);
    out_.layers(e.layers.size(), [&](std::size_t i) {
      const nn::TransformerEncoderLayer& layer = e.layers[i];
      const auto sub = [&](std::size_t k) {
        return norm(layer.sublayer[k].norm, fmt::format("encoder.layers.{{}}.sublayer.{}", k));
      };
      x = around(x, 0, sub(0), layer.sublayer[0].norm,
                 {.name = said("Self-attention"),
                  .code = {code_of(layer.attention)},
                  .paths = {"encoder.layers.{}.attention"},
                  .colour = kAttention,
                  .detail = heads_of(layer.attention)},
                 layer.sublayer[0].dropout,
                 [&](const Tensor& n) { return layer.attention(n, n, n, {.positions = &bias}); });
      x = around(x, 3, sub(1), layer.sublayer[1].norm,
                 feed_forward(layer.feed_forward, "encoder.layers.{}.feed_forward"), layer.sublayer[1].dropout,
                 layer.feed_forward);
    });
    return out_.box(norm(e.norm, "encoder.norm"), x, e.norm(x));
  }

  Tensor decoder(const Tensor& ids, const Tensor& memory) {
    const nn::TransformerDecoder& d = model_.decoder;
    out_.stack({.name = said("Decoder"),
                .input = said("target ids"),
                .output = said("log-probabilities"),
                .letters = said("T: tokens of the target so far")},
               ids, 'T');
    const nn::PositionBias bias = d.relative_positions(ids.size(1), ids.size(1), 0, kFloat32);
    relative(d.relative_positions, "decoder.relative_positions", true, has_added(d.embeddings) ? 3 : 2, bias);
    Tensor x = embedded(d.embeddings, "decoder.embeddings", true, ids);
    const Tensor mask = d.layers[0].self_attn.config.causal ? Tensor() : nn::causal_mask(ids.size(1));
    out_.layers(d.layers.size(), [&](std::size_t i) {
      const nn::TransformerDecoderLayer& layer = d.layers[i];
      std::vector<std::string> code{code_of(layer.self_attn)};
      if (mask.defined()) code.emplace_back("mask: nn::causal_mask(T)");
      x = around(x, 0, norm(layer.norm1, "decoder.layers.{}.norm1"), layer.norm1,
                 {.name = said("Causal self-attention"),
                  .code = std::move(code),
                  .paths = {"decoder.layers.{}.self_attn"},
                  .colour = kAttention,
                  .detail = heads_of(layer.self_attn)},
                 layer.dropout,
                 [&](const Tensor& n) { return layer.self_attn(n, n, n, {.mask = mask, .positions = &bias}); });
      x = around(x, 3, norm(layer.norm2, "decoder.layers.{}.norm2"), layer.norm2,
                 {.name = said("Cross-attention"),
                  .code = {code_of(layer.cross_attn)},
                  .paths = {"decoder.layers.{}.cross_attn"},
                  .colour = kAttention,
                  .reads = 0,
                  .detail = heads_of(layer.cross_attn)},
                 layer.dropout, [&](const Tensor& n) { return layer.cross_attn(n, memory, memory); });
      x = around(x, 6, norm(layer.norm3, "decoder.layers.{}.norm3"), layer.norm3,
                 feed_forward(layer.feed_forward, "decoder.layers.{}.feed_forward"), layer.dropout, layer.feed_forward);
    });
    return out_.box(norm(d.norm, "decoder.norm"), x, d.norm(x));
  }

  nn::Transformer& model_;
  const nn::TransformerConfig& c_;
  Builder out_;
};

}  // namespace

Architecture architecture_of(nn::Transformer& model, std::string_view title) {
  return TransformerParts(model, title).run();
}

}  // namespace tapegrad::tasks::architecture
