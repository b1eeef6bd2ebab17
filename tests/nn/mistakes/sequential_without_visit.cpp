// a module needs a visit that names its members: void visit
#include <tapegrad/nn/linear.h>
#include <tapegrad/nn/sequential.h>

struct Layer {
  Layer() {}  // with a constructor it is no plain struct
  tapegrad::nn::Linear inner{2, 3};
  tapegrad::Tensor operator()(const tapegrad::Tensor& x) const { return inner(x); }
};

int main() {
  tapegrad::nn::Sequential net(Layer{}, tapegrad::nn::Linear(3, 1));
  return static_cast<int>(tapegrad::nn::count_parameters(net));
}
