// expected: 003-8.4.3-beams: wrong. 2 beams, number 1: expected 1, got 0
#include <tapegrad/tapegrad.h>

// Logits are added, not log-probabilities.
inline tapegrad::Tensor best_pair(const tapegrad::Tensor& first, const tapegrad::Tensor& second, int64_t beams) {
  const tapegrad::Tensor kept = tapegrad::topk(first, beams).indices;
  const tapegrad::Tensor scores = tapegrad::index_select(first.unsqueeze(1) + second, 0, kept);  // [beams, W]
  const int64_t best = tapegrad::argmax(scores).item<int64_t>(), width = second.size(1);
  return tapegrad::tensor({kept[best / width].item<int64_t>(), best % width});
}
