// Gradients of functions of one tensor or several; with `again`, computed by the recorded backward.
#pragma once

#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/autograd/tape.h>

#include <cstdint>
#include <vector>

namespace tapegrad::tests {

// These gradients of leaves.
inline Gradients gradients_given(const std::vector<std::pair<Tensor, Tensor>>& all) {
  Gradients grads;
  for (const auto& [leaf, grad] : all) grads.set(leaf, grad);
  return grads;
}

// The gradient of the sum of f(x).
Tensor slope(auto f, const Tensor& x, bool again = false) {
  const Tensor leaf = x.as_leaf();
  Tape tape;
  const Tensor y = f(leaf);
  return tape.backward(y, {.create_graph = again, .grad_output = ones_like(y), .keep = {}})[leaf].detach();
}

// The gradient of the sum of f(x) times 1, 2, 3, ...
Tensor gradient(auto f, const Tensor& x, bool again = false) {
  return slope(
      [&](const Tensor& leaf) {
        const Tensor y = f(leaf);
        return y * arange(1, static_cast<double>(y.numel()) + 1, 1, y.dtype()).reshape(y.shape());
      },
      x, again);
}

// The value of f(x...) and the gradients of the inputs x, under grad_output(value).
std::vector<Tensor> value_and_gradients(auto f, const std::vector<Tensor>& x, auto grad_output, bool again = false) {
  std::vector<Tensor> leaves;
  for (const Tensor& one : x) leaves.push_back(one.as_leaf());
  Tape tape;
  const Tensor y = f(leaves);
  const Gradients grads = tape.backward(y, {.create_graph = again, .grad_output = grad_output(y.detach())});
  std::vector<Tensor> all{y.detach()};
  for (const Tensor& leaf : leaves) all.push_back(grads[leaf].detach());
  return all;
}

// Numbers of a normal distribution, by a generator with this seed.
inline Tensor normal_of(const Shape& shape, uint64_t seed, DType dtype = kFloat64) {
  Generator generator(seed);
  return randn(shape, dtype, &generator);
}

}  // namespace tapegrad::tests
