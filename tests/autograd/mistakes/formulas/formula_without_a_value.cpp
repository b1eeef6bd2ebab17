// fuse: expected a formula that returns a value of its arguments
#include <tapegrad/autograd/fuse.h>

int main() {
  const tapegrad::Tensor x = tapegrad::zeros({4});
  return tapegrad::fuse([](auto v) { return v > 0; }, x).dim();  // where(v > 0, 1, 0) was meant
}
