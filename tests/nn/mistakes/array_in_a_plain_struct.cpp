// a plain struct has a C array: make it a std::array, or write a visit
#include <tapegrad/nn/linear.h>

struct Model {
  tapegrad::nn::Linear first{2, 3};
  tapegrad::nn::Linear layers[2] = {{3, 3}, {3, 3}};
};

int64_t parameters_of(Model& model) { return tapegrad::nn::count_parameters(model); }
