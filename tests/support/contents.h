// What tensors and models hold, as vectors to compare.
#pragma once

#include <gtest/gtest.h>
#include <tapegrad/nn/module.h>
#include <tapegrad/tests/support/near.h>

#include <string>
#include <vector>

namespace tapegrad::tests {

using Values = std::vector<float>;
using Names = std::vector<std::string>;

inline Values values_of(const Tensor& x) { return x.to_vector<float>(); }

inline Names names_of(const NamedTensors& tensors) {
  Names names;
  for (const NamedTensor& one : tensors) names.push_back(one.name);
  return names;
}

Names names_of(auto& model) {
  Names names;
  for (const nn::NamedParameter& p : nn::named_parameters(model)) names.push_back(p.name);
  return names;
}

// The loss that f() gives, and its gradients of all parameters.
std::vector<Tensor> loss_and_gradients(const auto& model, const auto& f) {
  Tape tape;
  const Tensor loss = f();
  const Gradients grads = tape.backward(loss);
  std::vector<Tensor> all{loss.detach()};
  for (const NamedTensor& p : nn::parameters(model)) all.push_back(grads[p.tensor]);
  return all;
}

// Expects equal names, shapes, types and bits in the same order.
inline void expect_same(const NamedTensors& a, const NamedTensors& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_TRUE(same_bits(a[i].tensor, b[i].tensor)) << a[i].name;
  }
}

}  // namespace tapegrad::tests
