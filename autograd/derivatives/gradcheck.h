// Compares gradients with finite differences: every entry of the Jacobian, in float64, to first and second order.
#pragma once

#include <tapegrad/autograd/tape.h>

#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tapegrad {

struct GradcheckOptions {
  int order = 2;               // 1: first derivatives; 2: second derivatives, too
  double atol = 0;             // passes: |analytic - numerical| <= atol + rtol * |numerical| + measured rounding error
  double rtol = 1e-7;          ///< relative tolerance, see atol
  double step = 0.0009765625;  // of the first differences, times |x| if |x| > 1
  bool zero_gradient = false;  // the first derivative is expected to be zero everywhere (sign, floor)
  std::string_view refuses = {};  // the operation whose create_graph throws; order 2 then checks only that
};

/// The result: the wrong entry of the Jacobian with the largest error in units of its tolerance. At order 1 an entry is
/// d f[output] / d inputs[input][index]; at order 2 it is the derivative of the gradient for a random dy.
struct GradcheckReport {
  bool ok = true;            ///< no entry is wrong
  int order = 0;             // the order that failed; 0: none, or it failed before any gradient
  int input = -1;            // which input; the number of inputs means dy (order 2)
  int64_t index = -1;        // which of its elements, in row-major order
  int64_t output = -1;       ///< which element of the output, in row-major order
  double analytic = 0;       ///< this derivative by backward
  double numerical = 0;      ///< this derivative by differences
  double worst[2] = {0, 0};  // the largest |analytic - numerical| / max(1, |numerical|) at order 1 and 2
  int64_t entries = 0;       // number of derivatives compared
  int64_t undecidable = 0;   // those among them that differences cannot decide: kinks, jumps, quick oscillations
  std::string text = {};     // one line that describes the failure; empty if ok
  std::string note = {};     // one line about the first undecidable entry; empty if there is none
  explicit operator bool() const { return ok; }
};

namespace detail {

struct GradcheckFunction {
  void* f;
  Tensor (*call)(void* f, std::span<const Tensor> inputs);
  std::span<const std::string> parameters = {};  // names of the last inputs, if they are the parameters of one model
  Tensor operator()(std::span<const Tensor> inputs) const { return call(f, inputs); }
};
GradcheckReport gradcheck(GradcheckFunction f, std::span<const Tensor> inputs, const GradcheckOptions& options);
[[noreturn]] void wrong_input_count(std::size_t given);

// f(inputs), or f(inputs[0], inputs[1], ...).
template <class F>
Tensor call_with(F& f, std::span<const Tensor> x) {
  using T = const Tensor&;
  if constexpr (std::is_invocable_v<F&, std::span<const Tensor>>) {
    return f(x);
  } else if constexpr (std::is_invocable_v<F&, std::vector<Tensor>>) {
    return f(std::vector<Tensor>(x.begin(), x.end()));
  } else if constexpr (std::is_invocable_v<F&, T>) {
    return x.size() == 1 ? f(x[0]) : (wrong_input_count(x.size()), Tensor());
  } else if constexpr (std::is_invocable_v<F&, T, T>) {
    return x.size() == 2 ? f(x[0], x[1]) : (wrong_input_count(x.size()), Tensor());
  } else if constexpr (std::is_invocable_v<F&, T, T, T>) {
    return x.size() == 3 ? f(x[0], x[1], x[2]) : (wrong_input_count(x.size()), Tensor());
  } else {
    static_assert(std::is_invocable_v<F&, T, T, T, T>, "f takes one to four tensors, or a span of them");
    return x.size() == 4 ? f(x[0], x[1], x[2], x[3]) : (wrong_input_count(x.size()), Tensor());
  }
}

}  // namespace detail

/// Compares backward of y = f(inputs...) with central differences of fourth order. f takes one to four tensors, or a
/// span of them, and returns a float64 tensor. float64 inputs are differentiated in the layout that they have; integers
/// and bools are passed through.
///
/// If an entry does not agree, the check tries steps from 8 times to 2^-42 times the size of x. The entry is wrong only
/// if it differs by more than the rounding and truncation errors that these steps show. At a kink or jump of f (relu at
/// 0) no step can decide: the entry is counted as undecidable, which is no failure, if the analytic derivative lies
/// between the slopes of both sides. An entry is also undecidable if differences with other steps contradict each other
/// by more than their errors. A function whose values differ when it is computed again fails.
///
/// It also checks that f is reproducible (bit-identical when called twice) and does not change its inputs, that strided
/// and contiguous inputs give the same results, that a second backward on a retained tape gives the same gradients, and
/// that gradients depend neither on the layout of dy nor on which other inputs are constants or are left out by
/// BackwardOptions::only. Error for float32 inputs; exceptions of f pass through.
template <class F>
GradcheckReport gradcheck(F&& f, const std::vector<Tensor>& inputs, const GradcheckOptions& options = {}) {
  auto* address = &f;
  using Pointer = decltype(address);
  const auto call = [](void* p, std::span<const Tensor> x) { return detail::call_with(**static_cast<Pointer*>(p), x); };
  return detail::gradcheck({&address, call}, std::span<const Tensor>(inputs), options);
}

}  // namespace tapegrad
