// a module needs a visit that names its members
#include <tapegrad/nn/linear.h>

struct Layer {
  Layer() {}  // with a constructor it is no plain struct
  tapegrad::nn::Linear inner{2, 3};
};

struct Model {
  Layer layer;
  void visit(auto&& field) { field("layer", layer); }
};

int64_t parameters_of(Model& model) { return tapegrad::nn::count_parameters(model); }
