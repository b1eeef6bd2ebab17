// expected a visit without const, because it provides members that are changed
#include <tapegrad/nn/linear.h>

struct Model {
  tapegrad::nn::Linear layer{2, 3};
  void visit(auto&& field) const { field("layer", layer); }
};

int64_t parameters_of(Model& model) { return tapegrad::nn::count_parameters(model); }
