// write nn::eval.model.
#include <tapegrad/nn/linear.h>
#include <tapegrad/nn/sequential.h>

int main() {
  tapegrad::nn::Sequential model{tapegrad::nn::Linear(2, 2)};
  model.eval();
}
