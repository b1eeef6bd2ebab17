// The fourth program of docs/start.md: the same training as a Loop, with checkpoints, a report and a profile.
// arguments: {source}/leaves.csv
#include <tapegrad/tapegrad.h>
#include <tapegrad/train.h>

#include <cstdio>
#include <iostream>
#include <string_view>

namespace tg = tapegrad;
namespace nn = tg::nn;

struct Net {
  nn::Linear in{3, 16}, out{16, 3};
  tg::Tensor operator()(const tg::Tensor& x) const { return out(tg::relu(in(x))); }
};

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: start_4_loop leaves.csv [--resume]\n"), 2;
  const tg::data::Csv leaves(argv[1], {tg::data::numbers("length"), tg::data::numbers("width"),
                                       tg::data::numbers("stem", {.missing = 2}), tg::data::classes("kind")});
  tg::manual_seed(0);
  const auto parts =
      tg::data::random_split(leaves.dataset({"length", "width", "stem"}, "kind"), std::vector<int64_t>{120, 30});
  const tg::data::DataLoader training(parts[0], {.batch_size = 20, .shuffle = true});
  const tg::data::DataLoader test(parts[1], {.batch_size = 30});
  Net net;
  tg::optim::Adam adam(nn::parameters(net), {.lr = 0.01});

  const auto loss_of = [&](const auto& batch) -> tg::train::BatchLoss {
    const auto& [x, y] = batch;
    return {.loss = tg::cross_entropy(net(x), y), .tokens = x.size(0)};
  };
  tg::train::Loop loop(net, adam, training, loss_of,
                       {.epochs = 60,
                        .schedule = tg::optim::WarmupCosine{.lr = 0.01, .warmup = 20, .total = 360},
                        .evaluate = [&] { return tg::train::Evaluation{loss_of(*test.begin().next()).loss.item()}; },
                        .evaluate_every = 60});
  const bool resume = argc > 2 && argv[2] == std::string_view("--resume");
  loop.run({.folder = "run", .resume = resume, .keep_best = true, .report = {.unit = "leaves"}});
  std::printf("best loss of unseen leaves %.3f\n", loop.best().validation);
  std::printf("bits %s\n", tg::bits_of(nn::state_dict(net)).c_str());

  tg::Profiler profiler;  // until the end of its block
  {
    tg::Tape tape;
    const auto batch = *training.begin().next();
    static_cast<void>(tape.backward(loss_of(batch).loss));
  }
  std::cerr << profiler.report();
}
