// visit names a pointer: name the module that it points to, or keep the module in an nn::Optional
#include <tapegrad/nn/linear.h>

struct Model {
  tapegrad::nn::Linear* layer = nullptr;
  void visit(auto&& field) { field("layer", layer); }
};

int64_t parameters_of(Model& model) { return tapegrad::nn::count_parameters(model); }
