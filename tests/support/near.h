// Comparison of tensors with expected values, and of the texts of errors.
#pragma once

#include <gtest/gtest.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tests/support/limits.h>

#include <cmath>
#include <concepts>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <string>
#include <type_traits>
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

// Equal shape, type and bits.
inline bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = a.detach().contiguous(), y = b.detach().contiguous();
  return x.shape() == y.shape() && x.dtype() == y.dtype() &&
         std::memcmp(x.raw_data(), y.raw_data(), static_cast<std::size_t>(x.numel() * item_size(x.dtype()))) == 0;
}

// Expects that results(setting), a list of tensors, has the same bits for each of the settings.
template <class Results, class Setting>
void expect_same_results(const Results& results, std::initializer_list<Setting> settings) {
  std::vector<Tensor> first;
  for (const Setting& setting : settings) {
    const std::vector<Tensor> found = results(setting);
    if (first.empty()) first = found;
    ASSERT_EQ(found.size(), first.size());
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_TRUE(same_bits(found[i], first[i])) << "result " << i << " with " << setting;
  }
}

// The largest |a - b|, which must have equal shapes; 0 of no elements.
inline double largest_difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(str(a.shape()), str(b.shape()));
  return a.numel() == 0 ? 0 : amax(abs(a.detach() - b.detach())).item();
}

// Expects equal shapes and types, and elements within tolerance (1 + |expected|).
inline void expect_within(const Tensor& x, const Tensor& expected, double tolerance = 1e-12) {
  ASSERT_EQ(str(x.shape()), str(expected.shape()));
  ASSERT_EQ(x.dtype(), expected.dtype());
  EXPECT_TRUE(allclose(x, expected, tolerance, tolerance)) << largest_difference(x, expected);
}

// Numbers between -2 and 2 without ties, float64.
inline Tensor without_ties(const Shape& shape, double step = 0.37) {
  const Tensor x = Tensor::empty(shape, kFloat64);
  for (int64_t i = 0; i < x.numel(); ++i)
    x.mutable_data<double>()[i] = std::sin(step * static_cast<double>(7 * i + 3)) * 2;
  return x;
}

// A call of a function that outlives it. (A std::function, and a template with a handler, take much longer to compile.)
class FunctionRef {
 public:
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, FunctionRef>) FunctionRef(F&& f)
      : f_(&f), call_([](const void* g) { (*static_cast<Function<F>*>(const_cast<void*>(g)))(); }) {}
  void operator()() const { call_(f_); }

 private:
  template <class F>
  using Function = std::remove_reference_t<F>;
  const void* f_;
  void (*call_)(const void*);
};

inline std::string error_of(FunctionRef f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

struct WrongCall {
  std::string text;
  std::function<void()> call;
};

inline void expect_texts(const std::vector<WrongCall>& calls) {
  for (const WrongCall& wrong : calls) EXPECT_EQ(error_of(wrong.call), wrong.text);
}

// Expects that the text has each of these parts.
inline void expect_parts(const std::string& text, const std::vector<std::string>& parts,
                         const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  for (const std::string& part : parts) {
    if (text.find(part) == std::string::npos) ADD_FAILURE_AT(file, line) << '"' << part << "\" is not in\n" << text;
  }
}

}  // namespace tapegrad::tests
