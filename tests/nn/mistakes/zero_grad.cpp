// leave zero_grad.. out
#include <tapegrad/nn/linear.h>
#include <tapegrad/optim/sgd.h>

int main() {
  tapegrad::nn::Linear model(2, 2);
  tapegrad::optim::SGD sgd(tapegrad::nn::parameters(model), {.lr = 0.1});
  sgd.zero_grad();
}
