// Comparison of tensors with expected values, and the text of an error.
#pragma once

#include <gtest/gtest.h>
#include <tapegrad/autograd/ops.h>

#include <cmath>
#include <string>
#include <vector>

namespace tapegrad::tests {

// Expects each element within 1e-5 + 1.3e-6 |expected|, as PyTorch's assert_close for float32; NaN equals NaN.
inline void expect_near(const Tensor& x, const std::vector<double>& expected) {
  const std::vector<double> values = x.detach().to(kFloat64).contiguous().to_vector<double>();
  ASSERT_EQ(values.size(), expected.size()) << str(x.shape());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool same = values[i] == expected[i] || (std::isnan(values[i]) && std::isnan(expected[i]));
    const double room = 1e-5 + 1.3e-6 * std::abs(expected[i]);
    EXPECT_TRUE(same || std::abs(values[i] - expected[i]) <= room)
        << "at " << i << " of " << str(x.shape()) << ": " << values[i] << ", expected " << expected[i];
  }
}

inline void expect_near(const Tensor& x, const Tensor& expected) {
  EXPECT_EQ(x.shape(), expected.shape());
  expect_near(x, expected.detach().to(kFloat64).contiguous().to_vector<double>());
}

template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace tapegrad::tests
