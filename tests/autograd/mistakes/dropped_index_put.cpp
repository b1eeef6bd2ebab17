// ignoring return(ed)? value of
#include <tapegrad/autograd/ops.h>

int main() {
  const tapegrad::Tensor x = tapegrad::zeros({2, 3});
  tapegrad::index_put(x, {tapegrad::tensor({1})}, tapegrad::ones({3}));  // PyTorch's index_put_
}
