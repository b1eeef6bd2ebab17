// What benchmarks share: an operation timed together with its gradients, and tables of benchmarks.
#pragma once

#include <benchmark/benchmark.h>
#include <tapegrad/tapegrad.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace tapegrad {

using State = benchmark::State;
using Inputs = std::vector<Tensor>;
using Shapes = void(benchmark::internal::Benchmark*);  // sets the arguments of a benchmark, and its unit of time

/// Times y = f(x).
void forward(State& state, const auto& f, const auto&... x) {
  benchmark::DoNotOptimize(f(x...));  // requests the memory of the result
  for (auto _ : state) benchmark::DoNotOptimize(f(x...));
}

/// Times y = f(x) and the gradients of all inputs.
void gradients_of(State& state, const Inputs& inputs, const auto& f) {
  Inputs leaves;
  for (const Tensor& x : inputs) leaves.push_back(x.as_leaf());
  const Tensor seed = f(leaves);
  const auto step = [&] {
    Tape tape;
    benchmark::DoNotOptimize(tape.backward(f(leaves), {.grad_output = seed}));
  };
  step(), step();  // the first ones request memory
  for (auto _ : state) step();
}

inline void in_milliseconds(benchmark::internal::Benchmark* b) { b->UseRealTime()->Unit(benchmark::kMillisecond); }

/// Registers benchmarks under their names; returns true, for the initialiser of a constant.
inline bool register_all(Shapes* shapes,
                         std::initializer_list<std::pair<std::string, std::function<void(State&)>>> benchmarks) {
  for (const auto& [name, run] : benchmarks) benchmark::RegisterBenchmark(name.c_str(), run)->Apply(shapes);
  return true;
}

}  // namespace tapegrad
