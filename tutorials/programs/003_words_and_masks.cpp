// Tutorial 003, sections 8.2.1 to 8.3.2, as a program: attention over the words of a sentence, masks, and positions.
// `tapegrad show` has the same as tables and pictures.
#include <tapegrad/tapegrad.h>

#include <cmath>
#include <iostream>

#include "given.h"
#include "roles.h"

namespace tg = tapegrad;

namespace {

void show(const char* what, const tg::Tensor& x) { std::cout << what << "\n" << x << "\n\n"; }

// time flies like an arrow
void words() {
  // [words]
  const tg::Tensor x = tg::tasks::given::time_flies();  // [5, 3]: a vector of three numbers for each word
  const tg::Tensor similarity = tg::matmul(x, x.t());   // (i, j): the dot product of words i and j
  show("8.2.2: similarity", similarity);
  show("8.2.2: attention weights", tg::softmax(similarity));  // each row sums to 1
  show("8.2.2: contextual vectors", tg::tasks::basic_self_attention(x));
  // [/words]

  tg::manual_seed(0);
  const tg::Tensor by_role = tg::rand({3, 3}, tg::kFloat64), content = tg::rand({3, 3}, tg::kFloat64);
  show("8.2.3: separate projections for similarity and content",
       tg::tasks::improved_self_attention(x, by_role, content));
  tg::tasks::SelfAttention attention(3);  // modules start as float32
  show("8.2.3: query, key and value", attention(x.to(tg::kFloat32)));
}

// I love deep learning: rows are queries, columns keys
void masks() {
  const tg::Tensor scores = tg::tasks::given::scores();
  // [causal]
  const tg::Tensor past = tg::nn::causal_mask(4);  // true: may be attended to
  show("8.2.5: causal mask", past);
  const tg::Tensor masked = tg::masked_fill(scores, !past, -INFINITY);
  show("8.2.5: masked scores", masked);
  show("8.2.5: causal weights", tg::softmax(masked));
  // [/causal]

  // [padding]
  const tg::Tensor ids = tg::tensor({{1, 2, 3, 0}});  // I love ML, and one token of padding
  const tg::Tensor words = tg::nn::padding_mask(ids).reshape({1, 4});
  show("8.2.5: padding mask", words);
  show("8.2.5: weights without padding", tg::softmax(tg::masked_fill(scores, !words, -INFINITY)));
  // [/padding]
}

void positions() {
  // [positions]
  const tg::Tensor x = tg::tasks::given::words_to_count();  // [4, 4]
  show("8.3.1: the index added to each word", x + tg::arange(4).unsqueeze(1));
  show("8.3.2: sines and cosines instead", tg::nn::sinusoidal_table(4, 4));
  // The periods of the first, the middle and the last pair of sine and cosine, for vectors of 512 numbers.
  const tg::Tensor pair = tg::tensor({0., 128., 255.}, tg::kFloat64);
  show("8.3.2: 10000^(2i / 512)", tg::pow(tg::full({}, 10000, tg::kFloat64), pair * 2 / 512));
  // [/positions]
}

}  // namespace

int main() {
  words();
  masks();
  positions();
}
