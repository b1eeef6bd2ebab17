// write range.0, 2., or tensor..0, 2..
#include <tapegrad/autograd/ops.h>

int mistake(const tapegrad::Tensor& x) { return x({0, 2}).dim(); }
