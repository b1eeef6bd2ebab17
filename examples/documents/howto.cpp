// The recipes of docs/howto.md.
#include <tapegrad/tapegrad.h>
#include <tapegrad/train.h>

#include <algorithm>
#include <iostream>
#include <set>
#include <string>

namespace tg = tapegrad;
namespace nn = tg::nn;

namespace {

struct Net {
  nn::Linear in{2, 8}, out{8, 2};
  tg::Tensor operator()(const tg::Tensor& x) const { return out(tg::tanh(in(x))); }
};

void class_weights() {
  tg::manual_seed(1);
  Net net;
  const tg::Tensor x = tg::randn({4, 2}), y = tg::tensor({0, 0, 0, 1});
  const tg::Tensor weight = tg::tensor({1.0, 3.0});  // the rare class counts three times
  const tg::Tensor loss = tg::cross_entropy(net(x), y, {.weight = weight});
  std::cout << "class weights: loss " << loss.item() << "\n";
}

tg::Tensor huber(const tg::Tensor& x, const tg::Tensor& y, double delta) {
  const tg::Tensor distance = tg::abs(x - y);
  return tg::mean(tg::where(distance < delta, 0.5 * tg::square(distance), delta * (distance - 0.5 * delta)));
}

void own_loss() {
  const tg::Tensor x = tg::tensor({0.2, 3.0}), y = tg::zeros({2});
  std::cout << "own loss: " << huber(x, y, 1).item() << ", the library's " << tg::huber_loss(x, y).item() << "\n";
}

const tg::Op kCube{"cube"};
tg::Tensor cube(const tg::Tensor& x) {
  return tg::custom(
      kCube, {x}, [](const tg::Tensor& x) { return x * x * x; },           // forward: not recorded
      [x](const tg::Tensor& dy) -> tg::Grads { return dy * 3 * x * x; });  // backward: may be differentiated again
}

void own_operation() {
  const tg::Tensor x = tg::randn({3}, tg::kFloat64);
  const tg::GradcheckReport report = tg::gradcheck(cube, {x}, {.order = 2});
  std::cout << "own operation: " << (report.ok ? "right" : report.text) << "\n";
}

// y[i, j] = f(place of u[i, j - 1], of u[i, j], of u[i, j + 1]), with periodic rows, on all threads.
template <class T>
tg::Tensor stencil(const tg::Tensor& u, const auto& f) {
  const tg::Tensor y = tg::Tensor::empty(u.shape(), u.dtype());
  T* const out = y.mutable_data<T>();
  const int64_t n = u.size(1), grain = std::max<int64_t>(1, 16384 / n);  // rows per piece: depends on the shape alone
  tg::parallel_for(u.size(0), grain, [&](int64_t begin, int64_t end) {
    for (int64_t first = begin * n; first < end * n; first += n) {
      const int64_t last = first + n - 1;
      out[first] = f(last, first, first + 1);
      for (int64_t j = first + 1; j < last; ++j) out[j] = f(j - 1, j, j + 1);
      out[last] = f(last - 1, last, first);
    }
  });
  return y;
}

template <class T>
tg::Tensor advect_kernel(const tg::Tensor& u) {
  return stencil<T>(u, [v = u.data<T>()](int64_t l, int64_t j, int64_t r) { return v[j] * (v[r] - v[l]) / 2; });
}

template <class T>
tg::Tensor advect_gradient(const tg::Tensor& u, const tg::Tensor& dy) {
  return stencil<T>(u, [v = u.data<T>(), d = dy.data<T>()](int64_t l, int64_t j, int64_t r) {
    return (d[j] * (v[r] - v[l]) + d[l] * v[l] - d[r] * v[r]) / 2;  // u[j] occurs in y[j], y[j + 1] and y[j - 1]
  });
}

const tg::Op kAdvect{"advect"};
tg::Tensor advect(const tg::Tensor& u) {  // u [rows, n], float32 or float64
  tg::require_floating(kAdvect.name, u.dtype());
  if (u.dim() != 2 || u.size(1) < 3) kAdvect.fail("expected [rows, n] with n >= 3, got " + tg::str(u.shape()));
  const bool single = u.dtype() == tg::kFloat32;
  const auto forward = [single](const tg::Tensor& u) {
    const tg::Tensor x = u.contiguous();  // kernels read rows in memory
    return single ? advect_kernel<float>(x) : advect_kernel<double>(x);
  };
  const auto backward = [u, single](const tg::Tensor& dy) -> tg::Grads {
    if (tg::Tape::current() != nullptr) {  // create_graph: the gradient itself is recorded, in operations
      const tg::Tensor both = dy * u;
      return (dy * (tg::roll(u, -1, 1) - tg::roll(u, 1, 1)) + tg::roll(both, 1, 1) - tg::roll(both, -1, 1)) / 2;
    }
    const tg::Tensor x = u.contiguous(), d = dy.contiguous();
    return single ? advect_gradient<float>(x, d) : advect_gradient<double>(x, d);
  };
  return tg::custom(kAdvect, {u}, forward, backward, tg::Reads::inputs);  // backward reads no leaf but u
}

void own_kernel() {
  tg::manual_seed(1);
  const tg::GradcheckReport report = tg::gradcheck(advect, {tg::randn({4, 6}, tg::kFloat64)}, {.order = 2});
  std::cout << "gradients: " << (report.ok ? "right" : report.text) << ", " << report.entries << " derivatives\n";

  const tg::Tensor u = tg::randn({1000, 512}).as_leaf();
  std::set<std::string> bits;
  for (const int threads : {1, 2, 3, 7}) {
    tg::set_num_threads(threads);
    tg::Tape tape;
    const tg::Tensor y = advect(u);
    const tg::Tensor du = tape.backward(tg::mean(tg::square(y)))[u];
    bits.insert(tg::bits_of({{"y", y}, {"du", du}}));
  }
  std::cout << "1, 2, 3 and 7 threads: " << bits.size() << " result\n";
  try {
    const tg::Tensor y = advect(tg::ones({4, 2}));
  } catch (const tg::Error& error) {
    std::cout << error.what() << "\n";
  }
}

void accumulate() {
  tg::manual_seed(1);
  Net net;
  tg::optim::SGD sgd(nn::parameters(net), {.lr = 0.1});
  const tg::Tensor x = tg::randn({8, 2}), y = tg::randint(0, 2, {8});
  tg::Gradients grads;
  for (const auto& [part, of] :
       {std::pair{x(tg::range(0, 4)), y(tg::range(0, 4))}, std::pair{x(tg::range(4, 8)), y(tg::range(4, 8))}}) {
    tg::Tape tape;
    grads += tape.backward(tg::cross_entropy(net(part), of) / 2);
  }
  const double norm = tg::optim::clip_grad_norm(grads, 1.0);
  sgd.step(grads);
  std::cout << "accumulate: norm " << norm << "\n";
}

void freeze() {
  Net net;
  nn::freeze(net.in);  // constants until nn::unfreeze(net.in)
  tg::optim::AdamW adam(nn::parameters(net), {.lr = 1e-3});
  tg::Tape tape;
  const tg::Gradients grads = tape.backward(tg::mean(net(tg::ones({1, 2}))));
  std::cout << "freeze: gradient of in " << grads.contains(net.in.weight) << ", of out "
            << grads.contains(net.out.weight) << "\n";
  adam.step(grads);
}

void average() {
  tg::manual_seed(1);
  Net net;
  tg::optim::SGD sgd(nn::parameters(net), {.lr = 0.5});
  const tg::Tensor x = tg::randn({8, 2}), y = tg::randint(0, 2, {8});
  const auto loss = [&] { return tg::cross_entropy(net(x), y); };
  tg::optim::ExponentialAverage average(nn::parameters(net), {.decay = 0.9});
  for (int step = 0; step < 20; ++step) {
    tg::Tape tape;
    sgd.step(tape.backward(loss()));
    average.update();
  }
  {
    const tg::optim::ExponentialAverage::Use use(average);  // the model has the averaged weights
    std::cout << "average: loss " << loss().item();
  }  // and its own weights again
  std::cout << ", without " << loss().item() << "\n";
}

void no_gradient() {
  const tg::Tensor w = tg::ones({2}).as_leaf();
  tg::Tape tape;
  const tg::Tensor kept = tg::square(w);
  const tg::Gradients grads = tape.backward(tg::sum(kept), {.keep = {kept}});  // also of an intermediate tensor
  std::cout << "gradients: " << grads.contains(w) << ", " << grads[kept] << "\n";
}

void second_order() {
  const tg::Tensor x = tg::tensor({2.0}).as_leaf();
  tg::Tape tape;
  const tg::Tensor slope = tape.backward(tg::sum(x * x * x), {.create_graph = true})[x];  // 3 x^2
  const tg::Tensor curvature = tape.backward(tg::sum(slope))[x];                          // 6 x
  std::cout << "second order: " << slope << " " << curvature << "\n";
}

// What another process does with a file: here, a model, an optimiser and random numbers that are new.
void checkpoint() {
  const tg::Tensor x = tg::randn({8, 2}), y = tg::randint(0, 2, {8});
  const auto train = [&](Net& net, tg::optim::Adam& adam) {
    tg::Tape tape;
    adam.step(tape.backward(tg::cross_entropy(net(tg::dropout(x, 0.5)), y)));
  };
  int64_t step = 0;
  std::string bits;
  {
    Net net;
    tg::optim::Adam adam(nn::parameters(net), {.lr = 0.1});
    for (; step < 3; ++step) train(net, adam);
    tg::train::Checkpoint out;
    out.add("model.", nn::state_dict(net));
    out.add("adam.", adam.state());
    out.add("generator", tg::default_generator());  // if the steps sample random numbers
    out.set("step", step);
    out.save("checkpoint");  // replaces the file atomically
    train(net, adam);
    bits = tg::bits_of(nn::state_dict(net));
  }
  step = 0;
  tg::manual_seed(7);
  Net net;
  tg::optim::Adam adam(nn::parameters(net), {.lr = 0.1});
  const auto in = tg::train::Checkpoint::load("checkpoint");
  nn::load_state_dict(net, in.with_prefix("model."));
  adam.load_state(in.with_prefix("adam."));
  in.restore("generator", tg::default_generator());
  step = in.get<int64_t>("step");
  train(net, adam);
  std::cout << "checkpoint of step " << step << ": "
            << (tg::bits_of(nn::state_dict(net)) == bits ? "the same bits" : "other bits") << "\n";
}

void several_optimisers() {
  Net generator, critic;
  tg::optim::Adam of_generator(nn::parameters(generator), {.lr = 1e-3});
  tg::optim::Adam of_critic(nn::parameters(critic), {.lr = 1e-3});
  of_generator.ignore(nn::parameters(critic));  // the gradients of its parameters
  tg::Tape tape;
  of_generator.step(tape.backward(-tg::mean(critic(generator(tg::ones({4, 2}))))));
  std::cout << "several optimisers: steps " << of_generator.steps() << ", " << of_critic.steps() << "\n";
}

}  // namespace

int main() {
  class_weights();
  own_loss();
  own_operation();
  own_kernel();
  accumulate();
  freeze();
  average();
  no_gradient();
  second_order();
  checkpoint();
  several_optimisers();
}
