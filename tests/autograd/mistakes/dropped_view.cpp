// ignoring return(ed)? value of
#include <tapegrad/autograd/ops.h>

int main() {
  const tapegrad::Tensor x = tapegrad::zeros({2, 3});
  x.reshape({3, 2});
}
