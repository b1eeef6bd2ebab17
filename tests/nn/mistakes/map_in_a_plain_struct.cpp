// a module needs a visit that names its members
#include <tapegrad/nn/linear.h>

#include <map>
#include <string>

struct Model {
  tapegrad::nn::Linear body{2, 3};
  std::map<std::string, tapegrad::nn::Linear> heads;
};

int main() {
  Model model;
  return static_cast<int>(tapegrad::nn::count_parameters(model));
}
