// a mask_mod returns a bool: whether query q may attend to key k
#include <tapegrad/autograd/flex_attention.h>

int main() {
  const tapegrad::Tensor x = tapegrad::zeros({1, 1, 4, 2});
  return tapegrad::flex_attention(x, x, x, {.mask_mod = [](auto, auto, auto q, auto k) { return q - k; }}).dim();
}
