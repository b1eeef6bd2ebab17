// The blocks of docs/tape.md, tensors.md, modules.md, speed.md and reproducibility.md, which are read from the pages
// (tests/comments/blocks.py).
#include <comments/blocks.h>
#include <tapegrad/autograd/pool_peak.h>
#include <tapegrad/tapegrad.h>

#include <iostream>
#include <memory>
#include <string>

namespace tg = tapegrad;
namespace nn = tg::nn;

namespace {

#include "comments/docs/tape_6.inc"

void tape_page() {
  {
#include "comments/docs/tape_1.inc"
  } {
#include "comments/docs/tape_3.inc"
  } {
    const tg::Tensor w = tg::tensor({0.5}).as_leaf();
#include "comments/docs/tape_4.inc"
  }
#include "comments/docs/tape_2.inc"
}

void tensors_page() {
  {
#include "comments/docs/tensors_1.inc"
  } {
#include "comments/docs/tensors_2.inc"
  } {
#include "comments/docs/tensors_3.inc"
  }
#include "comments/docs/tensors_4.inc"
}

void nodes() {
  {
#include "comments/docs/tape_5.inc"
  }
#include "comments/docs/tape_7.inc"
}

#include "comments/docs/modules_1.inc"

void modules_page() {
  {
#include "comments/docs/modules_2.inc"
  }
#include "comments/docs/modules_7.inc"
      std::cout
      << str(y.shape()) << str(bias.shape()) << str(value.shape())
      << str(score(norm(value.expand({4, 8})), tg::ones({3, 8})).shape())
      << str(layers[1](layers[0](tg::ones({4, 2}))).shape()) << "\n";
}

// --- speed.md: memory ---

struct Deep {
  nn::List<Mlp> blocks;
  bool again = false;
  Deep() {
    for (int i = 0; i < 8; ++i) blocks.emplace_back(64);
  }
  tg::Tensor operator()(tg::Tensor x) const {
    for (const Mlp& block : blocks) {
      const auto f = [&block](const tg::Tensor& in) { return block(in); };
      x = again ? nn::recompute(x, f, tg::Reads::inputs) : f(x);
    }
    return x;
  }
  void visit(auto&& field) { field("blocks", blocks); }
};

#include "comments/docs/speed_2.inc"

void memory() {
  Deep model;
  tg::optim::Adam adam(nn::parameters(model), {.lr = 1e-4});
  const auto mebibytes = [&] { return static_cast<double>(peak_of_step(model, adam)) / (1 << 20); };
  for (int step = 0; step < 20; ++step) mebibytes();  // the first ones request memory
#include "comments/docs/speed_4.inc"
  const double plain = mebibytes();
  model.again = true;
  const double again = mebibytes();
  model.again = false;
  const tg::Autocast autocast(tg::kBFloat16);
  const double half = mebibytes();
  std::cout << "recompute needs less than half: " << (again < plain / 2) << "\n";
  std::cout << "bfloat16 needs less than three quarters: " << (half < plain * 3 / 4) << "\n";
  std::cerr << "MiB: " << plain << ", with recompute " << again << ", in bfloat16 " << half << "\n";
}

void random_numbers() {
  {
#include "comments/docs/reproducibility_1.inc"
  } {
#include "comments/docs/reproducibility_3.inc"
  } {
#include "comments/docs/reproducibility_4.inc"
  }
#include "comments/docs/reproducibility_2.inc"
}

void profile() {
  Mlp model(32);
  const tg::Tensor x = tg::ones({16, 32});
  tg::optim::Adam adam(nn::parameters(model), {.lr = 1e-4});
#include "comments/docs/speed_1.inc"
}

}  // namespace

int main() {
  tape_page();
  tensors_page();
  nodes();
  modules_page();
  memory();
  random_numbers();
  profile();
}
