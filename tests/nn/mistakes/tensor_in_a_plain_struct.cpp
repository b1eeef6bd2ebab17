// a plain struct has a Tensor: make it an nn::Parameter, which is trained, or an nn::Buffer, which is not
#include <tapegrad/nn/linear.h>

struct Model {
  tapegrad::nn::Linear layer{2, 3};
  tapegrad::Tensor scale = tapegrad::ones({3});
};

int64_t parameters_of(Model& model) { return tapegrad::nn::count_parameters(model); }
