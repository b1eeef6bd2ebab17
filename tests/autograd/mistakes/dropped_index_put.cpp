// ignoring return(ed)? value of
#include <tapegrad/autograd/ops.h>

// PyTorch's index_put_
void mistake(const tapegrad::Tensor& x) { tapegrad::index_put(x, {tapegrad::tensor({1})}, tapegrad::ones({3})); }
