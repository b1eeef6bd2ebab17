// A solution of exercise 004-40.
#include <tapegrad/tapegrad.h>

inline tapegrad::Tensor split_heads(const tapegrad::Tensor& x, int64_t heads) {
  return x.reshape({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
}
inline tapegrad::Tensor merge_heads(const tapegrad::Tensor& x) {
  return x.transpose(1, 2).reshape({x.size(0), x.size(2), x.size(1) * x.size(3)});
}
