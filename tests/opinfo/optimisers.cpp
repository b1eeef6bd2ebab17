// Optimisers as calls of the bridge, "optim.NAME": `parameters` parameters of a small network, then its input and
// target; `steps` steps. The results are the parameters after the first and after the last step.
#include "case.h"

#include <tapegrad/tests/optim/from_json.h>

#include <algorithm>
#include <cctype>

namespace optim = tapegrad::optim;

namespace {

// tanh(x W1^T + b1) W2^T + b2 with parameters W1, b1, W2, b2; or W1, W2 without biases.
Tensor loss_of(const Case& c, const TV& p, const Tensor& x, const Tensor& y) {
  const bool biases = p.size() == 4;
  const Tensor h = tg::tanh(tg::linear(x, p[0], biases ? p[1] : Tensor()));
  const Tensor loss = tg::mse_loss(tg::linear(h, biases ? p[2] : p[1], biases ? p[3] : Tensor()), y);
  return c.b("maximize") ? -loss : loss;
}

struct Setup {
  TV leaves;
  tg::NamedTensors named;
  Tensor x, y;
};
Setup set_up(const Case& c) {
  Setup s;
  const size_t n = static_cast<size_t>(c.i("parameters"));
  for (size_t k = 0; k < n; ++k) {
    s.leaves.push_back(c.x[k].clone().as_leaf());
    s.named.push_back({"p" + std::to_string(k), s.leaves.back()});
  }
  s.x = c.x[n];
  s.y = c.x[n + 1];
  return s;
}

TV train(Case& c, const std::string& kind) {
  const Setup s = set_up(c);
  const auto optimiser =
      tg::tests::optimizer_from({{"kind", kind}, {"options", c.attributes}}, {{.parameters = s.named}});
  TV results;
  const int64_t steps = c.i("steps", 30);
  for (int64_t t = 0; t < steps; ++t) {
    tg::Tape tape;
    const Tensor loss = loss_of(c, s.leaves, s.x, s.y);
    c.b("in_backward") ? optimiser->step(tape, loss) : optimiser->step(tape.backward(loss));
    if (t == 0 || t == steps - 1)
      for (const Tensor& p : s.leaves) results.push_back(p.clone());
    // The state goes out and in again in the middle: an exact continuation must not depend on anything else.
    if (t == steps / 2) optimiser->load_state(optimiser->state());
  }
  return results;
}

TV train_lbfgs(Case& c) {
  const Setup s = set_up(c);
  optim::LBFGSOptions o;
  o.lr = c.d("lr", 1);
  o.tolerance_grad = c.d("tolerance_grad", o.tolerance_grad);
  o.strong_wolfe = c.s("line_search_fn") == "strong_wolfe";
  optim::LBFGS lbfgs(s.named, o);
  TV results;
  const int64_t steps = c.i("steps", 3);
  for (int64_t t = 0; t < steps; ++t) {
    lbfgs.step([&]() -> optim::Evaluation {
      tg::Tape tape;
      const Tensor loss = loss_of(c, s.leaves, s.x, s.y);
      const double value = loss.item();
      return {value, tape.backward(loss)};
    });
    if (t == 0 || t == steps - 1)
      for (const Tensor& p : s.leaves) results.push_back(p.clone());
  }
  return results;
}

}  // namespace

void add_optimisers() {
  for (const std::string name : {"SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "ASGD", "Adagrad", "Adadelta",
                                 "RMSprop", "Rprop", "Adafactor", "Muon"}) {
    std::string kind = name;
    std::transform(kind.begin(), kind.end(), kind.begin(), [](unsigned char x) { return std::tolower(x); });
    calls()["optim." + name] = [kind](Case& c) { return train(c, kind); };
  }
  calls()["optim.LBFGS"] = train_lbfgs;
}
