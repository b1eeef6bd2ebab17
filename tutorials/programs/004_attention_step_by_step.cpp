// Tutorial 004 as a program: attention over a sentence of six words, from a dot product to multi-head attention on a
// batch. It prints what most of the tutorial's cells print; the .txt file next to it has the expected output.
#include <tapegrad/tapegrad.h>

#include <cmath>
#include <iostream>

#include "attention.h"
#include "given.h"

namespace tg = tapegrad;

namespace {

void show(const char* what, const tg::Tensor& x) { std::cout << what << "\n" << x << "\n\n"; }

// Words are vectors of three numbers. Similarity is a dot product, softmax turns it into weights, and a word's context
// vector is the weighted mean of all words.
void without_weights(const tg::Tensor& inputs) {
  // [one_query]
  const tg::Tensor query = inputs[1];  // journey
  const tg::Tensor scores_2 = tg::matmul(inputs, query);
  show("cell 3: scores of \"journey\" with every word", scores_2);
  show("cell 5: divided by their sum", scores_2 / tg::sum(scores_2));
  show("cell 6: softmax by its formula", tg::exp(scores_2) / tg::sum(tg::exp(scores_2)));
  const tg::Tensor weights_2 = tg::softmax(scores_2);
  show("cell 7: softmax of the scores", weights_2);
  show("cell 8: its context vector", tg::matmul(weights_2, inputs));
  // [/one_query]

  // [all_queries]
  const tg::Tensor scores = tg::matmul(inputs, inputs.t());  // [6, 3] times [3, 6]: all pairs of words
  show("cell 10: all scores", scores);
  const tg::Tensor weights = tg::softmax(scores);  // over the last axis: each row sums to 1
  show("cell 11: all weights", weights);
  show("cell 13: all context vectors", tg::matmul(weights, inputs));
  // [/all_queries]
}

// Three trainable matrices project each word to a query, a key and a value.
void with_weights(const tg::Tensor& inputs) {
  // [projections]
  tg::manual_seed(123);  // draws what PyTorch draws
  const tg::Tensor w_query = tg::rand({3, 2}), w_key = tg::rand({3, 2}), w_value = tg::rand({3, 2});
  const tg::Tensor query_2 = tg::matmul(inputs[1], w_query);
  const tg::Tensor keys = tg::matmul(inputs, w_key), values = tg::matmul(inputs, w_value);
  show("cell 18: the query of \"journey\"", query_2);
  // [/projections]
  // [scaled]
  const tg::Tensor scores_2 = tg::matmul(query_2, keys.t());
  show("cell 22: its scores", scores_2);
  const tg::Tensor weights_2 = tg::softmax(scores_2 / std::sqrt(2.0));  // a key has two numbers
  show("cell 23: its weights, scores scaled by sqrt(2)", weights_2);
  show("cell 24: its context vector", tg::matmul(weights_2, values));
  // [/scaled]

  tg::manual_seed(123);
  const tg::tasks::SelfAttention_v1 first(3, 2);
  show("cell 25: the same for all words, as a module", first(inputs));
  tg::manual_seed(789);
  const tg::tasks::SelfAttention_v2 second(3, 2);
  show("cell 27: with linear layers", second(inputs));
}

// A word attends to itself and to earlier words: later ones get the score minus infinity, and so the weight 0.
void causal(const tg::Tensor& inputs) {
  tg::manual_seed(789);
  const tg::tasks::SelfAttention_v2 attention(3, 2);
  // [after]
  const tg::Tensor scores = tg::matmul(attention.query(inputs), attention.key(inputs).t());
  const tg::Tensor unmasked = tg::softmax(scores / std::sqrt(2.0));
  show("cell 28: weights without a mask", unmasked);
  const tg::Tensor past = tg::tril(tg::ones({6, 6}));
  show("cell 29: causal mask (1: visible)", past);
  const tg::Tensor kept = unmasked * past;  // rows no longer sum to 1
  show("cell 30: the mask after the softmax", kept);
  show("cell 31: each row divided by its sum", kept / tg::sum(kept, -1, /*keepdim=*/true));
  // [/after]
  // [before]
  const tg::Tensor masked = tg::masked_fill(scores, !tg::nn::causal_mask(6), -INFINITY);
  show("cell 32: masked scores", masked);
  const tg::Tensor weights = tg::softmax(masked / std::sqrt(2.0));
  show("cell 33: causal weights", weights);
  // [/before]

  // [dropout]
  const tg::nn::Dropout dropout(0.5);  // half of the numbers become 0, the others double
  tg::manual_seed(123);
  show("cell 35: dropout of ones", dropout(tg::ones({6, 6})));
  tg::manual_seed(123);
  show("cell 36: dropout of the weights", dropout(weights));
  // [/dropout]
}

// Batches and multiple heads: first separate heads, then one product that is split into heads.
void heads(const tg::Tensor& inputs) {
  // [heads]
  const tg::Tensor batch = tg::stack({inputs, inputs});  // [2, 6, 3]
  tg::manual_seed(123);
  const tg::tasks::CausalAttention one(3, 2, /*context_length=*/6, /*dropout_rate=*/0);
  show("cell 38: one head, two sentences", one(batch));
  tg::manual_seed(123);
  const tg::tasks::MultiHeadAttentionWrapper wrapper(3, 2, 6, 0, /*num_heads=*/2);
  show("cell 39: two heads side by side", wrapper(batch));
  tg::manual_seed(123);
  const tg::nn::MultiHeadSelfAttention attention({.d_in = 3, .d_out = 2, .num_heads = 2, .context_length = 6});
  show("cell 40: two heads of one number each, and a projection of both", attention(batch));
  // [/heads]
}

// A product of stacks of matrices: the two last axes are multiplied, the others (batch and heads) run along.
void products() {
  // [products]
  const tg::Tensor a = tg::tasks::given::two_heads();  // [1, 2, 3, 4]: batch, heads, tokens, numbers per head
  show("cell 41: the scores of both heads", tg::matmul(a, a.transpose(2, 3)));
  show("cell 42: those of the first head", tg::matmul(a[0][0], a[0][0].t()));
  show("cell 42: those of the second head", tg::matmul(a[0][1], a[0][1].t()));
  // [/products]
}

}  // namespace

int main() {
  const tg::Tensor inputs = tg::tasks::given::journey();  // [6, 3]: Your journey starts with one step
  without_weights(inputs);
  with_weights(inputs);
  causal(inputs);
  heads(inputs);
  products();
}
