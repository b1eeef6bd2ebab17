// Stacks of recurrent layers, and single steps.
#include <fmt/format.h>
#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/recurrent.h>

#include <cmath>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kRnn = "rnn", kLstm = "lstm", kGru = "gru";
constexpr std::string_view kRnnCell = "rnn_cell", kLstmCell = "lstm_cell", kGruCell = "gru_cell";

// Checks the sizes before a constructor computes anything.
int64_t checked_inputs(std::string_view where, int64_t inputs, int64_t hidden_size) {
  require_positive(where, "input_size", inputs);
  require_positive(where, "hidden_size", hidden_size);
  return inputs;
}

void require_state(const Parameter& own, std::string_view where, const Tensor& state, const Shape& shape,
                   std::string_view what) {
  if (state.defined() && !(state.shape() == shape)) {
    fail_near(own, where, fmt::format("expected a {} state {}, got {}", what, str(shape), str(state.shape())));
  }
}

void require_both(const Parameter& own, std::string_view where, const LSTMState& state) {
  if (state.hidden.defined() != state.cell.defined()) {
    fail_near(own, where,
              fmt::format("expected both states or none, got no {} state", state.cell.defined() ? "hidden" : "cell"));
  }
}

// Runs all layers with `layer`, which takes lstm_layer's arguments. A stack without cell states leaves `cell` empty.
LSTMResult run(std::string_view where, const detail::RecurrentStack& model, const Tensor& given, const LSTMState& state,
               const Tensor& lengths, auto layer) {
  const RecurrentOptions& options = model.options;
  const Parameter& own = model.parts[0].weight_ih;
  if (given.dim() != 2 && given.dim() != 3) {
    fail_near(
        own, where,
        fmt::format("expected x [{}, I] or [T, I], got {}", options.batch_first ? "B, T" : "T, B", str(given.shape())));
  }
  if (given.size(-1) != model.input_size) {
    fail_near(own, where,
              fmt::format("expected x with a last axis of {}, got {}", model.input_size, str(given.shape())));
  }
  const bool batched = given.dim() == 3;
  const Tensor x = !batched ? given.unsqueeze(1) : options.batch_first ? given.transpose(0, 1) : given;
  const auto parts = static_cast<int64_t>(model.parts.size());
  const Shape shape = batched ? Shape{parts, x.size(1), model.hidden_size} : Shape{parts, model.hidden_size};
  require_state(own, where, state.hidden, shape, "hidden");
  require_state(own, where, state.cell, shape, "cell");
  const auto of = [&](const Tensor& states, int64_t part) {
    if (!states.defined()) return states;
    return batched ? states[part] : states[part].unsqueeze(0);
  };

  PoolVector<Tensor> hidden, cell;
  Tensor y = x;
  const int64_t directions = options.bidirectional ? 2 : 1;
  for (int64_t first = 0; first < parts; first += directions) {
    if (first > 0) y = dropout(y, options.dropout, model.training);
    Tensor outputs[2];
    for (int64_t d = 0; d < directions; ++d) {
      const int64_t part = first + d;
      LSTMResult result = layer(y, model.parts[static_cast<std::size_t>(part)].weights(), of(state.hidden, part),
                                of(state.cell, part), {.reverse = d == 1, .lengths = lengths});
      outputs[d] = std::move(result.output);
      hidden.push_back(std::move(result.hidden));
      if (result.cell.defined()) cell.push_back(std::move(result.cell));
    }
    y = directions == 2 ? cat({outputs[0], outputs[1]}, -1) : outputs[0];
  }
  const auto joined = [&](const PoolVector<Tensor>& states) {
    if (states.empty()) return Tensor();
    const Tensor all = states.size() == 1 ? states[0].unsqueeze(0) : stack(states);
    return batched ? all : all.squeeze(1);
  };
  if (!batched) {
    y = y.squeeze(1);
  } else if (options.batch_first) {
    y = y.transpose(0, 1);
  }
  return {y, joined(hidden), joined(cell)};
}

// One step with `layer`, a function of x [1, B, I] and states [B, H].
LSTMState run_cell(std::string_view where, const detail::RecurrentDirection& cell, const Tensor& x,
                   const LSTMState& state, auto layer) {
  const int64_t inputs = cell.weight_ih->size(1), width = cell.weight_hh->size(1);
  if ((x.dim() != 1 && x.dim() != 2) || x.size(-1) != inputs) {
    fail_near(cell.weight_ih, where, fmt::format("expected x [B, {}] or [{}], got {}", inputs, inputs, str(x.shape())));
  }
  const bool batched = x.dim() == 2;
  const Shape shape = batched ? Shape{x.size(0), width} : Shape{width};
  require_state(cell.weight_ih, where, state.hidden, shape, "hidden");
  require_state(cell.weight_ih, where, state.cell, shape, "cell");
  const auto with_batch = [&](const Tensor& s) { return s.defined() && !batched ? s.unsqueeze(0) : s; };
  const LSTMResult y = layer((batched ? x : x.unsqueeze(0)).unsqueeze(0), cell.weights(), with_batch(state.hidden),
                             with_batch(state.cell));
  const auto without_batch = [&](const Tensor& s) { return s.defined() && !batched ? s.squeeze(0) : s; };
  return {without_batch(y.hidden), without_batch(y.cell)};
}

}  // namespace

