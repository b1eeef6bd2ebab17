// ignoring return(ed)? value of
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>

int main() {
  const tapegrad::Tensor w = tapegrad::ones({2}).as_leaf();
  tapegrad::Tape tape;
  tape.backward(tapegrad::sum(w * w));  // PyTorch's loss.backward(): here the gradients are returned
}
