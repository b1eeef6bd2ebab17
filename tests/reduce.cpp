// Reductions: values, special cases, errors, derivatives.
#include <gtest/gtest.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>

namespace tg = tapegrad;

namespace {

TEST(Sum, OverAxes) {
  const tg::Tensor x = tg::arange(0, 24, 1, tg::kFloat32).reshape({2, 3, 4});
  EXPECT_EQ(tg::sum(x).item(), 276);
  EXPECT_EQ(tg::sum(x, -1).to_vector<float>(), (std::vector<float>{6, 22, 38, 54, 70, 86}));
  EXPECT_EQ(tg::sum(x, {0, 1}).to_vector<float>(), (std::vector<float>{60, 66, 72, 78}));
  EXPECT_EQ(tg::sum(x, {0, 2}).to_vector<float>(), (std::vector<float>{60, 92, 124}));
  EXPECT_EQ(tg::sum(x, 1, true).shape(), (tg::Shape{2, 1, 4}));
  EXPECT_EQ(tg::sum(x.transpose(0, 2), 0).to_vector<float>(), (std::vector<float>{6, 54, 22, 70, 38, 86}));
  EXPECT_EQ(tg::sum(tg::tensor({true, true, false})).item(), 2);
  EXPECT_EQ(tg::sum(tg::tensor({true, true, false})).dtype(), tg::kInt64);
  EXPECT_EQ(tg::sum(tg::zeros({0, 3}), 0).to_vector<float>(), (std::vector<float>{0, 0, 0}));
}

TEST(Sum, ToShape) {
  const tg::Tensor x = tg::ones({4, 2, 3});
  EXPECT_EQ(tg::sum_to(x, {2, 1}).to_vector<float>(), (std::vector<float>{12, 12}));
  EXPECT_EQ(tg::sum_to(x, {}).item(), 24);
  EXPECT_EQ(tg::sum_to(x, {4, 1, 3}).shape(), (tg::Shape{4, 1, 3}));
}

TEST(Sum, FloatOverManyElements) {
  EXPECT_NEAR(tg::sum(tg::full({10'000'000}, 0.1)).item(), 1e6, 1.0);
  const tg::Tensor columns = tg::sum(tg::full({1'000'000, 3}, 0.1), 0);
  for (float v : columns.to_vector<float>()) EXPECT_NEAR(v, 1e5, 0.1);
}

}  // namespace
