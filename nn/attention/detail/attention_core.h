// What all attention modules do; they differ in the names and widths of their projections.
#pragma once

#include <tapegrad/nn/attention_choice.h>
#include <tapegrad/nn/attention_pass.h>
#include <tapegrad/nn/dropout.h>
#include <tapegrad/nn/linear.h>

namespace tapegrad::nn::detail {

// [B, T, C] -> [B, heads, T, C / heads], a view; and back.
Tensor split_heads(const Tensor& x, int64_t heads);
Tensor join_heads(const Tensor& x);

// The parts of one module, by reference, for the time of a call.
struct AttentionCore {
  const Linear &query, &key, &value, &output;
  const Dropout& dropout;  // on the weights
  const AttentionPositions& positions;
  int64_t heads;
  int64_t kv_heads;  // of keys and values: each is shared by heads / kv_heads query heads
  const AttentionChoice& choice;
  bool causal = false;  // later keys are hidden in addition to the mask

  // x [B, T, in] -> [B, heads, T, head_dim], a view of the projection, rotated for RoPE.
  Tensor project_query(const Tensor& x, const AttentionPass& pass) const;
  // [B, S, in] -> [B, kv_heads, S, head_dim] for keys and values, after those that the cache holds.
  KeysAndValues project_kv(const Tensor& keys, const Tensor& values, const AttentionPass& pass) const;
  // q [B, heads, T, head_dim] -> [B, T, C].
  Tensor attend(const Tensor& q, const KeysAndValues& from, const AttentionPass& pass) const;
  // x [B, T, C] attends to itself -> [B, T, C].
  Tensor self_attend(const Tensor& x, const AttentionPass& pass) const;
  // The parts of these: from the projections of queries [B, T, C], or keys and values, on; and up to the last
  // projection.
  Tensor query_heads(const Tensor& q, const AttentionPass& pass) const;
  KeysAndValues kv_heads_of(const Tensor& k, const Tensor& v, const AttentionPass& pass) const;
  Tensor mixed(const Tensor& q, const KeysAndValues& from, const AttentionPass& pass) const;
};

}  // namespace tapegrad::nn::detail
