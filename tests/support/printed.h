// Comparison with numbers as a tutorial prints them: digit by digit, without a tolerance.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <tapegrad/autograd/tensor.h>

#include <sstream>
#include <string>
#include <vector>

namespace tapegrad::tests {

// Expects the elements of x in row-major order, each formatted by `format` ("{:.2f}"), to be the words of `figures`.
// Brackets, commas and line breaks in `figures` are ignored.
inline void expect_prints(const Tensor& x, const std::string& format, std::string figures) {
  for (char& c : figures) {
    if (c == '[' || c == ']' || c == ',') c = ' ';
  }
  std::istringstream in(figures);
  std::vector<std::string> expected, printed;
  for (std::string word; in >> word;) expected.push_back(word);
  for (const double value : x.detach().to(kFloat64).to_vector<double>())
    printed.push_back(fmt::format(fmt::runtime(format), value));
  EXPECT_EQ(printed, expected) << "of " << str(x.shape());
}

}  // namespace tapegrad::tests
