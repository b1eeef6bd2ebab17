// The module of a chosen form of attention.
#include <tapegrad/nn/long_self_attention.h>

namespace tapegrad::nn {

namespace {

// If causal, the number must not depend on the input's length, so that earlier tokens keep their buckets.
int64_t reformer_buckets(const AttentionChoice& c, bool causal) {
  if (c.reformer_buckets > 0 || !causal || c.length == 0) return c.reformer_buckets;
  return ReformerSelfAttention::buckets_for(c.length, c.reformer_bucket_size);
}

}  // namespace

LongSelfAttention::LongSelfAttention(const AttentionChoice& c, const Sizes& s) {
  if (c.kind == AttentionKind::linformer) {
    linformer.emplace(LinformerConfig{.d_in = s.d_in,
                                      .d_out = s.d_out,
                                      .num_heads = s.num_heads,
                                      .context_length = c.length,
                                      .projected = c.linformer_rank,
                                      .share_heads = !c.linformer_per_head,
                                      .dropout = s.dropout,
                                      .qkv_bias = s.qkv_bias,
                                      .causal = s.causal});
  }
  if (c.kind == AttentionKind::performer) {
    performer.emplace(PerformerConfig{.d_in = s.d_in,
                                      .d_out = s.d_out,
                                      .num_heads = s.num_heads,
                                      .num_features = c.performer_features,
                                      .qkv_bias = s.qkv_bias,
                                      .causal = s.causal});
  }
  if (c.kind == AttentionKind::reformer) {
    reformer.emplace(ReformerConfig{.d_in = s.d_in,
                                    .d_out = s.d_out,
                                    .num_heads = s.num_heads,
                                    .chunk_length = c.reformer_bucket_size,
                                    .num_buckets = reformer_buckets(c, s.causal),
                                    .rounds = c.reformer_rounds,
                                    .qkv_bias = s.qkv_bias,
                                    .causal = s.causal});
  }
}

Tensor LongSelfAttention::operator()(const Tensor& x, const AttentionPass& pass) const {
  if (linformer) return (*linformer)(x, pass);
  if (performer) return (*performer)(x, pass);
  return reformer.value()(x, pass);
}

void LongSelfAttention::redraw() {
  if (performer) performer->redraw();
}

}  // namespace tapegrad::nn
