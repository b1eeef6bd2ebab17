// clone cannot copy a std::unique_ptr: use nn::Optional
#include <tapegrad/nn/linear.h>

#include <memory>

struct Model {
  Model() = default;
  std::unique_ptr<tapegrad::nn::Linear> layer;
  void visit(auto&& field) { field("layer", layer); }
};

int main() {
  Model model;
  return static_cast<int>(tapegrad::nn::count_parameters(tapegrad::nn::clone(model)));
}
