// clone cannot copy a std::optional of a module: use nn::Optional
#include <tapegrad/nn/linear.h>

#include <optional>

struct Model {
  Model() = default;
  std::optional<tapegrad::nn::Linear> layer;
  void visit(auto&& field) { field("layer", layer); }
};

int main() {
  Model model;
  return static_cast<int>(tapegrad::nn::count_parameters(tapegrad::nn::clone(model)));
}
