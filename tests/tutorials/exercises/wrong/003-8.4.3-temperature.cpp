// expected: 003-8.4.3-temperature: wrong. temperature 0.5, number 1: expected 0.1140, got 0.2242
#include <tapegrad/tapegrad.h>

// Probabilities are divided, which normalising undoes.
inline tapegrad::Tensor with_temperature(const tapegrad::Tensor& logits, double temperature) {
  const tapegrad::Tensor divided = tapegrad::softmax(logits) / temperature;
  return divided / tapegrad::sum(divided);
}
