// Comparison of tensors with expected values, and of the texts of errors.
#pragma once

#include <gtest/gtest.h>
#include <tapegrad/autograd/ops.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace tapegrad::tests {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

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

struct WrongCall {
  const char* text;
  std::function<void()> call;
};

inline void expect_texts(const std::vector<WrongCall>& calls) {
  for (const WrongCall& wrong : calls) EXPECT_EQ(error_of(wrong.call), wrong.text);
}

}  // namespace tapegrad::tests
