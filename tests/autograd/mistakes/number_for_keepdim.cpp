// no matching function
#include <tapegrad/autograd/ops.h>

int mistake(const tapegrad::Tensor& x) { return tapegrad::mean(x, 1, 2).dim(); }  // {1, 2} was meant
