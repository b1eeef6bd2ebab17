// Calls of recurrent layers for the golden files: all results, joined.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/recurrent.h>
#include <tapegrad/tests/golden/arguments.h>

namespace tapegrad::tests {
namespace {

// The input of this name; empty if there is none.
Tensor named(const Inputs& x, const json& args, const char* name) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (args["names"][i] == name) return x[i];
  }
  return {};
}

RecurrentWeights weights(const Inputs& x, const json& args) {
  return {named(x, args, "weight_ih"), named(x, args, "weight_hh"), named(x, args, "bias_ih"),
          named(x, args, "bias_hh")};
}

RecurrentLayerOptions options(const Inputs& x, const json& args) {
  return {.reverse = args.value("reverse", false), .lengths = named(x, args, "lengths")};
}

Outputs joined(const RecurrentResult& y) { return {cat({y.output.reshape({-1}), y.hidden.reshape({-1})})}; }

}  // namespace

void add_recurrent_calls(GoldenCalls& calls) {
  calls["rnn_layer"] = [](const Inputs& x, const json& args) {
    const Nonlinearity f = args.value("relu", false) ? Nonlinearity::relu : Nonlinearity::tanh;
    return joined(rnn_layer(x[0], weights(x, args), named(x, args, "hidden"), options(x, args), f));
  };
  calls["gru_layer"] = [](const Inputs& x, const json& args) {
    return joined(gru_layer(x[0], weights(x, args), named(x, args, "hidden"), options(x, args)));
  };
  calls["lstm_layer"] = [](const Inputs& x, const json& args) -> Outputs {
    const LSTMResult y =
        lstm_layer(x[0], weights(x, args), named(x, args, "hidden"), named(x, args, "cell"), options(x, args));
    return {cat({y.output.reshape({-1}), y.hidden.reshape({-1}), y.cell.reshape({-1})})};
  };
}

}  // namespace tapegrad::tests
