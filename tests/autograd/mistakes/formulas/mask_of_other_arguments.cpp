// a mask_mod takes four arguments: ...auto b, auto h, auto q, auto k.
#include <tapegrad/autograd/flex_attention.h>

int mistake(const tapegrad::Tensor& x) {
  return tapegrad::flex_attention(x, x, x, {.mask_mod = [](auto q, auto k) { return q >= k; }}).dim();
}
