// Optimisers as calls of the bridge, "optim.NAME": `parameters` parameters of a small network, then its input and
// target; `steps` steps. The results are the parameters after the first and after the last step.
#include "case.h"

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

template <class O, class Options>
TV train(Case& c, Options options) {
  const Setup s = set_up(c);
  O optimiser(s.named, options);
  TV results;
  const int64_t steps = c.i("steps", 30);
  for (int64_t t = 0; t < steps; ++t) {
    tg::Tape tape;
    const Tensor loss = loss_of(c, s.leaves, s.x, s.y);
    if (c.b("in_backward"))
      optimiser.step(tape, loss);
    else
      optimiser.step(tape.backward(loss));
    if (t == 0 || t == steps - 1)
      for (const Tensor& p : s.leaves) results.push_back(p.clone());
    // The state goes out and in again in the middle: an exact continuation must not depend on anything else.
    if (t == steps / 2) optimiser.load_state(optimiser.state());
  }
  return results;
}

template <class Options>
Options betas(const Case& c, Options o) {
  o.lr = c.d("lr", o.lr);
  if (c.has("betas")) {
    o.beta1 = c.all<double>("betas")[0];
    o.beta2 = c.all<double>("betas")[1];
  }
  o.eps = c.d("eps", o.eps);
  if (c.has("weight_decay")) o.weight_decay = c.d("weight_decay");
  return o;
}

void add_momentum(Calls& on) {
  on["optim.SGD"] = [](Case& c) -> TV {
    optim::SGDOptions o;
    return train<optim::SGD>(c, optim::SGDOptions{c.d("lr", o.lr), c.d("momentum", 0), c.d("dampening", 0),
                                                  c.d("weight_decay", 0), c.b("nesterov")});
  };
  on["optim.Adam"] = [](Case& c) -> TV {
    auto o = betas(c, optim::AdamOptions());
    o.amsgrad = c.b("amsgrad");
    return train<optim::Adam>(c, o);
  };
  on["optim.AdamW"] = [](Case& c) -> TV {
    auto o = betas(c, optim::AdamWOptions());
    o.amsgrad = c.b("amsgrad");
    return train<optim::AdamW>(c, o);
  };
  on["optim.Adamax"] = [](Case& c) -> TV { return train<optim::Adamax>(c, betas(c, optim::AdamaxOptions())); };
  on["optim.NAdam"] = [](Case& c) -> TV {
    auto o = betas(c, optim::NAdamOptions());
    o.momentum_decay = c.d("momentum_decay", o.momentum_decay);
    o.decoupled_weight_decay = c.b("decoupled_weight_decay");
    return train<optim::NAdam>(c, o);
  };
  on["optim.RAdam"] = [](Case& c) -> TV {
    auto o = betas(c, optim::RAdamOptions());
    o.decoupled_weight_decay = c.b("decoupled_weight_decay");
    return train<optim::RAdam>(c, o);
  };
  on["optim.ASGD"] = [](Case& c) -> TV {
    optim::ASGDOptions o;
    return train<optim::ASGD>(c, optim::ASGDOptions{c.d("lr", o.lr), c.d("lambd", o.lambd), c.d("alpha", o.alpha),
                                                    c.d("t0", o.t0), c.d("weight_decay", 0)});
  };
}

void add_adaptive(Calls& on) {
  on["optim.Adagrad"] = [](Case& c) -> TV {
    optim::AdagradOptions o;
    return train<optim::Adagrad>(c, optim::AdagradOptions{c.d("lr", o.lr), c.d("lr_decay", 0), c.d("weight_decay", 0),
                                                          c.d("initial_accumulator_value", 0), c.d("eps", o.eps)});
  };
  on["optim.Adadelta"] = [](Case& c) -> TV {
    optim::AdadeltaOptions o;
    return train<optim::Adadelta>(
        c, optim::AdadeltaOptions{c.d("lr", o.lr), c.d("rho", o.rho), c.d("eps", o.eps), c.d("weight_decay", 0)});
  };
  on["optim.RMSprop"] = [](Case& c) -> TV {
    optim::RMSpropOptions o;
    return train<optim::RMSprop>(c, optim::RMSpropOptions{c.d("lr", o.lr), c.d("alpha", o.alpha), c.d("eps", o.eps),
                                                          c.d("weight_decay", 0), c.d("momentum", 0), c.b("centered")});
  };
  on["optim.Rprop"] = [](Case& c) -> TV {
    optim::RpropOptions o;
    o.lr = c.d("lr", o.lr);
    if (c.has("etas")) {
      o.eta_minus = c.all<double>("etas")[0];
      o.eta_plus = c.all<double>("etas")[1];
    }
    if (c.has("step_sizes")) {
      o.least_step = c.all<double>("step_sizes")[0];
      o.largest_step = c.all<double>("step_sizes")[1];
    }
    return train<optim::Rprop>(c, o);
  };
  on["optim.Adafactor"] = [](Case& c) -> TV {
    optim::AdafactorOptions o;
    o.lr = c.d("lr", o.lr);
    o.beta2_decay = c.d("beta2_decay", o.beta2_decay);
    o.d = c.d("d", o.d);
    o.weight_decay = c.d("weight_decay", 0);
    if (c.has("eps")) {
      o.eps1 = c.all<double>("eps")[0];
      o.eps2 = c.all<double>("eps")[1];
    }
    return train<optim::Adafactor>(c, o);
  };
}

void add_other(Calls& on) {
  on["optim.Muon"] = [](Case& c) -> TV {
    optim::MuonOptions o;
    o.lr = c.d("lr", o.lr);
    o.weight_decay = c.d("weight_decay", o.weight_decay);
    o.momentum = c.d("momentum", o.momentum);
    o.nesterov = c.b("nesterov", o.nesterov);
    o.iterations = static_cast<int>(c.i("ns_steps", o.iterations));
    if (c.has("ns_coefficients")) {
      const Doubles v = c.all<double>("ns_coefficients");
      o.coefficients = {v[0], v[1], v[2]};
    }
    const std::string scale = c.s("adjust_lr_fn", "original");
    if (scale == "match_rms_adamw") o.scale = optim::MuonScale::match_adamw;
    if (scale == "spectral_unclamped") o.scale = optim::MuonScale::spectral;
    return train<optim::Muon>(c, o);
  };
  on["optim.LBFGS"] = [](Case& c) -> TV {
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
  };
}

}  // namespace

void add_optimisers() {
  Calls& on = calls();
  add_momentum(on);
  add_adaptive(on);
  add_other(on);
}
