// x.range.0, 2.. and slice.x, {{0, 2}}. are x.0:2.
#include <tapegrad/autograd/ops.h>

int mistake(const tapegrad::Tensor& x) { return tapegrad::slice(x, {0, 2}).dim(); }
