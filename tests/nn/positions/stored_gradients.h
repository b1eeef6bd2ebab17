// Positions against tests/data/positions.json (make_positions.py).
#pragma once

#include <gtest/gtest.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tests/support/stored.h>

#include <cstdint>
#include <vector>

namespace tapegrad::tests {

// y = run(x), and the gradients of x and of all parameters; parameter i has the values filled(its shape, numbers(i)).
void expect_stored_gradients(auto& model, const auto& run, const Json& expected, double absolute, const auto& numbers) {
  const Room room{.relative = 0, .absolute = absolute};
  nn::to(model, kFloat64);
  const auto parameters = nn::named_parameters(model);
  ASSERT_EQ(parameters.size(), expected["grads"].size());
  for (std::size_t i = 0; i < parameters.size(); ++i)
    parameters[i].parameter.set(filled(parameters[i].parameter->shape(), numbers(static_cast<int64_t>(i))));
  const Tensor x = filled({2, 6, 8}, 7).to(kFloat64).as_leaf();
  Tape tape;
  const Tensor y = run(x), loss = sum(y * filled({2, 6, 8}, 5).to(kFloat64)) + sum(y * y);
  expect_close(y, expected["y"], room, "y");
  const Gradients grads = tape.backward(loss);
  expect_close(grads[x], expected["dx"], room, "dx");
  for (std::size_t i = 0; i < parameters.size(); ++i)
    expect_close(grads[parameters[i].parameter], expected["grads"][i], room, parameters[i].name);
}

}  // namespace tapegrad::tests
