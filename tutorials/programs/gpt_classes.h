// The six classes of tutorial 000, which are chapter 4's of its book, method by method in the operations that they use
// there. MultiHeadAttention is tutorial 004's of cell 40, too. The library's nn::GPTModel gives the same numbers from
// the same seed, and is faster.
#pragma once

#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/dropout.h>
#include <tapegrad/nn/embedding.h>
#include <tapegrad/nn/gpt.h>
#include <tapegrad/nn/linear.h>

#include <cmath>
#include <numbers>

namespace tapegrad::tasks::tutorial000 {

// [attention]
struct MultiHeadAttention {  // x [B, T, d_in] -> [B, T, d_out]
  MultiHeadAttention(int64_t d_in, int64_t d_out, int64_t context_length, double drop_rate, int64_t num_heads,
                     bool qkv_bias = false)
      : num_heads(num_heads),
        head_dim(d_out / num_heads),
        query(d_in, d_out, qkv_bias),
        key(d_in, d_out, qkv_bias),
        value(d_in, d_out, qkv_bias),
        out_proj(d_out, d_out),
        dropout(drop_rate),
        mask(triu(ones({context_length, context_length}), 1)) {}

  Tensor operator()(const Tensor& x) const {
    const int64_t batch = x.size(0), tokens = x.size(1);
    // [B, T, d_out] -> [B, T, heads, head_dim] -> [B, heads, T, head_dim]
    const auto split = [&](const Tensor& y) { return y.reshape({batch, tokens, num_heads, head_dim}).transpose(1, 2); };
    const Tensor keys = split(key(x)), queries = split(query(x)), values = split(value(x));
    const Tensor scores = matmul(queries, keys.transpose(2, 3));  // [B, heads, T, T]: queries by keys
    const Tensor later = narrow(narrow(mask, 0, 0, tokens), 1, 0, tokens) == 1;
    const Tensor masked = masked_fill(scores, later, -INFINITY);
    const Tensor weights = dropout(softmax(masked / std::sqrt(static_cast<double>(head_dim))));
    const Tensor context = matmul(weights, values).transpose(1, 2);  // [B, T, heads, head_dim]
    return out_proj(context.reshape({batch, tokens, num_heads * head_dim}));
  }
  void visit(auto&& field) {
    field("W_query", query);
    field("W_key", key);
    field("W_value", value);
    field("out_proj", out_proj);
    field("dropout", dropout);
    field("mask", mask);
  }

  int64_t num_heads, head_dim;
  nn::Linear query, key, value, out_proj;
  nn::Dropout dropout;
  nn::Buffer mask;  // [context_length, context_length], 1 where a key is later; saved, not trained
};
// [/attention]

// [norm]
struct LayerNorm {  // x [..., C] -> [..., C]
  explicit LayerNorm(int64_t emb_dim) : scale(ones({emb_dim})), shift(zeros({emb_dim})) {}

  Tensor operator()(const Tensor& x) const {
    const Tensor centred = x - mean(x, -1, true);
    const Tensor variance = mean(centred * centred, -1, true);  // divided by C, not by C - 1
    return scale * (centred / sqrt(variance + 1e-5)) + shift;
  }
  void visit(auto&& field) {
    field("scale", scale);
    field("shift", shift);
  }

  nn::Parameter scale, shift;
};
// [/norm]

// [feed_forward]
struct GELU {
  Tensor operator()(const Tensor& x) const {
    return 0.5 * x * (1 + tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * pow(x, 3))));
  }
  void visit(auto&&) {}
};

struct FeedForward {  // C -> 4 C -> C, each token on its own
  explicit FeedForward(int64_t emb_dim) : expand(emb_dim, 4 * emb_dim), contract(4 * emb_dim, emb_dim) {}

  Tensor operator()(const Tensor& x) const { return contract(gelu(expand(x))); }
  void visit(auto&& field) {
    field("layers.0", expand);
    field("layers.2", contract);
  }

  nn::Linear expand;
  GELU gelu;
  nn::Linear contract;
};
// [/feed_forward]

// [block]
struct TransformerBlock {
  explicit TransformerBlock(const nn::GPTConfig& c)
      : att(c.emb_dim, c.emb_dim, c.context_length, c.drop_rate, c.n_heads, c.qkv_bias),
        ff(c.emb_dim),
        norm1(c.emb_dim),
        norm2(c.emb_dim),
        drop_shortcut(c.drop_rate) {}

  Tensor operator()(const Tensor& x) const {
    const Tensor attended = x + drop_shortcut(att(norm1(x)));
    return attended + drop_shortcut(ff(norm2(attended)));
  }
  void visit(auto&& field) {
    field("att", att);
    field("ff", ff);
    field("norm1", norm1);
    field("norm2", norm2);
    field("drop_shortcut", drop_shortcut);
  }

  MultiHeadAttention att;
  FeedForward ff;
  LayerNorm norm1, norm2;
  nn::Dropout drop_shortcut;
};
// [/block]

// [model]
struct GPTModel {  // ids [B, T] -> logits [B, T, V]
  explicit GPTModel(const nn::GPTConfig& c)
      : tok_emb(c.vocab_size, c.emb_dim),
        pos_emb(c.context_length, c.emb_dim),
        drop_emb(c.drop_rate),
        trf_blocks(nn::repeat<TransformerBlock>(c.n_layers, c)),
        final_norm(c.emb_dim),
        out_head(c.emb_dim, c.vocab_size, /*bias=*/false) {}

  Tensor operator()(const Tensor& ids) const {
    Tensor x = drop_emb(tok_emb(ids) + pos_emb(arange(ids.size(1))));
    for (const TransformerBlock& block : trf_blocks) x = block(x);
    return out_head(final_norm(x));
  }
  void visit(auto&& field) {
    field("tok_emb", tok_emb);
    field("pos_emb", pos_emb);
    field("drop_emb", drop_emb);
    field("trf_blocks", trf_blocks);
    field("final_norm", final_norm);
    field("out_head", out_head);
  }

  nn::Embedding tok_emb, pos_emb;
  nn::Dropout drop_emb;
  nn::List<TransformerBlock> trf_blocks;
  LayerNorm final_norm;
  nn::Linear out_head;
};
// [/model]

}  // namespace tapegrad::tasks::tutorial000
