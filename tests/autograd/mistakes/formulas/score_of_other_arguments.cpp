// a score_mod takes five arguments: ...auto score, auto b, auto h, auto q, auto k.
#include <tapegrad/autograd/flex_attention.h>

int main() {
  const tapegrad::Tensor x = tapegrad::zeros({1, 1, 4, 2});
  return tapegrad::flex_attention(x, x, x, {.score_mod = [](auto score, auto, auto) { return score; }}).dim();
}
