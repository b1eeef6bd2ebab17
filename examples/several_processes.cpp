// Trains in one process or in several, with your own loop: three lines make it data parallel. The model is
// bit-identical for any number of processes.
//
//   mpirun -n 2 several_processes OUT   writes loss.svg and model.safetensors into OUT; fails above a loss of 0.02
#include <tapegrad/distributed.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/train.h>

#include <cstdio>
#include <string>

namespace tg = tapegrad;

struct Net {
  tg::nn::Linear in{2, 128}, hidden{128, 128}, out{128, 1};
  tg::nn::Dropout dropout{0.02};
  tg::Tensor operator()(const tg::Tensor& x) const { return out(dropout(tg::tanh(hidden(tg::tanh(in(x)))))); }
};

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: several_processes OUT\n"), 2;
  const std::string out = argv[1];
  tg::manual_seed(0);
  Net net;
  tg::optim::AdamW adam(tg::nn::parameters(net), {.lr = 3e-3});
  const tg::optim::WarmupCosine rate{.lr = 3e-3, .warmup = 20, .total = 400};

  tg::drawing::Series losses{.name = "loss"};
  double loss = 0;
  const tg::distributed::World world;                                      // 1: joins the processes that mpirun started
  tg::distributed::DataParallel parallel(world, adam, {.accumulate = 4});  // 2: four batches per step, of all processes
  for (int step = 1; step <= 400; ++step) {
    adam.set_lr(rate(step));
    loss = parallel.step([&](int64_t batch) {              // 3: in place of backward and adam.step
      tg::Generator points(static_cast<uint64_t>(batch));  // the data of a batch depend on its number alone
      const tg::Tensor x = tg::uniform({64, 2}, -1, 1, tg::kFloat32, &points);
      const tg::Tensor y = tg::sin(3.0 * x.slice(1, 0, 1)) * tg::cos(2.0 * x.slice(1, 1, 2));
      return tg::mse_loss(net(x), y);
    });
    losses.add(step, loss);
  }
  if (world.rank() == 0) {
    tg::train::create_folder(out);
    tg::train::replace_file(
        out + "/loss.svg",
        tg::drawing::svg_file(draw(tg::drawing::LineChart{
            .title = "Loss", .x_label = "step", .y_label = "loss", .series = {losses}, .log_y = true})));
    tg::save_safetensors(out + "/model.safetensors", tg::nn::state_dict(net));
    std::printf("%d processes: loss %.9f (target: below 0.02)\n", world.size(), loss);
  }
  return loss < 0.02 ? 0 : 1;
}
