// could not convert|not contextually convertible
#include <tapegrad/autograd/ops.h>

int mistake(const tapegrad::Tensor& x) { return (x > 0 ? x : -x).dim(); }  // where(x > 0, x, -x) was meant
