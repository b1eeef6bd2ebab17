// clone cannot copy a plain struct with containers or pointers of the standard library that is a member of a struct
#include <tapegrad/nn/linear.h>

#include <vector>

struct Block {
  tapegrad::nn::Linear first{2, 3};
  std::vector<tapegrad::nn::Linear> others;
};

struct Model {
  Model() = default;
  Block block;
  void visit(auto&& field) { field("block", block); }
};

Model clone_of(const Model& model) { return tapegrad::nn::clone(model); }
