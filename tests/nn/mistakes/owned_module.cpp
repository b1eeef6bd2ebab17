// clone cannot copy a std::unique_ptr: use nn::Optional
#include <tapegrad/nn/linear.h>

#include <memory>

struct Model {
  Model() = default;
  std::unique_ptr<tapegrad::nn::Linear> layer;
  void visit(auto&& field) { field("layer", layer); }
};

Model clone_of(const Model& model) { return tapegrad::nn::clone(model); }
