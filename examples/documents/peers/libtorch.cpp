// LibTorch's side of docs/from_libtorch.md. With the same seed, ../from_libtorch.cpp prints the same losses. By hand:
//   root=$(python3 -c 'import torch, os; print(os.path.dirname(torch.__file__))')
//   g++ -std=c++20 -I$root/include -I$root/include/torch/csrc/api/include examples/documents/peers/libtorch.cpp
//     -o libtorch -L$root/lib -Wl,-rpath,$root/lib -ltorch -ltorch_cpu -lc10 && ./libtorch
#include <torch/torch.h>

#include <cstdio>
#include <iostream>

struct NetImpl : torch::nn::Module {
  torch::nn::Linear up{nullptr}, down{nullptr};
  torch::nn::Dropout drop{nullptr};
  NetImpl() {
    up = register_module("up", torch::nn::Linear(4, 16));
    down = register_module("down", torch::nn::Linear(16, 3));
    drop = register_module("drop", torch::nn::Dropout(0.1));
  }
  torch::Tensor forward(torch::Tensor x) { return down(drop(torch::relu(up(x)))); }
};
TORCH_MODULE(Net);

struct Clipped : torch::autograd::Function<Clipped> {
  static torch::Tensor forward(torch::autograd::AutogradContext*, torch::Tensor x) { return x.clamp(-1, 1); }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*, torch::autograd::variable_list dy) {
    return {dy[0]};
  }
};

struct Points : torch::data::Dataset<Points> {
  torch::Tensor x, y;
  torch::data::Example<> get(size_t i) override { return {x[i], y[i]}; }
  torch::optional<size_t> size() const override { return x.size(0); }
};

int main() {
  torch::manual_seed(0);
  Net net;
  Points points;
  points.x = torch::randn({64, 4});
  points.y = (points.x.select(1, 0) > 0).to(torch::kInt64) + (points.x.select(1, 1) > 0).to(torch::kInt64);
  namespace F = torch::nn::functional;
  auto batches = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
      points.map(torch::data::transforms::Stack<>()), torch::data::DataLoaderOptions(16));
  torch::optim::AdamW adam(net->parameters(), torch::optim::AdamWOptions(0.05).weight_decay(0.1));
  for (int epoch = 1; epoch <= 3; ++epoch) {
    double total = 0;
    for (auto& batch : *batches) {
      adam.zero_grad();
      auto loss = F::cross_entropy(net(batch.data), batch.target, F::CrossEntropyFuncOptions().label_smoothing(0.1));
      loss.backward();
      torch::nn::utils::clip_grad_norm_(net->parameters(), 1.0);
      adam.step();
      total += loss.item<double>();
    }
    std::printf("epoch %d: %.4f\n", epoch, total / 4);
    for (auto& group : adam.param_groups())
      static_cast<torch::optim::AdamWOptions&>(group.options()).lr(0.05 * std::pow(0.5, epoch));
  }

  net->eval();
  torch::NoGradGuard no_grad;
  auto answers = net(points.x).argmax(1);
  std::cout << answers.eq(points.y).sum().item<int64_t>() << " of 64 are right\n";

  torch::save(net, "net.pt");
  Net again;
  torch::load(again, "net.pt");
  again->eval();
  std::cout << "loaded: " << (torch::equal(again(points.x), net(points.x)) ? "equal" : "not") << "\n";

  using torch::indexing::Slice;
  auto part = points.x.index({Slice(0, 2), Slice()});
  part.index_put_({0}, 0);  // points.x changes, too: part is a view of it
  std::cout << part.eq(0).sum().item<int64_t>() << " zeros, and " << points.x.eq(0).sum().item<int64_t>() << "\n";

  torch::AutoGradMode grad_mode(true);
  auto x = torch::tensor({-2.0, 0.5}, torch::requires_grad());
  (Clipped::apply(x) * 3).sum().backward();
  std::cout << x.grad() << "\n";
}
