// The second program of docs/start.md: a table, a model of your own, and a training loop written by hand.
// arguments: {source}/leaves.csv
#include <tapegrad/tapegrad.h>
#include <tapegrad/train.h>

#include <cstdio>

namespace tg = tapegrad;
namespace nn = tg::nn;

struct Net {
  nn::Linear in{3, 16}, out{16, 3};
  tg::Tensor operator()(const tg::Tensor& x) const { return out(tg::relu(in(x))); }
};

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: start_2_model leaves.csv\n"), 2;
  const tg::data::Csv leaves(argv[1], {tg::data::numbers("length"), tg::data::numbers("width"),
                                       tg::data::numbers("stem", {.missing = 2}), tg::data::classes("kind")});
  const auto rows = leaves.dataset({"length", "width", "stem"}, "kind");
  std::printf("%lld leaves: %s, %s, %s\n", static_cast<long long>(rows.size()), leaves.names("kind")[0].c_str(),
              leaves.names("kind")[1].c_str(), leaves.names("kind")[2].c_str());

  tg::manual_seed(0);
  const auto parts = tg::data::random_split(rows, std::vector<int64_t>{120, 30});
  const tg::data::DataLoader training(parts[0], {.batch_size = 20, .shuffle = true});
  Net net;
  tg::optim::Adam adam(nn::parameters(net), {.lr = 0.01});
  for (int epoch = 1; epoch <= 60; ++epoch) {
    double total = 0;
    for (const auto& [x, y] : training.epoch()) {
      tg::Tape tape;
      const tg::Tensor loss = tg::cross_entropy(net(x), y);
      adam.step(tape.backward(loss));
      total += loss.item() / static_cast<double>(training.size());
    }
    if (epoch % 20 == 0) std::printf("epoch %d: loss %.3f\n", epoch, total);
  }

  const tg::data::DataLoader test(parts[1], {.batch_size = 30});
  const auto [x, y] = *test.begin().next();  // no tape: nothing is recorded
  const tg::Tensor right = tg::argmax(net(x), -1) == y;
  std::printf("%d of 30 unseen leaves are right\n", static_cast<int>(tg::sum(right).item()));
  tg::save_safetensors("leaves.safetensors", nn::state_dict(net));
}
