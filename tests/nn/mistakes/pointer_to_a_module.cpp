// visit names a pointer: name the module that it points to, or keep the module in an nn::Optional
#include <tapegrad/nn/linear.h>

struct Model {
  tapegrad::nn::Linear* layer = nullptr;
  void visit(auto&& field) { field("layer", layer); }
};

int main() {
  Model model;
  return static_cast<int>(tapegrad::nn::count_parameters(model));
}
