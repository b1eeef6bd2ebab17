// x.0. = y would be lost: write x.0. = y
#include <tapegrad/autograd/ops.h>

void mistake(tapegrad::Tensor x) { tapegrad::slice(x, {{}, 0}) = tapegrad::ones({2}); }
