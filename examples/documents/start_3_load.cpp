// The third program of docs/start.md: the model of the second one in another program, and checks of it.
// arguments: {programs}/start_2_model/leaves.safetensors
#include <tapegrad/tapegrad.h>

#include <iostream>

namespace tg = tapegrad;
namespace nn = tg::nn;

struct Net {
  nn::Linear in{3, 16}, out{16, 3};
  tg::Tensor operator()(const tg::Tensor& x) const { return out(tg::relu(in(x))); }
};

int main(int argc, char** argv) {
  const std::string file = argc > 1 ? argv[1] : "leaves.safetensors";
  Net net;
  nn::load_state_dict(net, tg::load_safetensors(file).tensors);
  const tg::Tensor leaf = tg::tensor({{10.1, 2.1, 0.8}}).to(tg::kFloat32);  // length, width, stem
  std::cout << "probabilities " << tg::softmax(net(leaf), -1) << "\n";
  std::cout << nn::summary(net);

  const tg::GradcheckReport report = nn::gradcheck(net, {leaf}, {.gradcheck = {.order = 2}});
  std::cout << (report.ok ? "gradients and second derivatives are right" : report.text) << "\n";

  try {
    tg::Tape tape;
    tape.trap_nan();  // stops at the first value or gradient that is not finite
    const tg::Tensor loss = tg::mean(tg::log(net(leaf * 0) - 100));
  } catch (const tg::Error& error) {
    std::cout << error.what() << "\n";
  }

  for (const int threads : {1, 2}) {
    tg::set_num_threads(threads);
    std::cout << threads << ": " << tg::bits_of({{"y", net(leaf)}}) << "\n";  // the same fingerprint
  }
}
