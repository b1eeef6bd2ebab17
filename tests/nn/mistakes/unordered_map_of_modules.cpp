// visit names a std::unordered_map, whose order differs between programs: use nn::Dict or std::map
#include <tapegrad/nn/linear.h>

#include <string>
#include <unordered_map>

struct Model {
  std::unordered_map<std::string, tapegrad::nn::Linear> layers;
};

int64_t parameters_of(Model& model) { return tapegrad::nn::count_parameters(model); }
