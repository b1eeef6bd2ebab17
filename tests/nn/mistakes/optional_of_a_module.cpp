// clone cannot copy a std::optional of a module: use nn::Optional
#include <tapegrad/nn/linear.h>

#include <optional>

struct Model {
  Model() = default;
  std::optional<tapegrad::nn::Linear> layer;
  void visit(auto&& field) { field("layer", layer); }
};

Model clone_of(const Model& model) { return tapegrad::nn::clone(model); }
