// x.0. .= y would be lost: write x.0. .= y, x a name that is not const
#include <tapegrad/autograd/ops.h>

void mistake(tapegrad::Tensor x) { x[0] += 1; }
