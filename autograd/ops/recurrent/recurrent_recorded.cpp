// Backward of a recurrent layer, made of recorded operations, for second-order gradients: recomputes the steps, then
// runs backward through them.
// build: -Os
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/recurrent/detail/recurrent_layer.h>

namespace tapegrad {
namespace {

// The i-th of the equal parts of the last axis.
Tensor part(const Tensor& x, int64_t i, int64_t width) { return x.slice(-1, i * width, (i + 1) * width); }

Tensor sigmoid_slope(const Tensor& y) { return y * (1 - y); }
Tensor tanh_slope(const Tensor& y) { return 1 - y * y; }

// The values of one step.
struct Step {
  Tensor hidden_before, cell_before, hidden = {}, cell = {};
  Tensor gates[4] = {};  // LSTM: i f g o; GRU: n r z, and the part of n that r multiplies
};

// a [B, G H]: the products with x; b: those with the hidden state.
Step step_forward(Recurrent kind, const Tensor& a, const Tensor& b, const Tensor& hidden, const Tensor& cell) {
  Step s{.hidden_before = hidden, .cell_before = cell};
  const int64_t width = hidden.size(-1);
  if (kind == Recurrent::lstm) {
    const Tensor sum = a + b;
    for (int64_t i : {0, 1, 3}) s.gates[i] = sigmoid(part(sum, i, width));
    s.gates[2] = tanh(part(sum, 2, width));
    s.cell = s.gates[1] * cell + s.gates[0] * s.gates[2];
    s.hidden = s.gates[3] * tanh(s.cell);
  } else if (kind == Recurrent::gru) {
    for (int64_t i : {0, 1}) s.gates[1 + i] = sigmoid(part(a, i, width) + part(b, i, width));
    s.gates[3] = part(b, 2, width);
    s.gates[0] = tanh(part(a, 2, width) + s.gates[1] * s.gates[3]);
    s.hidden = s.gates[0] + s.gates[2] * (hidden - s.gates[0]);
  } else {
    s.hidden = kind == Recurrent::rnn_relu ? relu(a + b) : tanh(a + b);
  }
  return s;
}

// The gradients of a step's products with x (da) and with the hidden state (db), and the gradients that bypass them.
struct StepGradients {
  Tensor da, db;
  Tensor hidden_before, cell_before;  // the first is empty for zeros
};

StepGradients step_backward(Recurrent kind, const Step& s, const Tensor& dh, const Tensor& dc) {
  if (kind == Recurrent::lstm) {
    const auto& [i, f, g, o] = s.gates;
    const Tensor t = tanh(s.cell), e = dh * o * tanh_slope(t) + dc;
    const Tensor d = cat({e * g * sigmoid_slope(i), e * s.cell_before * sigmoid_slope(f), e * i * tanh_slope(g),
                          dh * t * sigmoid_slope(o)},
                         -1);
    return {d, d, Tensor(), e * f};
  }
  if (kind == Recurrent::gru) {
    const auto& [n, r, z, h] = s.gates;
    const Tensor dn = dh * (1 - z) * tanh_slope(n), dr = dn * h * sigmoid_slope(r);
    const Tensor dz = dh * (s.hidden_before - n) * sigmoid_slope(z);
    return {cat({dr, dz, dn}, -1), cat({dr, dz, dn * r}, -1), dh * z, Tensor()};
  }
  const Tensor d = kind == Recurrent::rnn_relu ? where(s.hidden <= 0, 0, dh) : dh * tanh_slope(s.hidden);
  return {d, d, Tensor(), Tensor()};
}

Tensor rows(const Tensor& x) { return x.reshape({x.size(0) * x.size(1), x.size(2)}); }

}  // namespace

Tensor steps_of(const Tensor& lengths, int64_t steps) {
  return (arange(steps).unsqueeze(1) < lengths.unsqueeze(0)).unsqueeze(2);
}

Grads recorded_backward(const RecurrentLayer& layer, const Tensor& dy) {
  const int64_t steps = layer.steps();
  const RecurrentWeights& w = layer.weights;
  const bool lstm = layer.kind == Recurrent::lstm;
  const Tensor none = zeros({layer.batch(), layer.width()}, layer.x.dtype());
  const Tensor valid = layer.lengths.defined() ? steps_of(layer.lengths, steps) : Tensor();

  PoolVector<Step> done(static_cast<std::size_t>(steps));
  Tensor h = layer.hidden.defined() ? layer.hidden : none, c = layer.cell.defined() ? layer.cell : none;
  const Tensor from_x = linear(layer.x, w.weight_ih, w.bias_ih);
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t t = layer.time(i);
    Step& step = done[static_cast<std::size_t>(t)];
    step = step_forward(layer.kind, from_x[t], linear(h, w.weight_hh, w.bias_hh), h, c);
    h = valid.defined() ? where(valid[t], step.hidden, h) : step.hidden;
    if (lstm) c = valid.defined() ? where(valid[t], step.cell, c) : step.cell;
  }

  PoolVector<Tensor> da(done.size()), db(done.size()), before(done.size());
  Tensor dh = valid.defined() ? dy[layer.first_row()] : none, dc = lstm ? dy[steps + 1] : Tensor();
  for (int64_t i = steps - 1; i >= 0; --i) {
    const int64_t t = layer.time(i);
    const auto at = static_cast<std::size_t>(t);
    Tensor through = dh + dy[layer.after(t)], of_cell = dc;
    if (valid.defined()) {
      through = where(valid[t], through, 0);
      if (lstm) of_cell = where(valid[t], dc, 0);
    }
    const StepGradients d = step_backward(layer.kind, done[at], through, of_cell);
    Tensor next = matmul(d.db, w.weight_hh);
    if (d.hidden_before.defined()) next = next + d.hidden_before;
    dh = valid.defined() ? where(valid[t], next, dh) : next;
    if (lstm) dc = valid.defined() ? where(valid[t], d.cell_before, dc) : d.cell_before;
    da[at] = d.da;
    db[at] = d.db;
    before[at] = done[at].hidden_before;
  }
  if (!valid.defined()) dh = dh + dy[layer.first_row()];

  const Tensor of_x = stack(da), of_hidden = rows(stack(db));
  Grads grads;
  grads.push_back(matmul(of_x, w.weight_ih));
  grads.push_back(matmul(rows(of_x).t(), rows(layer.x)));
  grads.push_back(matmul(of_hidden.t(), rows(stack(before))));
  grads.push_back(sum(rows(of_x), 0));
  grads.push_back(sum(of_hidden, 0));
  grads.push_back(dh);
  grads.push_back(dc);
  return grads;
}

}  // namespace tapegrad
