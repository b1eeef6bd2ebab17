// ignoring return(ed)? value of
#include <tapegrad/autograd/ops.h>

void mistake(const tapegrad::Tensor& x) { tapegrad::masked_fill(x, x == 0, 5); }  // PyTorch's masked_fill_
