// tapegrad's side of docs/from_libtorch.md. With the same seed, peers/libtorch.cpp prints the same losses.
#include <tapegrad/tapegrad.h>
#include <tapegrad/train.h>

#include <cstdio>
#include <iostream>

namespace tg = tapegrad;
namespace nn = tg::nn;

namespace {

struct Net {
  nn::Linear up{4, 16}, down{16, 3};
  nn::Dropout drop{0.1};
  tg::Tensor operator()(const tg::Tensor& x) const { return down(drop(tg::relu(up(x)))); }
};

const tg::Op kClipped{"clipped"};
tg::Tensor clipped(const tg::Tensor& x) {  // limited to [-1, 1], with the gradient of x itself
  return tg::custom(
      kClipped, {x}, [](const tg::Tensor& v) { return tg::clamp(v, -1, 1); },
      [](const tg::Tensor& dy) -> tg::Grads { return dy; });
}

// Classes by the signs of the first two numbers.
struct Points {
  tg::Tensor x, y;
};
Points points() {
  const tg::Tensor x = tg::randn({64, 4});
  return {x, (x(tg::all, 0) > 0).to(tg::kInt64) + (x(tg::all, 1) > 0).to(tg::kInt64)};
}

void train(Net& net, const Points& data) {
  const tg::data::DataLoader batches(tg::data::TensorDataset(data.x, data.y), {.batch_size = 16});
  tg::Generator order(1);
  tg::optim::AdamW adam(nn::parameters(net), {.lr = 0.05, .weight_decay = 0.1});
  for (int epoch = 1; epoch <= 3; ++epoch) {
    auto batch = batches.begin(order);
    double total = 0;
    while (const auto rows = batch.next()) {
      const auto& [x, y] = *rows;
      tg::Tape tape;
      const tg::Tensor loss = tg::cross_entropy(net(x), y, {.label_smoothing = 0.1});
      tg::Gradients grads = tape.backward(loss);
      tg::optim::clip_grad_norm(grads, 1.0);
      adam.step(grads);
      total += loss.item();
    }
    std::printf("epoch %d: %.4f\n", epoch, total / 4);
    adam.set_lr(adam.lr() * 0.5);
  }
}

}  // namespace

int main() {
  tg::manual_seed(0);
  Net net;
  const Points data = points();
  train(net, data);

  nn::eval(net);
  const tg::Tensor answers = tg::argmax(net(data.x), 1);  // no tape: nothing is recorded
  std::cout << tg::sum(answers == data.y).item() << " of 64 are right\n";

  tg::save_safetensors("net.safetensors", nn::state_dict(net));
  Net again;
  nn::load_state_dict(again, tg::load_safetensors("net.safetensors").tensors);
  nn::eval(again);
  std::cout << "loaded: " << (tg::bits_of(nn::state_dict(again)) == tg::bits_of(nn::state_dict(net)) ? "equal" : "not")
            << "\n";

  tg::Tensor part = data.x(tg::range(0, 2), tg::all);
  part(0) = 0;  // a new tensor in `part`; data.x has its values
  std::cout << tg::sum(part == 0).item() << " zeros, and " << tg::sum(data.x == 0).item() << "\n";

  const tg::Tensor x = tg::tensor({-2.0, 0.5}).as_leaf();
  tg::Tape tape;
  const tg::Gradients grads = tape.backward(tg::sum(clipped(x) * 3));
  std::cout << grads[x] << "\n";
}
