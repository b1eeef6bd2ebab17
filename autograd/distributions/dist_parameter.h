// A parameter of a distribution.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <concepts>
#include <type_traits>

namespace tapegrad::dist {

/// A parameter: a tensor, or a number, which gets the type of the tensors next to it (float32 if there are none).
class Parameter {
 public:
  Parameter(std::convertible_to<double> auto number) : number_(static_cast<double>(number)) {}  // NOLINT: Normal(0, 1)
  template <class T>
  requires(std::convertible_to<const T&, const Tensor&> && !std::is_arithmetic_v<T>) Parameter(const T& tensor)
      : tensor_(static_cast<const Tensor&>(tensor)) {}  // NOLINT: Normal(mean, std)

  const Tensor& tensor() const { return tensor_; }  // an empty handle for a number
  /// 0 for a tensor
  double number() const { return number_; }

 private:
  Tensor tensor_;
  double number_ = 0;
};

}  // namespace tapegrad::dist
