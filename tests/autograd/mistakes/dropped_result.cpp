// ignoring return(ed)? value of
#include <tapegrad/autograd/ops.h>

int main() {
  const tapegrad::Tensor x = tapegrad::zeros({2, 3});
  tapegrad::masked_fill(x, x == 0, 5);  // PyTorch's masked_fill_
}
