// clone cannot copy a std::map of modules: use nn::Dict
#include <tapegrad/nn/linear.h>

#include <map>
#include <string>

struct Model {
  Model() = default;
  std::map<std::string, tapegrad::nn::Linear> layers;
  void visit(auto&& field) { field("layers", layers); }
};

int main() {
  Model model;
  return static_cast<int>(tapegrad::nn::count_parameters(tapegrad::nn::clone(model)));
}
