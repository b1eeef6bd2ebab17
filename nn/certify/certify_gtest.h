// Certificates as GoogleTest assertions, for tests of your own models:
// EXPECT_TRUE(nn::gradients_certified(net, loss, {x, y})).
//
// <tapegrad/tapegrad.h> does not include this header, because it needs <gtest/gtest.h>.
#pragma once

#include <gtest/gtest.h>
#include <tapegrad/nn/certify.h>

#include <utility>
#include <vector>

namespace tapegrad::nn {

/// Success if no check of nn::certify is wrong; a failure prints the page.
template <class Model, class Loss>
testing::AssertionResult gradients_certified(const Model& model, Loss loss, const std::vector<Tensor>& batch,
                                             const CertifyOptions& options = {}) {
  const Certificate page = certify(model, std::move(loss), batch, options);
  return (page ? testing::AssertionSuccess() : testing::AssertionFailure()) << page.summary() << "\n" << page.text();
}

}  // namespace tapegrad::nn
