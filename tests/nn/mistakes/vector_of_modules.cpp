// clone cannot copy a std::vector of modules: use nn::List
#include <tapegrad/nn/linear.h>

#include <vector>

struct Model {
  Model() = default;
  std::vector<tapegrad::nn::Linear> layers;
  void visit(auto&& field) { field("layers", layers); }
};

int main() {
  Model model;
  model.layers.emplace_back(2, 3);
  return static_cast<int>(tapegrad::nn::count_parameters(tapegrad::nn::clone(model)));
}
