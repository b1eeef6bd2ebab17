// Tutorial 004, attention step by step: the printed numbers directly from the random stream, without tensors or
// modules.
#include <gtest/gtest.h>
#include <tapegrad/autograd/random.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

namespace tapegrad {
namespace {

// The six words of the example, one per row.
constexpr double kInputs[6][3] = {{0.43, 0.15, 0.89}, {0.55, 0.87, 0.66}, {0.57, 0.85, 0.64},
                                  {0.22, 0.58, 0.33}, {0.77, 0.25, 0.10}, {0.05, 0.80, 0.55}};

TEST(Tutorial004, Cells16To24DrawsOfTheSecondWordSeed123) {
  Generator g(123);
  float query_weight[3][2], key_weight[3][2];
  g.uniform(query_weight[0], 6);
  g.uniform(key_weight[0], 6);
  double query[2] = {}, key[2] = {};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 2; ++j) {
      query[j] += kInputs[1][i] * query_weight[i][j];
      key[j] += kInputs[1][i] * key_weight[i][j];
    }
  }
  EXPECT_NEAR(query[0], 0.43063694, 1e-6);
  EXPECT_NEAR(query[1], 1.4550582, 1e-6);
  EXPECT_NEAR(query[0] * key[0] + query[1] * key[1], 1.8523844, 1e-6);
}

TEST(Tutorial004, Cells35And36DropoutMaskSeed123) {
  Generator g(123);
  uint8_t keep[36];
  g.keep_mask(keep, 36, 0.5);
  std::string rows;
  for (const uint8_t k : keep) rows += k ? '2' : '0';
  EXPECT_EQ(rows, "220220000202222202022002020202022220");
}

TEST(Tutorial004, Cell27DrawsOfThreeLinearLayersSeed789) {
  Generator g(789);
  const double bound = 1 / std::sqrt(3.0);
  float weight[3][2][3];  // query, key, value, each [out, in]
  for (auto& w : weight) g.uniform(w[0], 6, -bound, bound);
  double projected[3][6][2] = {};
  for (int m = 0; m < 3; ++m) {
    for (int t = 0; t < 6; ++t) {
      for (int j = 0; j < 2; ++j) {
        for (int i = 0; i < 3; ++i) projected[m][t][j] += kInputs[t][i] * weight[m][j][i];
      }
    }
  }
  const double printed[6][2] = {{-0.0739, 0.0713}, {-0.0748, 0.0703}, {-0.0749, 0.0702},
                                {-0.0760, 0.0685}, {-0.0763, 0.0679}, {-0.0754, 0.0693}};
  for (int t = 0; t < 6; ++t) {
    double sum = 0, context[2] = {};
    for (int s = 0; s < 6; ++s) {
      const auto& [q, k] = std::pair(projected[0][t], projected[1][s]);
      const double e = std::exp((q[0] * k[0] + q[1] * k[1]) / std::sqrt(2.0));
      sum += e;
      for (int j = 0; j < 2; ++j) context[j] += e * projected[2][s][j];
    }
    for (int j = 0; j < 2; ++j) EXPECT_NEAR(context[j] / sum, printed[t][j], 5e-5) << "word " << t;
  }
}

}  // namespace
}  // namespace tapegrad
