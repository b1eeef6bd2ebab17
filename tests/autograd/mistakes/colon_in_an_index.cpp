// x.all, 1. is x.:, 1.
#include <tapegrad/autograd/ops.h>

int mistake(const tapegrad::Tensor& x) { return x(':', 1).dim(); }
