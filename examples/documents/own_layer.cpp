// Your own layer, with parameters, a buffer and an initialiser: docs/modules.md.
#include <tapegrad/nn/gradcheck.h>
#include <tapegrad/tapegrad.h>

#include <cstdio>
#include <iostream>

namespace tg = tapegrad;
namespace nn = tg::nn;

namespace {

// [layer]
// A linear layer whose output i sees the inputs 0 to i only: x [B, in] -> [B, out].
struct MaskedLinear {
  nn::Parameter weight, bias;  // trained
  nn::Buffer mask;             // saved with the model, not trained

  MaskedLinear(int64_t in, int64_t out)
      : weight(tg::zeros({out, in})), bias(tg::zeros({out})), mask(tg::tril(tg::ones({out, in}))) {
    nn::init::xavier_uniform(weight);
  }
  tg::Tensor operator()(const tg::Tensor& x) const { return tg::linear(x, weight * mask, bias); }
  void visit(auto&& field) {
    field("weight", weight);
    field("bias", bias);
    field("mask", mask);
  }
};
// [/layer]

void used() {
  // [used]
  tg::manual_seed(0);
  MaskedLinear layer(3, 3);
  for (const auto& [name, tensor] : nn::state_dict(layer)) std::cout << name << " " << str(tensor.shape()) << "\n";
  std::cout << "trained: " << nn::count_parameters(layer) << " numbers\n";
  const tg::GradcheckReport report = nn::gradcheck(layer, {tg::randn({2, 3})}, {.gradcheck = {.order = 2}});
  std::cout << (report.ok ? "gradients: right" : report.text) << "\n";
  // [/used]
}

// [nested]
struct Net {
  MaskedLinear first{3, 8};
  nn::Dropout dropout{0.1};
  MaskedLinear second{8, 2};
  tg::Tensor operator()(const tg::Tensor& x) const { return second(dropout(tg::relu(first(x)))); }
};
// [/nested]

void nested() {
  // [nested use]
  Net net;
  tg::optim::AdamW adam(nn::parameters(net), {.lr = 1e-2});
  const tg::Tensor x = tg::randn({32, 3}), y = tg::relu(tg::cumsum(x, 1)(tg::all, tg::range(0, 2)));
  for (int step = 0; step <= 200; ++step) {
    tg::Tape tape;
    const tg::Tensor loss = tg::mse_loss(net(x), y);
    if (step % 100 == 0) std::printf("step %3d: loss %.2f\n", step, loss.item());
    adam.step(tape.backward(loss));
  }
  // [/nested use]
}

}  // namespace

int main() {
  used();
  std::cout << std::flush;
  nested();
}
