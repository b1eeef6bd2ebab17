// an index is a number, a range, all, newaxis, ellipsis or a tensor
#include <tapegrad/autograd/ops.h>

int mistake(const tapegrad::Tensor& x) { return x(true).dim(); }
