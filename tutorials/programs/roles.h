// Tutorial 003, sections 8.2.2 to 8.2.5: from one vector per word to separate queries, keys and values.
#pragma once

#include <tapegrad/nn/linear.h>

namespace tapegrad::tasks {

// [basic]
// words [n, d] -> [n, d]: each word becomes a mean of all, weighted by the softmax of dot products. One vector has all
// three roles.
inline Tensor basic_self_attention(const Tensor& words) {
  const Tensor similarity = matmul(words, words.t());
  return matmul(softmax(similarity), words);
}
// [/basic]

// [improved]
// First improvement: a separate projection for the content. The scores stay symmetric.
// words [n, d], similarity [d, e], content [d, c] -> [n, c].
inline Tensor improved_self_attention(const Tensor& words, const Tensor& similarity, const Tensor& content) {
  const Tensor compared = matmul(words, similarity);
  return matmul(softmax(matmul(compared, compared.t())), matmul(words, content));
}
// [/improved]

// [qkv]
// Second improvement: separate queries and keys. x [..., n, d] -> [..., n, d]; scores are not yet scaled.
struct SelfAttention {
  explicit SelfAttention(int64_t embed_dim)
      : q(embed_dim, embed_dim), k(embed_dim, embed_dim), v(embed_dim, embed_dim) {}

  Tensor operator()(const Tensor& x) const {
    const Tensor scores = matmul(q(x), k(x).t());
    return matmul(softmax(scores), v(x));
  }
  void visit(auto&& field) {
    field("q", q);
    field("k", k);
    field("v", v);
  }

  nn::Linear q, k, v;
};
// [/qkv]

// [masked]
// Attention with an additive mask (8.2.5): 0 where a query may attend to a key, minus infinity elsewhere.
inline Tensor masked_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
  return matmul(softmax(matmul(q, k.t()) + mask), v);
}
// [/masked]

}  // namespace tapegrad::tasks
