// Tutorial 000 as a program: the causal mask, and a GPT that learns to count.
#include <tapegrad/tapegrad.h>

#include <iostream>

#include "gpt_classes.h"

namespace tg = tapegrad;

int main() {
  // [mask]
  // 1 where the key is later than the query: these scores become minus infinity.
  std::cout << "mask of five tokens (1: masked)\n" << tg::triu(tg::ones({5, 5}), 1) << "\n\n";
  // [/mask]

  // The tutorial's model has the sizes of GPT-2's smallest one. Counting needs no model.
  std::cout << "parameters of the tutorial's model: " << tg::nn::GPTConfig{}.parameter_count() << "\n";

  // [model]
  tg::manual_seed(123);
  tg::nn::GPTModel model(
      {.vocab_size = 16, .context_length = 8, .emb_dim = 32, .n_heads = 4, .n_layers = 2, .drop_rate = 0.0});
  std::cout << "parameters of this model:           " << tg::nn::count_parameters(model) << "\n";

  // Token ids in; for each position, the logits of the next token out.
  const tg::Tensor ids = tg::tensor({{3, 4, 5, 6, 7}, {9, 8, 7, 6, 5}});
  const tg::Tensor logits = model(ids);
  std::cout << "ids " << tg::str(ids.shape()) << " to logits " << tg::str(logits.shape()) << "\n";
  // [/model]

  // [blind]
  // Later tokens have no influence: changing the last token leaves all earlier logits unchanged, bit for bit.
  const tg::Tensor other = model(tg::tensor({{3, 4, 5, 6, 0}, {9, 8, 7, 6, 0}}));
  const bool same = tg::all(tg::narrow(logits, 1, 0, 4) == tg::narrow(other, 1, 0, 4));
  std::cout << "earlier logits are unchanged by another last token: " << std::boolalpha << same << "\n\n";
  // [/blind]

  // [train]
  // Sequences that count up; the target of each token is the next one.
  tg::optim::AdamW adam(tg::nn::parameters(model), {.lr = 3e-3, .weight_decay = 0.1});
  for (int step = 0; step < 120; ++step) {
    const tg::Tensor first = tg::randint(0, 8, {16, 1});
    const tg::Tensor text = first + tg::arange(9);  // [16, 9]
    tg::Tape tape;
    const tg::Tensor loss = tg::cross_entropy(model(tg::narrow(text, 1, 0, 8)), tg::narrow(text, 1, 1, 8));
    adam.step(tape.backward(loss));
  }
  // [/train]

  // [generate]
  tg::nn::eval(model);
  tg::Tensor text = tg::tensor({{5, 6}});
  while (text.size(1) < 8) {
    const tg::Tensor next = tg::argmax(model(text).select(1, -1), -1, true);  // the most likely token: greedy
    text = tg::cat({text, next}, 1);
  }
  // [/generate]
  std::cout << "continuation of 5 6: " << text << "\n";

  // [classes]
  // The tutorial's classes, written out: from the same seed, the same weights and logits.
  tg::manual_seed(123);
  tg::tasks::tutorial000::GPTModel written(
      {.vocab_size = 16, .context_length = 8, .emb_dim = 32, .n_heads = 4, .n_layers = 2, .drop_rate = 0.0});
  std::cout << "the tutorial's classes give the same logits: " << tg::allclose(written(ids), logits, 1e-4, 1e-5)
            << "\n";
  // [/classes]
}
