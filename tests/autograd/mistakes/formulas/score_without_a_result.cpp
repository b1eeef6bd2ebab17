// a score_mod returns a score: what it computes from its first argument
#include <tapegrad/autograd/flex_attention.h>

int main() {
  const tapegrad::Tensor x = tapegrad::zeros({1, 1, 4, 2});
  const auto doubled = [](auto score, auto, auto, auto, auto) { score = 2 * score; };  // without return
  return tapegrad::flex_attention(x, x, x, {.score_mod = doubled}).dim();
}
