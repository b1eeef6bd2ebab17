// clone cannot copy a std::variant of modules: use nn::Variant
#include <tapegrad/nn/dropout.h>
#include <tapegrad/nn/linear.h>

#include <variant>

struct Model {
  Model() = default;
  std::variant<tapegrad::nn::Dropout, tapegrad::nn::Linear> layer{tapegrad::nn::Dropout(0.1)};
  void visit(auto&& field) { field("layer", layer); }
};

Model clone_of(const Model& model) { return tapegrad::nn::clone(model); }
