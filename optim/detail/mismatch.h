// Parameters without a gradient, gradients without a parameter, and what has caused them.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::optim {

/// "the parameter of shape [3]" where it has no name.
std::string quoted(std::string_view name, const Tensor& parameter);

/// What a step finds. Models may be converted, replaced or mixed up after an optimiser was made: the leaves that the
/// optimiser does not know show which of these happened.
class Mismatch {
 public:
  /// A parameter that has no gradient. `gone`: no module has it any more.
  void missing(std::string_view name, const Tensor& parameter, bool gone);
  /// A leaf that is not one of the optimiser's parameters; `like` has its shape and type.
  void unknown(const TapeIndex& leaf, const Tensor& like);
  /// Error if there are any.
  void require_none(std::string_view where) const;

 private:
  struct Parameter {
    std::string name;
    const Tensor* tensor;
    bool gone;
  };
  struct Leaf {
    std::string name;
    Shape shape;
    DType dtype;
  };
  std::string cause() const;
  std::vector<Parameter> missing_;
  std::vector<Leaf> unknown_;
};

}  // namespace tapegrad::optim
