// A user's tests: gradient checks of a module and of a function, by GoogleTest.
#include <tapegrad/nn/gradcheck_gtest.h>
#include <tapegrad/tapegrad.h>

namespace tg = tapegrad;

struct Mlp {
  tg::nn::Linear up, down;
  explicit Mlp(int64_t dim) : up(dim, 2 * dim), down(2 * dim, dim) {}
  tg::Tensor operator()(const tg::Tensor& x) const { return x + down(tg::gelu(up(x))); }
  void visit(auto&& field) {
    field("up", up);
    field("down", down);
  }
};

TEST(Mlp, Gradients) { EXPECT_TRUE(tg::nn::gradients_match(Mlp(2), {tg::randn({3, 2})})); }

TEST(Functions, Gradients) {
  EXPECT_TRUE(tg::gradients_match([](const tg::Tensor& x) { return tg::tanh(x); }, {tg::randn({3}, tg::kFloat64)}));
  EXPECT_TRUE(tg::gradients_match([](const tg::Tensor& x) { return tg::relu(x); }, {tg::zeros({3}, tg::kFloat64)}));
  EXPECT_FALSE(tg::gradients_match([](const tg::Tensor& x) { return x * x.detach(); }, {tg::ones({3}, tg::kFloat64)}));
}
