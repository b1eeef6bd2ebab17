// The blocks of docs/tape.md, tensors.md, modules.md, speed.md and reproducibility.md.
#include <tapegrad/autograd/pool_peak.h>
#include <tapegrad/tapegrad.h>

#include <iostream>
#include <memory>
#include <string>

namespace tg = tapegrad;
namespace nn = tg::nn;

namespace {

// --- tape.md ---

void scope() {
  // [scope]
  const tg::Tensor w = tg::tensor({1.0, 2.0}).as_leaf(), x = tg::tensor({3.0, 4.0});
  tg::Gradients grads;
  {
    tg::Tape tape;                                           // operations on leaves are recorded from here on
    const tg::Tensor y = tg::square(w * x);                  // computed at once, and recorded
    grads = tape.backward(tg::sum(y));                       // one loop, from the end to the first operation
  }                                                          // the tape ends: nothing is recorded any more
  std::cout << grads[w] << "\n";                             // gradients are values of yours
  std::cout << std::boolalpha << grads.contains(x) << "\n";  // x is no leaf: a constant
  // [/scope]
}

void immutable() {
  // [immutable]
  tg::Tensor a = tg::zeros({3});
  const tg::Tensor b = a;  // a second handle of the same tensor
  a(0) = 7;                // the handle a gets a new tensor
  std::cout << a << " " << b << "\n";
  // [/immutable]
}

void ended_tape() {
  const tg::Tensor w = tg::tensor({0.5}).as_leaf();
  // [ended tape]
  tg::Tensor h = tg::ones({1});
  try {
    for (int step = 0; step < 2; ++step) {
      tg::Tape tape;
      h = tg::tanh(w * h);  // in the second step, h belongs to a tape that has ended
      static_cast<void>(tape.backward(tg::sum(h)));
    }
  } catch (const tg::Error& error) {
    std::cout << error.what() << "\n";
  }
  // [/ended tape]
}

void inner_tape() {
  // [inner tape]
  const tg::Tensor w = tg::tensor({3.0}).as_leaf();
  tg::Tape outer;
  const tg::Tensor y = w * w;
  {
    tg::Tape inner;  // the innermost tape records: for it, y is a constant
    std::cout << inner.backward(tg::sum(y * w))[w];
  }
  std::cout << " " << outer.backward(tg::sum(y))[w] << "\n";
  // [/inner tape]
}

// --- tensors.md ---

void handles() {
  // [handles]
  const tg::Tensor x = tg::arange(6).reshape({2, 3});
  const tg::Tensor y = x.t();  // a view: the same memory, other strides
  std::cout << y << "\n";
  std::cout << (x.raw_data() == y.raw_data()) << " " << x.strides()[0] << " " << y.strides()[0] << "\n";
  // [/handles]
}

void types() {
  // [types]
  const tg::Tensor whole = tg::tensor({1, 2}), real = tg::tensor({0.5, 0.5}), flags = whole > 1;
  std::cout << name(whole.dtype()) << " " << name(real.dtype()) << " " << name(flags.dtype()) << " "
            << name((whole + real).dtype()) << " " << name((whole / 2).dtype()) << " " << name((real * 2.0).dtype())
            << "\n";
  // [/types]
}

void broadcasting() {
  // [broadcasting]
  const tg::Tensor column = tg::tensor({{0.0}, {10.0}}), row = tg::tensor({1.0, 2.0, 3.0});
  std::cout << column + row << "\n";  // [2, 1] and [3]: [2, 3]
  // [/broadcasting]
}

void indexing() {
  // [indexing]
  using tg::all, tg::range;
  const tg::Tensor x = tg::arange(12).reshape({3, 4}), ids = tg::tensor({2, 0});
  std::cout << x(1) << "\n";                          // x[1]
  std::cout << x(all, range(1, 3)) << "\n";           // x[:, 1:3]
  std::cout << x(tg::ellipsis, -1) << "\n";           // x[..., -1]
  std::cout << x(ids, 0) << "\n";                     // x[ids, 0]
  std::cout << x(x > 8) << "\n";                      // x[x > 8]
  std::cout << x(tg::newaxis, 0).shape()[0] << "\n";  // x[None, 0]
  tg::Tensor changed = x;
  changed(all, 0) = 100;  // changed[:, 0] = 100; x keeps its values
  changed(x > 8) += 1;
  std::cout << changed << "\n";
  // [/indexing]
}

// --- tape.md ---

void nodes() {
  // [nodes]
  const tg::Tensor x = tg::tensor({{1.0, 2.0}}), w = tg::tensor({{0.5}, {-1.0}}).as_leaf();
  tg::Tape tape;
  const tg::Tensor loss = tg::mean(tg::square(tg::matmul(x, w) - 1));
  for (int64_t i = 0; i < tape.size(); ++i) {
    std::cout << i << ": " << tape.op_name(i) << " " << str(tape.shape_of(i));
    for (const int64_t from : tape.inputs_of(i)) std::cout << " " << (from < 0 ? "constant" : std::to_string(from));
    std::cout << "\n";
  }
  // [/nodes]
}

// [freed]
struct Kept {  // something that a closure captures
  std::string name;
  explicit Kept(const std::string& of) : name(of) {}
  ~Kept() { std::cout << "memory of " << name << " is freed\n"; }
};

const tg::Op kDouble{"double"};
tg::Tensor twice(const tg::Tensor& x, const std::string& name) {
  return tg::custom(
      kDouble, {x}, [](const tg::Tensor& x) { return x * 2; },
      [kept = std::make_shared<Kept>(name)](const tg::Tensor& dy) -> tg::Grads {
        std::cout << "backward of " << kept->name << "\n";
        return dy * 2;
      });
}
// [/freed]

void freed() {
  // [run freed]
  const tg::Tensor x = tg::ones({2}).as_leaf();
  tg::Tape tape;
  const tg::Tensor loss = tg::sum(twice(twice(x, "first"), "second"));
  const tg::Gradients grads = tape.backward(loss);
  std::cout << "gradient " << grads[x] << "\n";
  // [/run freed]
}

// --- modules.md ---

// [mlp]
struct Mlp {
  nn::Linear up, down;
  explicit Mlp(int64_t dim) : up(dim, 4 * dim), down(4 * dim, dim) {}
  tg::Tensor operator()(const tg::Tensor& x) const { return x + down(tg::gelu(up(x))); }
  void visit(auto&& field) {
    field("up", up);
    field("down", down);
  }
};
// [/mlp]

void follows() {
  // [follows]
  Mlp model(8);
  tg::optim::AdamW adam(nn::parameters(model));
  nn::eval(model);              // no dropout; nn::train(model) switches it on again
  Mlp copy = nn::clone(model);  // equal values in new memory
  tg::save_safetensors("mlp.safetensors", nn::state_dict(model));
  nn::load_state_dict(copy, tg::load_safetensors("mlp.safetensors").tensors);
  std::cout << std::boolalpha << (tg::bits_of(nn::state_dict(copy)) == tg::bits_of(nn::state_dict(model))) << "\n";
  for (const auto& p : nn::parameters(model)) std::cout << p.name << " " << str(p.tensor.shape()) << "\n";
  // [/follows]
}

void composed() {
  // [composed]
  nn::Sequential net{nn::Linear(2, 8), [](const tg::Tensor& x) { return relu(x); }, nn::Linear(8, 1)};
  tg::Tensor y = net(tg::ones({4, 2}));  // parameters 0.weight, 0.bias, 2.weight, 2.bias
  const tg::Tensor& bias = net.get<2>().bias;
  nn::List<nn::AnyModule> layers;  // modules of several types
  layers.emplace_back(nn::Linear(2, 8));
  layers.emplace_back(nn::Sequential{nn::Unflatten(1, {2, 4}), nn::Flatten()});
  nn::Dict<nn::Linear> heads{{"policy", nn::Linear(8, 2)}, {"value", nn::Linear(8, 1)}};
  tg::Tensor value = heads["value"](tg::ones({4, 8}));            // parameters policy.weight, ..., value.bias
  nn::Variant<nn::LayerNorm, nn::RMSNorm> norm = nn::RMSNorm(8);  // chosen at run time; parameter weight
  using Score = nn::AnyOf<tg::Tensor(const tg::Tensor& q, const tg::Tensor& k)>;
  Score score = [](const tg::Tensor& q, const tg::Tensor& k) { return matmul(q, k.t()); };
  // [/composed]
  std::cout << str(y.shape()) << str(bias.shape()) << str(value.shape())
            << str(score(norm(value.expand({4, 8})), tg::ones({3, 8})).shape())
            << str(layers[1](layers[0](tg::ones({4, 2}))).shape()) << "\n";
}

// --- speed.md: memory ---

// [measured]
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

// [/measured]

// [peak]
int64_t peak_of_step(Deep& model, tg::optim::Adam& adam) {
  const tg::Tensor x = tg::ones({2048, 64});
  tg::pool::reset_peak();
  tg::Tape tape;
  const tg::Tensor loss = tg::mean(tg::square(model(x)));
  adam.step(tape, loss);  // updates parameters while backward runs
  return tg::pool::peak();
}
// [/peak]

void memory() {
  Deep model;
  tg::optim::Adam adam(nn::parameters(model), {.lr = 1e-4});
  const auto mebibytes = [&] { return static_cast<double>(peak_of_step(model, adam)) / (1 << 20); };
  for (int step = 0; step < 20; ++step) mebibytes();  // the first ones request memory
  // [steady]
  const int64_t calls = tg::pool::stats().system_calls;
  static_cast<void>(peak_of_step(model, adam));
  std::cout << "requests to the system: " << tg::pool::stats().system_calls - calls << "\n";
  // [/steady]
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

// --- reproducibility.md ---

void random_numbers() {
  // [seed]
  tg::manual_seed(0);
  std::cout << tg::randn({3}) << "\n";  // torch.manual_seed(0); torch.randn(3)
  tg::Generator own(0);                 // a stream of its own
  std::cout << tg::randn({3}, tg::kFloat32, &own) << "\n";
  // [/seed]
  // [order]
  tg::manual_seed(0);
  const nn::Linear first(2, 2), second(2, 2);  // each constructor samples from the default generator
  tg::manual_seed(0);
  const nn::Linear other(3, 2), later(2, 2);  // a different first layer changes all later samples
  std::cout << tg::all(second.weight.tensor() == later.weight.tensor()) << "\n";
  // [/order]
  // [state]
  const auto state = tg::default_generator().state();  // the bytes of torch.get_rng_state()
  const tg::Tensor a = tg::rand({2});
  tg::default_generator().set_state(state);
  std::cout << state.size() << " " << tg::all(a == tg::rand({2})) << "\n";
  // [/state]
  // [sixteen]
  tg::manual_seed(0);
  const tg::Tensor few = tg::randn({15});
  tg::manual_seed(0);
  std::cout << tg::any(few == tg::randn({16})(tg::range(0, 15))) << "\n";  // another method from 16 numbers on
  // [/sixteen]
}

// --- speed.md ---

void profile() {
  Mlp model(32);
  const tg::Tensor x = tg::ones({16, 32});
  tg::optim::Adam adam(nn::parameters(model), {.lr = 1e-4});
  // [profile]
  tg::Profiler profiler({.measure_peak = false});  // until the end of its block
  for (int step = 0; step < 3; ++step) {
    tg::Tape tape;
    adam.step(tape.backward(tg::mean(tg::square(model(x)))));
  }
  const tg::ProfileReport report = profiler.report();
  for (const tg::ProfileRow& row : report.modules)
    std::cout << (row.name.empty() ? "all" : row.name) << ": " << row.calls << " calls\n";
  std::cerr << report;  // the table
  // [/profile]
}

}  // namespace

int main() {
  scope();
  immutable();
  ended_tape();
  inner_tape();
  handles();
  types();
  broadcasting();
  indexing();
  nodes();
  freed();
  follows();
  composed();
  memory();
  random_numbers();
  profile();
}
