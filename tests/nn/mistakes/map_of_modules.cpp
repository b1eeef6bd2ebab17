// clone cannot copy a std::map of modules: use nn::Dict
#include <tapegrad/nn/linear.h>

#include <map>
#include <string>

struct Model {
  Model() = default;
  std::map<std::string, tapegrad::nn::Linear> layers;
  void visit(auto&& field) { field("layers", layers); }
};

Model clone_of(const Model& model) { return tapegrad::nn::clone(model); }
