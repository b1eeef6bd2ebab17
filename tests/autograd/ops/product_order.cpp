// The one order of sums along k (blas.cpp) in linear(): a row has the same bits among any other rows.
// ctest: products families
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

TEST(ProductOrder, LongSumsAreAccurate) {
  const int64_t n = int64_t{1} << 22;
  const Tensor x = full({n}, 0.7), o = ones({n});
  const double right = x[0].item() * static_cast<double>(n);
  EXPECT_LE(std::abs(dot(x, o).item() / right - 1), 5e-6);
  EXPECT_LE(std::abs(linear(x.reshape({1, n}), o.reshape({1, n})).item() / right - 1), 5e-6);
  const InferenceMode inference;
  EXPECT_LE(std::abs(linear(x.reshape({1, n}), o.reshape({1, n})).item() / right - 1), 5e-6);
}

// linear() while a tape records, without one, and several weights at once.
TEST(ProductOrder, LinearInTrainingAndGeneration) {
  const KeepThreads keep;
  Generator draws(1);
  for (const int64_t in : {5, 64, 300, 776, 1030}) {
    for (const int64_t out : {1, 7, 16, 33, 300}) {
      const Tensor w = randn({out, in}, kFloat32, &draws), bias = randn({out}, kFloat32, &draws);
      const Tensor x = randn({40, in}, kFloat32, &draws), leaf = w.detach().as_leaf();
      Tensor all;
      {
        Tape tape;
        all = linear(x, leaf, bias).detach();
      }
      for (const int64_t rows : {1, 2, 3, 4, 5, 8, 15, 16, 17, 39}) {
        set_num_threads(static_cast<int>(rows % 4) + 1);
        const std::vector<float> expected = narrow(all, 0, 1, rows).to_vector<float>();
        const Tensor some = narrow(x, 0, 1, rows);
        EXPECT_EQ(linear(some, w, bias).to_vector<float>(), expected) << rows;
        {
          Tape tape;
          EXPECT_EQ(linear(some, leaf, bias).detach().to_vector<float>(), expected) << rows;
        }
        const InferenceMode inference;
        Tensor results[2];
        const LinearWeight both[] = {{w, {}, bias}, {w, {}, bias}};
        linear_each(some, both, results);
        for (const Tensor& y : results) EXPECT_EQ(y.to_vector<float>(), expected) << rows;
        // With one of another format, whose rows end in whole groups.
        const QuantizedMatrix eight_bits = quantize(w, weight_format("int8"));
        const Tensor none;
        const LinearWeight mixed[] = {{none, eight_bits, bias}, {w, {}, bias}};
        linear_each(some, mixed, results);
        EXPECT_EQ(results[0].to_vector<float>(), linear(some, eight_bits, bias).to_vector<float>()) << rows;
        EXPECT_EQ(results[1].to_vector<float>(), expected) << rows;
      }
    }
  }
}

}  // namespace
}  // namespace tapegrad::tests
