// Golden files: calls of operations with their inputs, and what PyTorch answered. tests/golden/make_goldens.py writes
// them.
#pragma once

#include <tapegrad/autograd/io/internal/json_value.h>
#include <tapegrad/autograd/tensor.h>

#include <string>
#include <vector>

namespace tapegrad::tests {

struct GoldenCase {
  std::string op;
  std::string label;
  Json args;
  std::vector<Tensor> inputs;  // in the layout of the file: transposed, strided, expanded ...
  std::vector<Tensor> outputs;
  Tensor seed;                // dL/dy of the first output, if the gradients are given
  std::vector<Tensor> grads;  // one an input; an empty handle where there is none
  int ulp = 0;                // where above 0: the error allowed in units of the last place
};

std::vector<GoldenCase> read_goldens(const std::string& path);

// The names of the functions that a header declares.
std::vector<std::string> operations_in(const std::string& header);
// The public headers of autograd/ops that declare operations.
std::vector<std::string> operation_headers();

}  // namespace tapegrad::tests
