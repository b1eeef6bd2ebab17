// A solution of exercise 003-8.4.3-beams.
#include <tapegrad/tapegrad.h>

inline tapegrad::Tensor best_pair(const tapegrad::Tensor& first, const tapegrad::Tensor& second, int64_t beams) {
  const tapegrad::Tensor kept = tapegrad::topk(tapegrad::log_softmax(first), beams).indices;
  const tapegrad::Tensor pairs = tapegrad::log_softmax(first).unsqueeze(1) + tapegrad::log_softmax(second);
  const tapegrad::Tensor scores = tapegrad::index_select(pairs, 0, kept);  // [beams, W]
  const int64_t best = tapegrad::argmax(scores).item<int64_t>(), width = second.size(1);
  return tapegrad::tensor({kept[best / width].item<int64_t>(), best % width});
}
