// x.0. = y would be lost: write x.0. = y, with a name x that is not const
#include <tapegrad/autograd/ops.h>

void mistake(const tapegrad::Tensor& x) { x[0] = tapegrad::ones({3}); }
