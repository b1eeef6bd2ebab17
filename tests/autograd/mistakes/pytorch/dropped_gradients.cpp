// ignoring return(ed)? value of
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>

// PyTorch's loss.backward(): here the gradients are returned.
void mistake(tapegrad::Tape& tape, const tapegrad::Tensor& w) { tape.backward(tapegrad::sum(w * w)); }
