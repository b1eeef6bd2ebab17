// visit names a field that is not a parameter, buffer or module
#include <tapegrad/nn/linear.h>

struct Model {
  tapegrad::nn::Linear layer{2, 3};
  double rate = 0.1;
  void visit(auto&& field) {
    field("layer", layer);
    field("rate", rate);
  }
};

int64_t parameters_of(Model& model) { return tapegrad::nn::count_parameters(model); }
