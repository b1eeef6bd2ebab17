// The program of docs/files.md: writes a file of each format, which the page's Python lines open.
#include <tapegrad/tapegrad.h>
#include <tapegrad/train.h>

#include <fstream>
#include <iostream>

namespace tg = tapegrad;
namespace nn = tg::nn;

namespace {

struct Net {
  nn::Linear in{3, 8}, out{8, 2};
  tg::Tensor operator()(const tg::Tensor& x) const { return out(tg::tanh(in(x))); }
};

void write_run() {
  tg::manual_seed(0);
  const tg::Tensor x = tg::randn({20, 3});
  const tg::data::DataLoader loader(tg::data::TensorDataset(x, x(tg::all, 0) > 0), {.batch_size = 5, .shuffle = true});
  Net net;
  tg::optim::Adam adam(nn::parameters(net), {.lr = 0.01});
  const auto loss_of = [&](const auto& batch) -> tg::train::BatchLoss {
    const auto& [inputs, kinds] = batch;
    return {.loss = tg::cross_entropy(net(inputs), kinds.to(tg::kInt64)), .tokens = inputs.size(0)};
  };
  tg::train::Loop loop(net, adam, loader, loss_of, {.epochs = 2});
  loop.run({.folder = "run", .report = {.unit = "points"}});
}

void write_arrays() {
  const tg::Tensor table = tg::tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}), ids = tg::arange(3);
  tg::save_npy("table.npy", table);
  tg::save_npz("arrays.npz", {{"table", table}, {"ids", ids}});
  tg::save_safetensors("arrays.safetensors", {{"table", table}, {"ids", ids}}, {{"made_by", "ideas_files"}});
  std::cout << "bits " << tg::bits_of({{"table", table}, {"ids", ids}}) << "\n";
}

void write_adapter() {
  Net net;
  nn::lora(net, {.rank = 2, .alpha = 4, .targets = {"in"}});
  nn::save_adapter(net, "adapter", {.base_model = "net"});
}

void write_tokens() {
  std::ofstream("text.txt") << "a good film; a bad film; not a good film";
  const auto tokenizer = tg::data::train_byte_pairs("a good film; a bad film; not a good film", 264);
  tg::data::save_tokenizer(*tokenizer, "tokenizer");
  const int64_t count = tg::data::write_token_file(*tokenizer, "text.txt", "text.tokens");
  std::cout << count << " tokens of " << tokenizer->size() << "\n";
}

}  // namespace

int main() {
  write_run();
  write_arrays();
  write_adapter();
  write_tokens();
}
