// Calls of operations as lines of text, which tables of calls in files have: "gather(float32 [2, 3], [[0, 5]], axis:
// 1)". The name and the arguments are those of checks/cases. Tensors are zeros of a type and shape, "int64 [2, 3]", or
// numbers, "[[0, 5]]" or "[0, 5] as uint8", or "none"; then come attributes in JSON, "axis: 1". inf and nan are
// numbers. Functions of the distributions of distribution_makers(): "Normal(loc: 0.0, scale:
// [1.0, 2.0]).log_prob(0.5)".
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <functional>
#include <string>
#include <vector>

namespace tapegrad::tests {

// The parts between commas that are not in brackets or quotes.
std::vector<std::string> arguments_in(const std::string& text);
// The tensor of an argument. Floats without a type, and zeros of the type "float", are in the type `floats`.
Tensor operand_of(const std::string& text, DType floats = kFloat32);
// The call that a line has: its tensors, and the operation with its attributes.
struct ReadCall {
  std::vector<Tensor> tensors;
  std::function<std::vector<Tensor>(const std::vector<Tensor>&)> f;
};
ReadCall read_call(const std::string& line, DType floats = kFloat32);
// Its results.
std::vector<Tensor> called(const std::string& line);

}  // namespace tapegrad::tests
