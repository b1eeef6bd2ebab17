// The parts of a Llama, as nn/models/llama.cpp runs them.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/tasks/architecture/builder.h>
#include <tapegrad/tasks/language/messages.h>

#include <algorithm>

namespace tapegrad::tasks::architecture {
namespace {

Box llama_norm(const nn::RMSNorm& layer, std::string path) {
  const std::string eps = layer.eps == 1e-6 ? "" : ", " + number(layer.eps);
  return {.name = said("RMS norm"),
          .code = {fmt::format("nn::RMSNorm({}{})", layer.normalized_shape[0], eps)},
          .paths = {std::move(path)},
          .colour = kNorm};
}

// The members of a configuration that a part's constructor reads.
std::string attention_code_of(const nn::LlamaConfig& c) {
  std::string code = fmt::format("nn::LlamaAttention({{.hidden_size = {}, .num_attention_heads = {}", c.hidden_size,
                                 c.num_attention_heads);
  if (c.kv_heads() != c.num_attention_heads) code += fmt::format(", .num_key_value_heads = {}", c.kv_heads());
  if (c.head_dim > 0) code += fmt::format(", .head_dim = {}", c.head_dim);
  if (c.attention_dropout > 0) code += fmt::format(", .attention_dropout = {}", number(c.attention_dropout));
  return code + (c.attention_bias ? ", .attention_bias = true})" : "})");
}

std::string mlp_code_of(const nn::LlamaConfig& c) {
  return fmt::format("nn::LlamaMLP({{.hidden_size = {}, .intermediate_size = {}{}}})", c.hidden_size,
                     c.intermediate_size, c.mlp_bias ? ", .mlp_bias = true" : "");
}

}  // namespace

Architecture architecture_of(nn::LlamaModel& model, std::string_view title) {
  const nn::EvalMode eval(model);
  const PauseRecording pause;
  const nn::LlamaConfig& c = model.config;
  Builder out(title, nn::named_parameters(std::as_const(model)));
  const Tensor ids = full({2, std::min<int64_t>(3, c.max_position_embeddings)}, c.vocab_size - 1, kInt64);
  out.stack(
      {.name = "", .input = said("token ids"), .output = said("logits"), .letters = said("B: sequences, T: tokens")},
      ids, 'T');
  const nn::PositionBias angles = model.positions(ids.size(1), 0, model.embed_tokens(ids).dtype());
  out.beside({.name = said("Rotary positions (RoPE)"),
              .code = {"nn::rope_angles(T, nn::rope_speeds(config), 0, kFloat32)"},
              .colour = kPositions,
              .feeds = 3},  // the attention of the first layer
             bias_text(angles, 'T'));
  Tensor x = out.box({.name = said("Token embedding"),
                      .code = {embedding_code(model.embed_tokens)},
                      .paths = {"model.embed_tokens"},
                      .colour = kEmbedding},
                     ids, model.embed_tokens(ids));
  out.layers(model.layers.size(), [&](std::size_t i) {
    const nn::LlamaBlock& block = model.layers[i];
    Tensor n =
        out.box(llama_norm(block.input_layernorm, "model.layers.{}.input_layernorm"), x, block.input_layernorm(x));
    Tensor y = out.box({.name = said("Causal self-attention"),
                        .code = {attention_code_of(c)},
                        .paths = {"model.layers.{}.self_attn"},
                        .colour = kAttention,
                        .detail = heads_of(block.self_attn)},
                       n, block.self_attn(n, {.positions = &angles}));
    x = out.sum(0, "x + y", y, x + y);
    n = out.box(llama_norm(block.post_attention_layernorm, "model.layers.{}.post_attention_layernorm"), x,
                block.post_attention_layernorm(x));
    y = out.box({.name = said("Feed-forward (SwiGLU)"),
                 .code = {mlp_code_of(c)},
                 .paths = {"model.layers.{}.mlp"},
                 .colour = kFeedForward},
                n, block.mlp(n));
    x = out.sum(3, "x + y", y, x + y);
  });
  x = out.box(llama_norm(model.norm, "model.norm"), x, model.norm(x));
  x = out.box(head_box("lm_head", c.vocab_size, c.hidden_size, model.lm_head, c.tie_word_embeddings), x, model.head(x));
  return out.done({ids}, x);
}

}  // namespace tapegrad::tasks::architecture
