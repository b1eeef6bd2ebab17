// Cases of recurrent layers: all results, joined. The inputs are called by the attribute "names".
#include <tapegrad/checks/cases/case.h>
#include <tapegrad/tapegrad.h>

namespace tapegrad::tasks {
namespace {

using A = Arguments;

struct Layer {
  const char* name;
  int64_t gates;
  const char* pytorch;  // of torch._VF
  json attributes;
};
const Layer kLayers[] = {{"rnn_layer", 1, "rnn_tanh", json::object()},
                         {"rnn_layer", 1, "", {{"relu", true}}},
                         {"lstm_layer", 4, "lstm", json::object()},
                         {"gru_layer", 3, "gru", json::object()}};

// The output; with `all` the last states, too, in one vector.
Tensor run_layer(const std::string& name, const Inputs& x, const json& args, bool all) {
  const RecurrentWeights weights{named(x, args, "weight_ih"), named(x, args, "weight_hh"), named(x, args, "bias_ih"),
                                 named(x, args, "bias_hh")};
  const RecurrentLayerOptions options{.reverse = args.value("reverse", false), .lengths = named(x, args, "lengths")};
  const Tensor hidden = named(x, args, "hidden");
  const auto joined = [&](const auto& y, const Tensor& cell = {}) {
    if (!all) return y.output;
    std::vector<Tensor> parts{y.output.reshape({-1}), y.hidden.reshape({-1})};
    if (cell.defined()) parts.push_back(cell.reshape({-1}));
    return cat(parts);
  };
  if (name == "lstm_layer") {
    const LSTMResult y = lstm_layer(x[0], weights, hidden, named(x, args, "cell"), options);
    return joined(y, y.cell);
  }
  if (name == "gru_layer") return joined(gru_layer(x[0], weights, hidden, options));
  const Nonlinearity f = args.value("relu", false) ? Nonlinearity::relu : Nonlinearity::tanh;
  return joined(rnn_layer(x[0], weights, hidden, options, f));
}

struct Sizes {
  int64_t steps, batch, inputs, width;
};

struct RecurrentCase {
  bool bias = true, states = true, reverse = false;
  Tensor lengths = {};
};

void add_layer(CaseTable& t, const Layer& layer) {
  const auto add = [&](
                       const std::string& label, const Sizes& s, const RecurrentCase& given,
                       const std::function<Tensor(const Tensor&)>& laid = [](const Tensor& x) { return x; }) {
    const int64_t rows = layer.gates * s.width;
    json args = layer.attributes;
    args["names"] = {"x", "weight_ih", "weight_hh"};
    std::vector<Tensor> inputs = {laid(spread({s.steps, s.batch, s.inputs}, -1, 1)),
                                  laid(spread({rows, s.inputs}, -0.7, 0.9)), laid(spread({rows, s.width}, -0.8, 0.7))};
    const auto more = [&](const char* name, const Tensor& x) {
      args["names"].push_back(name);
      inputs.push_back(x);
    };
    if (given.bias) {
      more("bias_ih", spread({rows}, 0.4, 1.3));
      more("bias_hh", spread({rows}, -0.5, 0.3));
    }
    if (given.states) more("hidden", laid(spread({s.batch, s.width}, -0.9, 0.8)));
    if (given.states && layer.gates == 4) more("cell", laid(spread({s.batch, s.width}, -0.6, 1)));
    if (given.lengths.defined()) more("lengths", given.lengths);
    args["reverse"] = given.reverse;
    t.add(layer.name, label, std::move(inputs), args);
  };
  for (const bool reverse : {false, true}) {
    const std::string way = reverse ? ", reverse" : "";
    add("one number" + way, {1, 1, 1, 1}, {.reverse = reverse});
    add("[3, 2, 2]" + way, {3, 2, 2, 2}, {.reverse = reverse});
    add("a batch in pieces" + way, {2, 13, 1, 1}, {.reverse = reverse});
    add("without states" + way, {3, 2, 1, 2}, {.states = false, .reverse = reverse});
    add("weights alone" + way, {2, 2, 1, 2}, {.bias = false, .states = false, .reverse = reverse});
    add("lengths" + way, {3, 3, 1, 2}, {.reverse = reverse, .lengths = tensor({2, 3, 1})});
  }
  add("no sequence", {2, 0, 2, 2}, {});
  add("transposed", {2, 2, 2, 2}, {}, [](const Tensor& x) { return x.t().contiguous().t(); });
  add("every second element", {2, 2, 2, 2}, {}, [](const Tensor& x) {
    return stack({x, x}, -1).reshape(x.dim() == 3 ? Shape{2, 2, 4} : Shape{x.size(0), 4}).slice(-1, 0, kAll, 2);
  });
}

// {t0} as [T, 1, 1], and the first elements of {t1} as the weights of the gates with one hidden unit.
void add_layer_rule(CaseTable& t, const Layer& layer) {
  const std::string g = std::to_string(layer.gates), two_g = std::to_string(2 * layer.gates);
  const std::string part = ".reshape({-1}).slice(0, ", as = ").reshape({" + g + ", 1})";
  const std::string zero = "torch.zeros(1, 1, 1, dtype={T})";
  t.rule(std::string(layer.name) + "({t0}.reshape({-1, 1, 1}), {{t1}" + part + "0, " + g + as + ", {t1}" + part + g +
             ", " + two_g + as + "}).output",
         std::string("torch._VF.") + layer.pytorch + "({t0}.reshape(-1, 1, 1), " +
             (layer.gates == 4 ? "(" + zero + ", " + zero + "), " : zero + ", ") + "[{t1}.reshape(-1)[:" + g +
             "].reshape(-1, 1), {t1}.reshape(-1)[" + g + ":" + two_g +
             "].reshape(-1, 1)], False, 1, 0.0, False, False, False)[0]",
         both(sized(1, 6), sized(2 * layer.gates)), [layer](const A& a) {
           const Tensor all = a.t[1].reshape({-1});
           const Tensor ih = all.slice(0, 0, layer.gates), hh = all.slice(0, layer.gates, 2 * layer.gates);
           static const json kNames{{"names", {"x", "weight_ih", "weight_hh"}}};
           return run_layer(layer.name,
                            {a.t[0].reshape({-1, 1, 1}), ih.reshape({layer.gates, 1}), hh.reshape({layer.gates, 1})},
                            kNames, false);
         });
}

}  // namespace

void add_recurrent_cases(CaseTable& t) {
  for (const Layer& layer : kLayers) {
    t.call(layer.name, [name = std::string(layer.name)](const Inputs& x, const json& args) -> Outputs {
      return {run_layer(name, x, args, true)};
    });
    add_layer(t, layer);
    if (layer.attributes.empty()) add_layer_rule(t, layer);
    if (!t.large() || !layer.attributes.empty()) continue;
    // Few sequences, and a batch that is divided; the products of a step are large enough to be divided, too.
    for (int64_t batch : {5, 43}) {
      const int64_t inputs = 70, width = 331, rows = layer.gates * width;
      const Tensor bias = numbers({rows}), state = numbers({batch, width});
      const json args{{"names", {"x", "weight_ih", "weight_hh", "bias_ih", "hidden", "bias_hh", "cell"}}};
      t.add_large(layer.name,
                  {numbers({9, batch, inputs}), numbers({rows, inputs}, -0.1, 0.1), numbers({rows, width}, -0.1, 0.1),
                   bias, state},
                  [args, name = std::string(layer.name)](auto v) {
                    return run_layer(name, {v[0], v[1], v[2], v[3], v[4], v[3], v[4]}, args, false);
                  });
    }
  }
}

}  // namespace tapegrad::tasks
