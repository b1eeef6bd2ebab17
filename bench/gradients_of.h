// Times an operation together with its gradients.
#pragma once

#include <benchmark/benchmark.h>
#include <tapegrad/tapegrad.h>

#include <vector>

namespace tapegrad {

/// y = f(x) and the gradients of all inputs.
template <class F>
void gradients_of(benchmark::State& state, const std::vector<Tensor>& inputs, F f) {
  std::vector<Tensor> leaves;
  for (const Tensor& x : inputs) leaves.push_back(x.as_leaf());
  const Tensor seed = f(leaves);
  const auto step = [&] {
    Tape tape;
    benchmark::DoNotOptimize(tape.backward(f(leaves), {.grad_output = seed}));
  };
  step(), step();  // the first ones request memory
  for (auto _ : state) step();
}

}  // namespace tapegrad
