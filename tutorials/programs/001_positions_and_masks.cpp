// Tutorial 001 as a program: positional encoding and the causal mask.
#include <tapegrad/tapegrad.h>

#include <cmath>
#include <iostream>

#include "positions_and_masks.h"

namespace tg = tapegrad;

int main() {
  // [positions]
  // Attention treats words as a set. Sines and cosines of each position are added, so that order matters.
  const tg::tasks::PositionalEncoding encoding(4);
  std::cout << "positions 0 to 4, in four dimensions\n" << encoding(tg::zeros({5, 1, 4})).squeeze(1) << "\n\n";
  // [/positions]

  // [mask]
  // A word must not attend to later ones: true marks positions that may be attended to.
  const tg::Tensor mask = tg::tasks::subsequent_mask(5);
  std::cout << "causal mask of five words\n" << mask << "\n\n";
  // [/mask]

  // [masked]
  tg::manual_seed(0);
  const tg::Tensor scores = tg::randn({1, 5, 5});
  std::cout << "scores\n" << scores << "\n\n";
  const tg::Tensor masked = tg::masked_fill(scores, !mask, -INFINITY);
  std::cout << "masked scores\n" << masked << "\n\n";
  std::cout << "weights\n" << tg::softmax(masked) << "\n\n";
  // [/masked]

  // A score of minus infinity gets weight 0. A fully masked row gets zeros, not NaN.
  std::cout << "weights of a fully masked row\n" << tg::softmax(tg::full({4}, -INFINITY)) << "\n";
}
