// expected: 003-8.5.1: wrong. loss: expected 6.0791, got 2.0264
#include <tapegrad/tapegrad.h>

// Divided by the number of tokens, as PyTorch's default.
inline tapegrad::Tensor copy_loss(const tapegrad::Tensor& logits, const tapegrad::Tensor& target, double smoothing) {
  const int64_t vocab = logits.size(-1);
  const tapegrad::Tensor right = tapegrad::one_hot(target, vocab).to(tapegrad::kFloat32);
  const tapegrad::Tensor wanted = (1 - smoothing) * right + smoothing / static_cast<double>(vocab);
  return -tapegrad::sum(wanted * tapegrad::log_softmax(logits)) / static_cast<double>(target.numel());
}
