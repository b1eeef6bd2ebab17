// ignoring return(ed)? value of
#include <tapegrad/autograd/ops.h>

void mistake(const tapegrad::Tensor& x) { x.reshape({3, 2}); }
