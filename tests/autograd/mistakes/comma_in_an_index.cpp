// comma expression in array subscript
#include <tapegrad/autograd/ops.h>

int mistake(const tapegrad::Tensor& x) { return x[1, 2].dim(); }  // x(1, 2) was meant
