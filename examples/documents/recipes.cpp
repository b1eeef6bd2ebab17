// The second half of the recipes of docs/howto.md.
#include <tapegrad/distributed.h>
#include <tapegrad/nn/gradcheck.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/train.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <span>
#include <string>

namespace tg = tapegrad;
namespace nn = tg::nn;

namespace {

struct Net {
  nn::Linear in{2, 8}, out{8, 2};
  tg::Tensor operator()(const tg::Tensor& x) const { return out(tg::tanh(in(x))); }
};

void stop_early() {
  tg::manual_seed(1);
  const tg::Tensor x = tg::randn({64, 2}), y = tg::randint(0, 2, {64});
  const tg::Tensor unseen = tg::randn({64, 2}), its_y = tg::randint(0, 2, {64});
  Net net;
  tg::optim::Adam adam(nn::parameters(net), {.lr = 0.1});
  const tg::data::DataLoader batches(tg::data::TensorDataset(x, y), {.batch_size = 16, .shuffle = true});
  const auto loss_of = [&](const auto& batch) -> tg::train::BatchLoss {
    const auto& [x, y] = batch;
    return {.loss = tg::cross_entropy(net(x), y), .tokens = x.size(0)};
  };
  const auto evaluate = [&] { return tg::train::Evaluation{tg::cross_entropy(net(unseen), its_y).item()}; };
  tg::train::Loop loop(net, adam, batches, loss_of,
                       {.epochs = 100, .evaluate = evaluate, .evaluate_every = 4, .patience = 3});
  loop.run({.folder = "run", .keep_best = true, .progress = false});
  nn::load_state_dict(net, tg::load_safetensors("run/best.safetensors").tensors);
  std::cout << "stop early: the best model again: "
            << (evaluate().validation == loop.best().validation ? "the same loss" : "another loss") << "\n";
}

void change_rate() {
  Net net;
  const auto loss = [&] { return tg::mean(tg::square(net(tg::ones({4, 2})))); };
  tg::optim::Adam adam(nn::parameters(net), {.lr = 1e-3});
  const tg::optim::WarmupCosine rate{.lr = 1e-3, .warmup = 10, .total = 100};
  for (int64_t step = 1; step <= 100; ++step) {
    adam.set_lr(rate(step));
    tg::Tape tape;
    adam.step(tape.backward(loss()));
  }
  std::printf("rates: %.4f, %.4f, %.6f\n", rate(1), rate(10), rate(99));
}

struct Tied {
  nn::Embedding table{10, 4};
  nn::Linear head{4, 10, /*bias=*/false};
  Tied() { tie(table.weight, head.weight); }  // one leaf from now on, with the values of the first one
  void visit(auto&& field) { field("table", table), field("head", head); }
  tg::Tensor operator()(const tg::Tensor& ids) const { return head(table(ids)); }
};

void tied() {
  const Tied model;
  std::cout << "tied: " << nn::parameters(model).size() << " parameter, output "
            << tg::str(model(tg::tensor({1, 2})).shape()) << "\n";
}

void recompute() {
  Net net;
  tg::optim::Adam adam(nn::parameters(net), {.lr = 1e-3});
  const tg::Tensor x = tg::ones({4, 2}), y = tg::tensor({0, 1, 0, 1});
  tg::Tape tape;
  const tg::Tensor hidden = nn::recompute(x, [&](const tg::Tensor& x) { return tg::tanh(net.in(x)); });
  adam.step(tape.backward(tg::cross_entropy(net.out(hidden), y)));  // backward computes the tanh again
}

void find_nan() {
  const tg::Tensor w = tg::tensor({1.0, 0.0}).as_leaf();
  try {
    tg::Tape tape;
    tape.trap_nan();  // stops at the first value or gradient that is not finite, and names its operation
    const tg::Tensor loss = tg::mean(tg::log(w));
  } catch (const tg::Error& error) {
    std::cout << error.what() << "\n";
  }
}

void no_gradient() {
  Net net;
  tg::optim::SGD sgd(nn::parameters(net), {.lr = 0.1});
  try {
    tg::Tape tape;
    sgd.step(tape.backward(tg::sum(net.in(tg::ones({1, 2})))));  // net.out took no part
  } catch (const tg::Error& error) {
    std::cout << error.what() << "\n";
  }
}

struct SignDescent {  // p -= lr sign(dp)
  std::vector<nn::Parameter*> parameters;
  double lr = 0.01;
  void step(const tg::Gradients& grads) const {
    for (nn::Parameter* p : parameters) p->set(p->tensor().detach() - lr * tg::sign(grads[*p]));
  }
};

void own_optimiser() {
  tg::manual_seed(1);
  Net net;
  const SignDescent descent{{&net.in.weight, &net.in.bias, &net.out.weight, &net.out.bias}};
  const auto loss = [&] { return tg::mean(tg::square(net(tg::ones({4, 2})))); };
  const double before = loss().item();
  for (int step = 0; step < 20; ++step) {
    tg::Gradients grads;
    {
      tg::Tape tape;
      grads = tape.backward(loss());
    }  // the tape has ended: parameters may change
    descent.step(grads);
  }
  std::cout << "own optimiser: the loss " << (loss().item() < before ? "falls" : "rises") << "\n";
}

void rare_examples() {
  tg::manual_seed(1);
  const tg::Tensor x = tg::randn({100, 2}), y = (tg::arange(100) >= 90).to(tg::kInt64);
  // The first 90 examples are of class 0, the last 10 of class 1, which an epoch has nine times.
  const tg::data::DataLoader loader(tg::data::TensorDataset(x, y),
                                    {.batch_size = 180, .sampler = tg::data::mixed({90, 10}, {1, 9})});
  const auto [inputs, classes] = *loader.begin().next();
  std::cout << "of class 1: " << tg::sum(classes).item<int64_t>() << " of " << classes.size(0) << "\n";
}

void batches_of_my_own() {
  const tg::Tensor x = tg::randn({10, 2}), y = tg::arange(10);
  // Examples are pairs of tensors here; a batch is whatever the function returns.
  const auto centred = [](std::span<const std::pair<tg::Tensor, tg::Tensor>> examples) {
    std::vector<tg::Tensor> inputs;
    for (const auto& [input, label] : examples) inputs.push_back(input - tg::mean(input));
    return tg::stack(inputs);
  };
  const tg::data::DataLoader loader(tg::data::TensorDataset(x, y), {.batch_size = 4}, centred);
  std::cout << "own batches: " << tg::str(loader.begin().next()->shape()) << "\n";
}

void watch() {
  tg::train::EventWriter events("events.out.tfevents.1");  // tensorboard --logdir .
  tg::drawing::Series curve{.name = "loss"};
  for (int64_t step = 1; step <= 50; ++step) {
    const double loss = 1.0 / static_cast<double>(step);
    events.add_scalar("loss", loss, step);
    curve.add(static_cast<double>(step), loss);
  }
  std::ofstream("loss.svg") << tg::drawing::svg_file(
      draw(tg::drawing::LineChart{.title = "Loss", .x_label = "step", .series = {curve}, .log_y = true}));
}

void parameter_groups() {
  Net net;
  tg::NamedTensors matrices, others;
  for (const auto& p : nn::parameters(net)) (p.tensor.dim() > 1 ? matrices : others).push_back(p);
  tg::optim::AdamW adam({{.parameters = matrices, .weight_decay = 0.1}, {.parameters = others, .weight_decay = 0}},
                        {.lr = 1e-3});
  std::cout << "groups: " << adam.parameters().size() << " parameters\n";
}

void count() {
  Net net;
  std::cout << nn::summary(net, {tg::ones({4, 2})});
}

void processes() {
  tg::manual_seed(1);
  const tg::Tensor x = tg::randn({40, 2}), y = (x(tg::all, 0) > 0).to(tg::kInt64);
  const tg::data::DataLoader batches(tg::data::TensorDataset(x, y), {.batch_size = 5, .shuffle = true});
  const auto loss_of = [](const Net& net, const auto& batch) {
    return tg::train::BatchLoss{.loss = tg::cross_entropy(net(batch.first), batch.second)};
  };
  const tg::distributed::World world;  // joins the processes that mpirun started; alone without mpirun
  tg::manual_seed(0);
  Net net;
  tg::optim::Adam adam(nn::parameters(net), {.lr = 0.01});
  tg::train::Loop loop(net, adam, batches, [&](const auto& batch) { return loss_of(net, batch); },
                       {.epochs = 20, .accumulate = 4, .world = &world});  // four batches per step, of all processes
  loop.run({.folder = "several", .progress = false});                      // rank 0 prints, and writes the files
}

}  // namespace

int main() {
  stop_early();
  change_rate();
  tied();
  recompute();
  find_nan();
  no_gradient();
  own_optimiser();
  rare_examples();
  batches_of_my_own();
  std::fflush(stdout);
  watch();
  parameter_groups();
  count();
  processes();
}
