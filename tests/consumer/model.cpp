// A user's program: a model, a custom operation, and training steps.
#include <tapegrad/tapegrad.h>

#include <cmath>
#include <cstdio>

namespace tg = tapegrad;

struct Mlp {
  tg::nn::Linear up, down;
  explicit Mlp(int64_t dim) : up(dim, 4 * dim), down(4 * dim, dim) {}
  tg::Tensor operator()(const tg::Tensor& x) const { return x + down(tg::gelu(up(x))); }
  void visit(auto&& field) {
    field("up", up);
    field("down", down);
  }
};

const tg::Op kCube{"cube"};
tg::Tensor cube(const tg::Tensor& x) {
  // d(x^3)/dx = 3 x^2
  return tg::custom(
      kCube, {x}, [](const tg::Tensor& in) { return in * in * in; },
      [x](const tg::Tensor& dy) -> tg::Grads { return dy * 3.0 * x * x; });
}

int main() {
  tg::manual_seed(0);
  Mlp model(8);
  tg::optim::Adam adam(tg::nn::parameters(model), {.lr = 1e-2});
  const tg::Tensor x = tg::randn({16, 8}), y = cube(x) * 0.1;
  double first = 0, last = 0;
  for (int step = 0; step < 200; ++step) {
    tg::Tape tape;
    const tg::Tensor loss = tg::mse_loss(cube(model(x)) * 0.1, y);
    last = loss.item();
    if (step == 0) first = last;
    tg::Gradients grads = tape.backward(loss);
    tg::optim::clip_grad_norm(grads, 1.0);
    adam.step(grads);
  }
  std::printf("loss %.4f, then %.4f\n", first, last);
  return std::isfinite(last) && last < first / 10 ? 0 : 1;
}