namespace detail {

RecurrentDirection::RecurrentDirection(int64_t inputs, int64_t hidden_size, int64_t gates, bool bias)
    : weight_ih(init::blank({gates * hidden_size, inputs})),
      weight_hh(init::blank({gates * hidden_size, hidden_size})) {
  if (bias) {
    bias_ih = Parameter(init::blank({gates * hidden_size}));
    bias_hh = Parameter(init::blank({gates * hidden_size}));
  }
  const double bound = 1 / std::sqrt(static_cast<double>(hidden_size));
  for (Parameter* p : {&weight_ih, &weight_hh, &bias_ih, &bias_hh}) {
    if (p->defined()) init::uniform(*p, -bound, bound);
  }
}

RecurrentStack::RecurrentStack(std::string_view name, int64_t input_size, int64_t hidden_size, int64_t gates,
                               const RecurrentOptions& options)
    : input_size(checked_inputs(name, input_size, hidden_size)), hidden_size(hidden_size), options(options) {
  require_positive(name, "num_layers", options.num_layers);
  require_probability(name, "dropout", options.dropout);
  const int64_t directions = options.bidirectional ? 2 : 1;
  for (int64_t layer = 0; layer < options.num_layers; ++layer) {
    for (int64_t d = 0; d < directions; ++d) {
      parts.emplace_back(layer == 0 ? input_size : directions * hidden_size, hidden_size, gates, options.bias);
    }
  }
}

}  // namespace detail

RNN::RNN(int64_t input_size, int64_t hidden_size, const RecurrentOptions& options, Nonlinearity nonlinearity)
    : RecurrentStack(kRnn, input_size, hidden_size, 1, options), nonlinearity(nonlinearity) {}

RecurrentResult RNN::operator()(const Tensor& x, const Tensor& hidden, const Tensor& lengths) const {
  const auto layer = [&](const Tensor& x, const RecurrentWeights& weights, const Tensor& hidden, const Tensor&,
                         const RecurrentLayerOptions& options) {
    const RecurrentResult y = rnn_layer(x, weights, hidden, options, nonlinearity);
    return LSTMResult{y.output, y.hidden, {}};
  };
  const LSTMResult y = run(kRnn, *this, x, {hidden, {}}, lengths, layer);
  return {y.output, y.hidden};
}

LSTM::LSTM(int64_t input_size, int64_t hidden_size, const RecurrentOptions& options)
    : RecurrentStack(kLstm, input_size, hidden_size, 4, options) {}

LSTMResult LSTM::operator()(const Tensor& x, const LSTMState& state, const Tensor& lengths) const {
  require_both(parts[0].weight_ih, kLstm, state);
  return run(kLstm, *this, x, state, lengths, lstm_layer);
}

GRU::GRU(int64_t input_size, int64_t hidden_size, const RecurrentOptions& options)
    : RecurrentStack(kGru, input_size, hidden_size, 3, options) {}

RecurrentResult GRU::operator()(const Tensor& x, const Tensor& hidden, const Tensor& lengths) const {
  const auto layer = [](const Tensor& x, const RecurrentWeights& weights, const Tensor& hidden, const Tensor&,
                        const RecurrentLayerOptions& options) {
    const RecurrentResult y = gru_layer(x, weights, hidden, options);
    return LSTMResult{y.output, y.hidden, {}};
  };
  const LSTMResult y = run(kGru, *this, x, {hidden, {}}, lengths, layer);
  return {y.output, y.hidden};
}

RNNCell::RNNCell(int64_t input_size, int64_t hidden_size, bool bias, Nonlinearity nonlinearity)
    : RecurrentDirection(checked_inputs(kRnnCell, input_size, hidden_size), hidden_size, 1, bias),
      nonlinearity(nonlinearity) {}

Tensor RNNCell::operator()(const Tensor& x, const Tensor& hidden) const {
  const auto layer = [&](const Tensor& x, const RecurrentWeights& weights, const Tensor& hidden, const Tensor&) {
    return LSTMResult{{}, rnn_layer(x, weights, hidden, {}, nonlinearity).hidden, {}};
  };
  return run_cell(kRnnCell, *this, x, {hidden, {}}, layer).hidden;
}

LSTMCell::LSTMCell(int64_t input_size, int64_t hidden_size, bool bias)
    : RecurrentDirection(checked_inputs(kLstmCell, input_size, hidden_size), hidden_size, 4, bias) {}

LSTMState LSTMCell::operator()(const Tensor& x, const LSTMState& state) const {
  require_both(weight_ih, kLstmCell, state);
  const auto layer = [](const Tensor& x, const RecurrentWeights& weights, const Tensor& hidden, const Tensor& cell) {
    return lstm_layer(x, weights, hidden, cell);
  };
  return run_cell(kLstmCell, *this, x, state, layer);
}

GRUCell::GRUCell(int64_t input_size, int64_t hidden_size, bool bias)
    : RecurrentDirection(checked_inputs(kGruCell, input_size, hidden_size), hidden_size, 3, bias) {}

Tensor GRUCell::operator()(const Tensor& x, const Tensor& hidden) const {
  const auto layer = [](const Tensor& x, const RecurrentWeights& weights, const Tensor& hidden, const Tensor&) {
    return LSTMResult{{}, gru_layer(x, weights, hidden).hidden, {}};
  };
  return run_cell(kGruCell, *this, x, {hidden, {}}, layer).hidden;
}

}  // namespace tapegrad::nn
