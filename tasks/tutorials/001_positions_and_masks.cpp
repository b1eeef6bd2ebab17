// Seed 001 as a program: where a word stands, and what it must not see.
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/tutorials/positions_and_masks.h>

#include <cmath>
#include <iostream>

namespace tg = tapegrad;

int main() {
  // Attention sees a set of words. What tells them apart is added to them: sines and cosines of their position.
  const tg::tasks::PositionalEncoding encoding(4);
  std::cout << "positions 0 to 4, in four dimensions\n" << encoding(tg::zeros({5, 1, 4})).squeeze(1) << "\n\n";

  // Whoever predicts the next word must not see it: true may be seen.
  const tg::Tensor mask = tg::tasks::subsequent_mask(5);
  std::cout << "causal mask of five words\n" << mask << "\n\n";

  tg::manual_seed(0);
  const tg::Tensor scores = tg::randn({1, 5, 5});
  std::cout << "scores\n" << scores << "\n\n";
  const tg::Tensor masked = tg::masked_fill(scores, !mask, -INFINITY);
  std::cout << "masked scores\n" << masked << "\n\n";
  std::cout << "weights\n" << tg::softmax(masked) << "\n\n";

  // Minus infinity hides for good. A row that may see nothing gets zeros, not NaN.
  std::cout << "weights of a row that sees nothing\n" << tg::softmax(tg::full({4}, -INFINITY)) << "\n";
}
