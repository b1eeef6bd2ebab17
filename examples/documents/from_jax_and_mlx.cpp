// tapegrad's side of docs/from_jax_and_mlx.md.
#include <tapegrad/tapegrad.h>

#include <cstdio>
#include <iostream>

namespace tg = tapegrad;
namespace nn = tg::nn;

namespace {

void functions() {
  const auto f = [](const tg::Tensor& x) { return tg::sum(tg::sin(x) * x); };
  const tg::Tensor x = tg::tensor({0.5, 1.0});
  const auto [value, dx] = tg::value_and_grad(f)(x);
  const tg::Tensor second = tg::hessian(f, x);
  const auto along = tg::jvp(f, x, tg::tensor({1.0, 0.0}));
  std::cout << value.item() << " " << dx << "\n" << second << "\n" << along.product.item() << "\n";
}

void rows() {
  tg::manual_seed(0);
  const nn::Linear map(3, 2);
  const auto f = [&](const tg::Tensor& x) { return tg::tanh(map(x)); };   // [B, 3] -> [B, 2]: written for batches
  const tg::Tensor jacobians = tg::batch_jacobian(f, tg::randn({5, 3}));  // [5, 2, 3]
  std::cout << "jacobians " << str(jacobians.shape()) << "\n";
}

struct Mlp {
  nn::Linear up{3, 8}, down{8, 1};
  tg::Tensor operator()(const tg::Tensor& x) const { return down(tg::tanh(up(x))); }
};

void parameters() {
  tg::manual_seed(0);
  Mlp model;
  const tg::Tensor x = tg::randn({4, 3}), y = tg::randn({4, 1});
  const auto loss = [&](const Mlp& m) { return tg::mse_loss(m(x), y); };
  const auto [value, grads] = nn::value_and_grad(model, loss);  // one tensor per parameter
  std::vector<tg::Tensor> moved;
  for (std::size_t i = 0; const auto& [name, tensor] : nn::state_dict(model))
    moved.push_back(tensor - 0.1 * grads[i++]);
  const tg::Tensor later = nn::functional_call(model, moved, loss);  // the model keeps its own values
  std::printf("loss %.4f, one step later %.4f\n", value.item(), later.item());

  tg::Tape tape;
  const tg::Tensor losses = tg::mean(tg::square(model(x) - y), 1);  // [4]
  const tg::Gradients each = tape.backward(losses, {.per_example = true});
  std::cout << "gradients of up.weight " << str(each[model.up.weight].shape()) << "\n";
}

void random_numbers() {
  tg::Generator first(1), second(2);
  const tg::Tensor a = tg::randn({2}, tg::kFloat32, &first), b = tg::randn({2}, tg::kFloat32, &second);
  tg::Generator copy = first;  // from here both sample the same numbers
  const bool equal = tg::sum(tg::rand({8}, tg::kFloat32, &copy) == tg::rand({8}, tg::kFloat32, &first)).item() == 8;
  std::cout << "random " << str((a + b).shape()) << ", copies draw " << (equal ? "the same" : "other numbers") << "\n";
}

void fused() {
  const tg::Tensor x = tg::tensor({-1.0, 0.0, 2.0}).as_leaf();
  tg::Tape tape;
  const tg::Tensor y = tg::fuse([](auto v) { return v / (1 + exp(-1.5 * v)); }, x);  // one pass over memory
  std::cout << "fused " << tape.backward(tg::sum(y))[x] << "\n";
}

void scan() {
  const tg::Tensor decay = tg::full({5}, 0.5), input = tg::ones({5});
  const tg::Tensor state = tg::linear_scan(decay, input, 0);  // h[t] = decay[t] h[t-1] + input[t]
  std::cout << "scan " << state << "\n";
}

}  // namespace

int main() {
  functions();
  rows();
  parameters();
  random_numbers();
  fused();
  scan();
}
