// a mask_mod returns a bool: whether query q may attend to key k
#include <tapegrad/autograd/flex_attention.h>

int mistake(const tapegrad::Tensor& x) {
  return tapegrad::flex_attention(x, x, x, {.mask_mod = [](auto, auto, auto q, auto k) { return q - k; }}).dim();
}
