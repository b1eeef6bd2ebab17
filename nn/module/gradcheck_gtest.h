// Gradient checks as GoogleTest assertions, for tests of your own modules and functions.
//
//   TEST(Mlp, Gradients) { EXPECT_TRUE(nn::gradients_match(Mlp(4), {randn({2, 4})})); }
//
// <tapegrad/tapegrad.h> does not include this header, because it needs <gtest/gtest.h>.
#pragma once

#include <gtest/gtest.h>
#include <tapegrad/autograd/gradcheck.h>
#include <tapegrad/nn/gradcheck.h>

#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapegrad {

namespace detail {

inline testing::AssertionResult assertion(const GradcheckReport& report) {
  if (report) {
    testing::AssertionResult success = testing::AssertionSuccess() << "all " << report.entries << " derivatives match";
    if (report.undecidable > 0) success << ", " << report.undecidable << " of them undecidable: " << report.note;
    return success;
  }
  return testing::AssertionFailure() << report.text;
}

template <class F>
concept IsModule = nn::detail::NamesItsMembers<F> || nn::detail::PlainModule<F>;

}  // namespace detail

/// Success if gradcheck(f, inputs, options) passes; a failure prints the entry with the largest error.
template <class F>
requires(!detail::IsModule<std::remove_reference_t<F>>) testing::AssertionResult
    gradients_match(F&& f, const std::vector<Tensor>& inputs, const GradcheckOptions& options = {}) {
  return detail::assertion(gradcheck(f, inputs, options));
}

}  // namespace tapegrad

namespace tapegrad::nn {

/// The same for nn::gradcheck of model(inputs[0], ...), with respect to all parameters and floating inputs.
template <class Model>
testing::AssertionResult gradients_match(const Model& model, const std::vector<Tensor>& inputs,
                                         const ModuleGradcheckOptions& options = {}) {
  return tapegrad::detail::assertion(gradcheck(model, inputs, options));
}

/// The same for call(model, inputs).
template <class Model, class Call>
requires std::is_invocable_r_v<Tensor, Call&, Model&, std::span<const Tensor>> testing::AssertionResult gradients_match(
    const Model& model, const std::vector<Tensor>& inputs, Call call, const ModuleGradcheckOptions& options = {}) {
  return tapegrad::detail::assertion(gradcheck(model, inputs, std::move(call), options));
}

}  // namespace tapegrad::nn
