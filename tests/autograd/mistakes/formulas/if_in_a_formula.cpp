// deleted function
#include <tapegrad/autograd/fuse.h>

int main() {
  const tapegrad::Tensor x = tapegrad::zeros({4});
  return tapegrad::fuse([](auto v) { return v > 0 ? v : 0.1 * v; }, x).dim();  // where(v > 0, v, 0.1 * v) was meant
}
