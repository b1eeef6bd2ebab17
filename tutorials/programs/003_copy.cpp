// Tutorial 003, section 8.5.1, as a program: the copy task's training loop. Its losses are those of the first twenty
// steps of `tapegrad train copy`, digit for digit.
#include <tapegrad/tapegrad.h>

#include <cmath>
#include <cstdio>
#include <iostream>

#include "task_classes.h"

namespace tg = tapegrad;
namespace nn = tapegrad::nn;

namespace {

constexpr int64_t kBatch = 40, kLength = 20, kTokens = 20;

// [shifted]
// What the decoder reads: the start token 0, then the answer without its last token.
tg::Tensor shifted(const tg::Tensor& target) {
  const tg::Tensor start = tg::zeros({target.size(0), 1}, tg::kInt64);
  return tg::cat({start, tg::narrow(target, 1, 0, target.size(1) - 1)}, 1);
}
// [/shifted]

// [answer]
// Greedy answers: the most likely token at each position, given the source and the tokens so far.
tg::Tensor answer(const nn::Transformer& model, const tg::Tensor& src) {
  const tg::Tensor mask = nn::padding_mask(src), memory = model.encode(src, mask);
  tg::Tensor text = tg::zeros({src.size(0), 1}, tg::kInt64);
  while (text.size(1) <= src.size(1)) {
    const tg::Tensor scores = model.predict(model.decode(memory, mask, text, nn::causal_mask(text.size(1))));
    text = tg::cat({text, tg::argmax(scores.select(1, -1), -1, /*keepdim=*/true)}, 1);
  }
  return tg::narrow(text, 1, 1, src.size(1));
}
// [/answer]

}  // namespace

int main() {
  // [train]
  tg::manual_seed(0);  // of the weights, the data and the dropout
  nn::Transformer model({.vocab_size = kTokens,
                         .hidden_size = 64,
                         .num_hidden_layers = 2,
                         .num_attention_heads = 2,
                         .intermediate_size = 128,
                         .max_position_embeddings = kLength});
  tg::optim::Adam adam(nn::parameters(model), {.lr = 1e-4, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-9});
  for (int step = 1; step <= 20; ++step) {
    const tg::Tensor src = tg::randint(1, kTokens, {kBatch, kLength});  // 0 is padding, and the start token
    tg::Tape tape;
    const tg::Tensor log_probs = model(src, shifted(src), nn::padding_mask(src), nn::causal_mask(kLength));
    const tg::Tensor loss = nn::sequence_loss(log_probs, src);
    adam.step(tape.backward(loss));
    std::printf("step %2d  loss %.4f\n", step, loss.item());
  }
  // [/train]

  nn::eval(model);
  const tg::Tensor question = tg::randint(1, kTokens, {1, kLength});
  std::cout << "parameters: " << nn::count_parameters(model)
            << "\nshape of an answer: " << tg::str(answer(model, question).shape()) << "\n";

  // [classes]
  // The tutorial's loss, masks and data, written out.
  using namespace tg::tasks::tutorial003;
  const tg::Tensor log_probs =
      model(question, shifted(question), create_pad_mask(question), create_subsequent_mask(kLength));
  const auto [loss, match_rate] = CopyLoss()(log_probs, question);
  std::printf("CopyLoss is the library's: %d, exact match %.1f\n",
              std::abs(loss.item() - nn::sequence_loss(log_probs, question).item()) < 1e-3, match_rate);
  std::cout << "7, 25 and 348 in digits:\n" << number_to_digits(tg::tensor({7, 25, 348}), 3) << "\n";
  const auto [tokens, tree] = tokens_and_tree("y=7/7");
  std::cout << "tokens of y=7/7 and of its tree:\n" << tg::tensor(tokens, {5}) << "\n" << tg::tensor(tree, {5}) << "\n";
  // [/classes]
}
