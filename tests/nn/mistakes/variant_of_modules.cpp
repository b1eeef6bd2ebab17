// clone cannot copy a std::variant of modules: use nn::Variant
#include <tapegrad/nn/dropout.h>
#include <tapegrad/nn/linear.h>

#include <variant>

struct Model {
  Model() = default;
  std::variant<tapegrad::nn::Dropout, tapegrad::nn::Linear> layer{tapegrad::nn::Dropout(0.1)};
  void visit(auto&& field) { field("layer", layer); }
};

int main() {
  Model model;
  return static_cast<int>(tapegrad::nn::count_parameters(tapegrad::nn::clone(model)));
}
