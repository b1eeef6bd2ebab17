// fuse: expected a formula with an .auto. for each tensor and number
#include <tapegrad/autograd/fuse.h>

int main() {
  const tapegrad::Tensor x = tapegrad::zeros({4});
  return tapegrad::fuse([](double v) { return v * v; }, x).dim();
}
