// Seed 003, sections 8.2.2 to 8.2.5: how a word's vector, which at first is compared, is compared with and is passed
// on, comes to have a query, a key and a value for these three roles.
#pragma once

#include <tapegrad/nn/linear.h>

namespace tapegrad::tasks {

// words [n, d] -> [n, d]: each word becomes the mean of all, by softmax of dot products. One vector plays all roles.
inline Tensor basic_self_attention(const Tensor& words) {
  const Tensor similarity = matmul(words, words.t());
  return matmul(softmax(similarity), words);
}

// The first improvement: what is passed on is a projection of its own. The scores stay symmetric.
// words [n, d], similarity [d, e], content [d, c] -> [n, c].
inline Tensor improved_self_attention(const Tensor& words, const Tensor& similarity, const Tensor& content) {
  const Tensor compared = matmul(words, similarity);
  return matmul(softmax(matmul(compared, compared.t())), matmul(words, content));
}

// The second one: asking and answering are told apart. x [..., n, d] -> [..., n, d]; scores are not yet scaled.
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

// Attention with a mask that is added to the scores (8.2.5): 0 where a key may be seen, minus infinity where not.
inline Tensor masked_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
  return matmul(softmax(matmul(q, k.t()) + mask), v);
}

}  // namespace tapegrad::tasks
