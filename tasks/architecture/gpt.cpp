// The parts of a GPT, as nn/models/gpt.cpp runs them.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/tasks/architecture/builder.h>
#include <tapegrad/tasks/language/messages.h>

#include <algorithm>

namespace tapegrad::tasks::architecture {
namespace {

Box gpt_norm(const nn::LayerNorm& layer, std::string path) {
  return {.name = said("Layer norm"),
          .code = {fmt::format("nn::LayerNorm({})", layer.normalized_shape[0])},
          .paths = {std::move(path)},
          .colour = kNorm};
}

// Tokens, what is added to them, and dropout. What acts inside attention comes first, next to the flow.
Tensor gpt_embedded(Builder& out, const nn::GPTModel& model, const Tensor& ids, const nn::PositionBias& bias) {
  const nn::GPTConfig& c = model.config;
  const bool adds = model.pos_emb.encoding.defined();
  if (model.relative_positions.encoding.defined()) {
    const nn::Positions kind = nn::relative_kind(c.positions, c.position_options);
    out.beside({.name = said("Relative positions ({})", kind.name()),
                .code = {relative_code(kind, c.n_heads, c.emb_dim / c.n_heads, true)},
                .paths = {"relative_positions"},
                .colour = kPositions,
                .feeds = out.next() + (adds ? 4 : 3)},  // after the embeddings and a normalisation
               bias_text(bias, 'T'));
  }
  Box tokens{.name = said("Token embedding"),
             .code = {embedding_code(model.tok_emb)},
             .paths = {"tok_emb"},
             .colour = kEmbedding};
  const Tensor x = model.tok_emb(ids);
  if (!adds) {
    tokens.code.push_back(dropout_code(model.drop_emb.p));
    return out.box(tokens, ids, model.drop_emb(x));
  }
  static_cast<void>(out.box(tokens, ids, x));
  const nn::Positions kind = nn::added_kind(c.positions, c.position_options);
  return out.box({.name = said("Positions ({}), dropout", kind.name()),
                  .code = {added_code(kind, c.context_length, c.emb_dim, true), dropout_code(model.drop_emb.p)},
                  .paths = {"pos_emb"},
                  .colour = kPositions},
                 x, model.drop_emb(model.pos_emb(x)));
}

}  // namespace

Architecture architecture_of(nn::GPTModel& model, std::string_view title) {
  const nn::EvalMode eval(model);
  const PauseRecording pause;
  const nn::GPTConfig& c = model.config;
  Builder out(title, nn::named_parameters(std::as_const(model)));
  const Tensor ids = full({2, std::min<int64_t>(3, c.longest_input())}, c.vocab_size - 1, kInt64);
  out.stack(
      {.name = "", .input = said("token ids"), .output = said("logits"), .letters = said("B: sequences, T: tokens")},
      ids, 'T');
  const nn::PositionBias bias = model.positions(ids.size(1), 0, model.tok_emb(ids).dtype());
  Tensor x = gpt_embedded(out, model, ids, bias);
  out.layers(model.trf_blocks.size(), [&](std::size_t i) {
    const nn::GPTBlock& block = model.trf_blocks[i];
    Tensor n = out.box(gpt_norm(block.norm1, "trf_blocks.{}.norm1"), x, block.norm1(x));
    Tensor y = out.box({.name = said("Causal self-attention"),
                        .code = {attention_code("nn::MultiHeadSelfAttention", block.att)},
                        .paths = {"trf_blocks.{}.att"},
                        .colour = kAttention,
                        .detail = heads_of(block.att)},
                       n, block.att(n, {.positions = &bias}));
    x = out.sum(0, "x + drop_shortcut(y)", y, x + block.drop_shortcut(y));
    n = out.box(gpt_norm(block.norm2, "trf_blocks.{}.norm2"), x, block.norm2(x));
    y = out.box({.name = said("Feed-forward (gelu)"),
                 .code = {fmt::format("nn::GPTFeedForward({})", c.emb_dim)},
                 .paths = {"trf_blocks.{}.ff"},
                 .colour = kFeedForward},
                n, block.ff(n));
    x = out.sum(3, "x + drop_shortcut(y)", y, x + block.drop_shortcut(y));
  });
  x = out.box(gpt_norm(model.final_norm, "final_norm"), x, model.last_norm(x));
  x = out.box(head_box("out_head", c.vocab_size, c.emb_dim, model.out_head, c.tied_head), x, model.head(x));
  return out.done({ids}, x);
}

}  // namespace tapegrad::tasks::architecture
