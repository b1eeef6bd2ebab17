// x.0. = y would be lost: write x.0. = y
#include <tapegrad/autograd/ops.h>

void mistake(tapegrad::Tensor x) { x.select(1, 0) = tapegrad::ones({2}); }
