// AnyModule and AnyOf hold modules with the parameters and the result of their signature
#include <tapegrad/nn/linear.h>
#include <tapegrad/nn/sequential.h>

int main() {
  const tapegrad::nn::AnyOf<tapegrad::Tensor(const tapegrad::Tensor&, const tapegrad::Tensor&)> two =
      tapegrad::nn::Linear(2, 3);
  return two.defined();
}
