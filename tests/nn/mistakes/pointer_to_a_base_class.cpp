// clone cannot copy what a pointer to a base class points to: use nn::AnyOf
#include <tapegrad/nn/linear.h>

#include <memory>

struct Layer {
  virtual ~Layer() = default;
  void visit(auto&& field) { field("inner", inner); }
  tapegrad::nn::Linear inner{2, 3};
};

struct Model {
  std::unique_ptr<Layer> layer;
};

Model clone_of(const Model& model) { return tapegrad::nn::clone(model); }
