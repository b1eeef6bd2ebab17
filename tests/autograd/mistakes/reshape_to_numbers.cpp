// write reshape..2, 3
#include <tapegrad/autograd/ops.h>

int mistake(const tapegrad::Tensor& x) { return x.reshape(3, 2).dim(); }
