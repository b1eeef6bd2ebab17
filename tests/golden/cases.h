// Golden files: calls of operations with their inputs, and what PyTorch answered. tests/golden/make_goldens.py writes
// them.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tapegrad::tests {

struct GoldenCase {
  std::string op;
  std::string label;
  nlohmann::json args;
  std::vector<Tensor> inputs;  // in the layout of the file: transposed, strided, expanded ...
  std::vector<Tensor> outputs;
  Tensor seed;                // dL/dy of the first output, if the gradients are given
  std::vector<Tensor> grads;  // one an input; an empty handle where there is none
  int ulp = 0;                // where above 0: the error allowed in units of the last place
};

std::vector<GoldenCase> read_goldens(const std::string& path);

// How to call the operations that golden files name.
using GoldenCall = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs, const nlohmann::json& args)>;
using GoldenCalls = std::map<std::string, GoldenCall>;
const GoldenCalls& golden_calls();

// For the files calls_*.cpp, which enter the calls of their families.
void add_reduce_calls(GoldenCalls& calls);
void add_loss_calls(GoldenCalls& calls);
void add_linalg_calls(GoldenCalls& calls);
void add_pooling_calls(GoldenCalls& calls);
void add_shape_calls(GoldenCalls& calls);
void add_convolution_calls(GoldenCalls& calls);
void add_function_calls(GoldenCalls& calls);
void add_recurrent_calls(GoldenCalls& calls);
void add_window_calls(GoldenCalls& calls);
void add_long_attention_calls(GoldenCalls& calls);

// The names of the functions that a header declares.
std::vector<std::string> operations_in(const std::string& header);
// The public headers of autograd/ops that declare operations.
std::vector<std::string> operation_headers();

}  // namespace tapegrad::tests
