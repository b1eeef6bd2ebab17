// read-only
#include <tapegrad/autograd/ops.h>

void mistake(const tapegrad::Tensor& x) { x.data<float>()[0] = 1; }  // values never change in place
