// Recurrent layers: the loop over the steps outside of the tape, and its backward with one product per weight.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/product/blas.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/recurrent/detail/recurrent_layer.h>
#include <tapegrad/autograd/recurrent.h>

#include <cstring>
#include <optional>

namespace tapegrad {
namespace {

const Op kRnnLayer{"rnn_layer"};
const Op kLstmLayer{"lstm_layer"};
const Op kGruLayer{"gru_layer"};

const Op& op_of(Recurrent kind) {
  return kind == Recurrent::lstm ? kLstmLayer : kind == Recurrent::gru ? kGruLayer : kRnnLayer;
}

// --- the products of the steps ---

constexpr int64_t kLeastRows = 12;                  // a batch of at least this size is divided among threads,
constexpr int64_t kPieceRows = 16;                  // in pieces of at most this size,
constexpr int64_t kLargeWeight = int64_t{8} << 20;  // unless every piece would read a weight of more bytes than this
constexpr int64_t kDotRows = 3;                     // up to this number of rows an unpacked weight is as fast

// Rows of the batch that run through all steps together. Pieces do not wait for each other; if the batch is one piece,
// each product is divided among threads.
int64_t rows_of_piece(const RecurrentLayer& layer) {
  const int64_t batch = layer.batch(), weight = layer.weights.weight_hh.numel() * item_size(layer.x.dtype());
  if (batch < kLeastRows || layer.steps() == 1 || weight > kLargeWeight) return batch;
  const int64_t pieces = std::max<int64_t>(2, pieces_of(batch, kPieceRows));
  return pieces_of(batch, pieces);
}

// C += A B for one B [k, n] at every step.
template <class T>
class StepProduct {
 public:
  StepProduct(const RecurrentLayer& layer, int64_t k, int64_t n, MatrixView<const T> b) : k_(k), n_(n), b_(b) {
    if (layer.steps() > 1 && layer.batch() > kDotRows) packed_.emplace(k, n, b);
  }
  void operator()(int64_t rows, const T* a, int64_t a_rows, T* c, int64_t c_rows) const {
    if (packed_) {
      packed_->multiply(rows, a, a_rows, T{1}, c, c_rows);
    } else {
      gemm<T>(rows, n_, k_, T{1}, {a, a_rows, 1}, b_, T{1}, {c, c_rows, 1});
    }
  }

 private:
  const int64_t k_, n_;
  const MatrixView<const T> b_;
  std::optional<PackedMatrix<T>> packed_;
};

// Elements of a layer's tensors by row and sequence.
template <class T>
T* at(const Tensor& x, int64_t row, const RecurrentLayer& layer, int64_t sequence = 0) {
  return x.mutable_data<T>() + (row * layer.batch() + sequence) * x.size(-1);
}

RecurrentStep step_at(const RecurrentLayer& layer, int64_t t, const Tensor& bias, const Tensor& output) {
  return with_floating_type(layer.x.dtype(), [&]<class T>(T) -> RecurrentStep {
    const bool lstm = layer.kind == Recurrent::lstm;
    return {.kind = layer.kind,
            .dtype = layer.x.dtype(),
            .width = layer.width(),
            .time = t,
            .lengths = layer.lengths.defined() ? layer.lengths.data<int64_t>() : nullptr,
            .bias = data_or_null(bias),
            .gates = at<T>(layer.gates, t, layer),
            .hidden_before = at<T>(layer.states, layer.before(t), layer),
            .hidden = at<T>(layer.states, layer.after(t), layer),
            .cell_before = lstm ? at<T>(layer.cells, layer.before(t), layer) : nullptr,
            .cell = lstm ? at<T>(layer.cells, layer.after(t), layer) : nullptr,
            .output = output.defined() ? at<T>(output, layer.after(t), layer) : nullptr};
  });
}

// --- gates ---

// Columns of the gates that belong to rows of weight_ih.
struct GateBlock {
  int64_t column, row, size;
};

struct GateBlocks {
  GateBlock blocks[2];
  int count;
  const GateBlock* begin() const { return blocks; }
  const GateBlock* end() const { return blocks + count; }
};

// GRU: r and z are the first rows of the weights, and the middle columns of the gates.
GateBlocks blocks_of(const RecurrentLayer& layer) {
  const int64_t width = layer.width();
  if (layer.kind == Recurrent::gru) return {{{width, 0, 2 * width}, {0, 2 * width, width}}, 2};
  return {{{0, 0, layer.columns()}, {}}, 1};
}

// The first column of the gates that the product with the hidden state is added to; it ends at the last one.
int64_t recurrent_column(const RecurrentLayer& layer) { return layer.columns() - layer.weights.weight_hh.size(0); }

// One row of gates: the sum of both biases.
template <class T>
Tensor bias_row(const RecurrentLayer& layer) {
  const Tensor row = zeros({layer.columns()}, layer.x.dtype());
  T* const to = row.mutable_data<T>();
  if (layer.weights.bias_ih.defined()) {
    const T* const bias = layer.weights.bias_ih.data<T>();
    for (const GateBlock& b : blocks_of(layer)) std::copy_n(bias + b.row, b.size, to + b.column);
  }
  if (layer.weights.bias_hh.defined()) {
    const T* const bias = layer.weights.bias_hh.data<T>();
    const int64_t first = recurrent_column(layer);
    for (int64_t i = first; i < layer.columns(); ++i) to[i] += bias[i - first];
  }
  return row;
}

// --- forward ---

void copy_state(const Tensor& to, int64_t to_row, const Tensor& from, int64_t from_row) {
  const int64_t bytes = to.size(1) * to.size(2) * item_size(to.dtype());
  auto* const target = static_cast<std::byte*>(to.mutable_raw_data()) + to_row * bytes;
  if (from.defined()) {
    std::memcpy(target, static_cast<const std::byte*>(from.raw_data()) + from_row * bytes,
                static_cast<std::size_t>(bytes));
  } else {
    std::memset(target, 0, static_cast<std::size_t>(bytes));
  }
}

// Fills gates, states and cells, and with lengths the outputs.
template <class T>
void run_forward(const RecurrentLayer& layer, const Tensor& outputs) {
  const int64_t width = layer.width(), columns = layer.columns(), inputs = layer.inputs();
  const RecurrentWeights& w = layer.weights;
  for (const GateBlock& b : blocks_of(layer)) {
    gemm<T>(layer.steps() * layer.batch(), b.size, inputs, T{1}, {layer.x.data<T>(), inputs, 1},
            {w.weight_ih.data<T>() + b.row * inputs, 1, inputs}, T{0},
            {layer.gates.mutable_data<T>() + b.column, columns, 1});
  }
  copy_state(layer.states, layer.first_row(), layer.hidden, 0);
  if (layer.cells.defined()) copy_state(layer.cells, layer.first_row(), layer.cell, 0);
  const int64_t first = recurrent_column(layer);
  const Tensor bias = bias_row<T>(layer);
  const StepProduct<T> product(layer, width, w.weight_hh.size(0), {w.weight_hh.data<T>(), 1, width});
  parallel_for(layer.batch(), rows_of_piece(layer), [&](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < layer.steps(); ++i) {
      const int64_t t = layer.time(i);
      T* const gates = at<T>(layer.gates, t, layer, begin);
      for (int64_t row = 0; first > 0 && row < end - begin; ++row) {  // GRU: the product with x has no such columns
        std::fill_n(gates + row * columns + columns - width, width, T{0});
      }
      product(end - begin, at<T>(layer.states, layer.before(t), layer, begin), width, gates + first, columns);
      const RecurrentStep step = step_at(layer, t, bias, outputs);
      parallel_for(end - begin, rows_grain(columns),
                   [&](int64_t low, int64_t high) { recurrent_step(step, begin + low, begin + high); });
    }
  });
}

// --- backward ---

struct Wanted {
  bool x, weight_ih, weight_hh, bias_ih, bias_hh, hidden, cell;
};

// Writes the gradients of the gates' sums over the gates. Returns those of the initial states.
template <class T>
std::pair<Tensor, Tensor> gate_gradients(const RecurrentLayer& layer, const Tensor& dy, bool wants_hidden) {
  const int64_t width = layer.width(), columns = layer.columns(), first = recurrent_column(layer);
  const bool lstm = layer.kind == Recurrent::lstm;
  const Shape state{1, layer.batch(), width};
  const Tensor dh = Tensor::empty(state, dy.dtype()), dc = lstm ? Tensor::empty(state, dy.dtype()) : Tensor();
  copy_state(dh, 0, layer.lengths.defined() ? dy : Tensor(), layer.first_row());
  if (lstm) copy_state(dc, 0, dy, layer.steps() + 1);
  const StepProduct<T> product(layer, layer.weights.weight_hh.size(0), width,
                               {layer.weights.weight_hh.data<T>(), width, 1});
  parallel_for(layer.batch(), rows_of_piece(layer), [&](int64_t begin, int64_t end) {
    for (int64_t i = layer.steps() - 1; i >= 0; --i) {
      const int64_t t = layer.time(i);
      const RecurrentStep step = step_at(layer, t, Tensor(), Tensor());
      const RecurrentStepGradients gradients{.output = at<T>(dy, layer.after(t), layer),
                                             .hidden = dh.mutable_raw_data(),
                                             .cell = mutable_data_or_null(dc)};
      parallel_for(end - begin, rows_grain(columns), [&](int64_t low, int64_t high) {
        recurrent_step_backward(step, gradients, begin + low, begin + high);
      });
      if (i == 0 && !wants_hidden) break;
      product(end - begin, at<T>(layer.gates, t, layer, begin) + first, columns, at<T>(dh, 0, layer, begin), width);
    }
  });
  const Tensor dhidden = dh.view({layer.batch(), width}, {width, 1});
  return {wants_hidden && !layer.lengths.defined() ? dhidden + dy[layer.first_row()] : dhidden,
          lstm ? dc.view({layer.batch(), width}, {width, 1}) : Tensor()};
}

// The hidden states before each step, [T * B, H].
Tensor states_before(const RecurrentLayer& layer) {
  const int64_t width = layer.width();
  return layer.states.view({layer.steps() * layer.batch(), width}, {width, 1}, layer.before(0) * layer.batch() * width);
}

template <class T>
Grads fused_backward(const RecurrentLayer& layer, const Wanted& wants, const Tensor& given) {
  const Tensor dy = packed(given);
  const auto [dhidden, dcell] = gate_gradients<T>(layer, dy, wants.hidden);
  const int64_t rows = layer.steps() * layer.batch(), width = layer.width(), inputs = layer.inputs();
  const int64_t columns = layer.columns(), first = recurrent_column(layer);
  const RecurrentWeights& w = layer.weights;
  const T* const dgates = layer.gates.data<T>();
  const auto fresh = [](bool wanted, const Tensor& like) {
    return wanted ? Tensor::empty(like.shape(), like.dtype()) : Tensor();
  };
  const Tensor dx = fresh(wants.x, layer.x), dweight_ih = fresh(wants.weight_ih, w.weight_ih);
  const Tensor dweight_hh = fresh(wants.weight_hh, w.weight_hh);
  T beta{0};
  for (const GateBlock& b : blocks_of(layer)) {
    if (wants.x) {
      gemm<T>(rows, inputs, b.size, T{1}, {dgates + b.column, columns, 1},
              {w.weight_ih.data<T>() + b.row * inputs, inputs, 1}, beta, {dx.mutable_data<T>(), inputs, 1});
    }
    if (wants.weight_ih) {
      gemm<T>(b.size, inputs, rows, T{1}, {dgates + b.column, 1, columns}, {layer.x.data<T>(), inputs, 1}, T{0},
              {dweight_ih.mutable_data<T>() + b.row * inputs, inputs, 1});
    }
    beta = T{1};
  }
  if (wants.weight_hh) {
    gemm<T>(w.weight_hh.size(0), width, rows, T{1}, {dgates + first, 1, columns},
            {states_before(layer).data<T>(), width, 1}, T{0}, {dweight_hh.mutable_data<T>(), width, 1});
  }
  Tensor dbias_ih, dbias_hh;
  if (wants.bias_ih || wants.bias_hh) {
    const Tensor sums = sum(layer.gates, 0);
    dbias_ih = first == 0 ? sums : cat({sums.slice(0, first, 3 * width), sums.slice(0, 0, first)});
    dbias_hh = sums.slice(0, first);
  }
  Grads grads;
  for (const Tensor& grad : {dx, dweight_ih, dweight_hh, dbias_ih, dbias_hh, dhidden, dcell}) grads.push_back(grad);
  return grads;
}

Grads layer_backward(const RecurrentLayer& layer, const Wanted& wants, const Tensor& dy, const BackwardPass& pass) {
  if (Tape::current()) return recorded_backward(layer, dy);
  if (pass.retained) {  // backward writes over the gates
    RecurrentLayer copy = layer;
    copy.gates = layer.gates.clone();
    return with_floating_type(dy.dtype(), [&](auto t) { return fused_backward<decltype(t)>(copy, wants, dy); });
  }
  return with_floating_type(dy.dtype(), [&](auto t) { return fused_backward<decltype(t)>(layer, wants, dy); });
}

// --- calls ---

void require_shape(const Op& op, const Tensor& x, const Shape& shape, std::string_view what) {
  if (x.defined() && !(x.shape() == shape)) fail(op, "expected {} {}, got {}", what, shape, x.shape());
}

void require_lengths(const Op& op, const Tensor& lengths, int64_t steps) {
  const int64_t* const values = lengths.data<int64_t>();
  for (int64_t i = 0; i < lengths.numel(); ++i) {
    require(values[i] >= 1 && !(values[i] > steps), op, "expected lengths from 1 to {}, got {} at {}", steps, values[i],
            i);
  }
}

void require_layer(const Op& op, Recurrent kind, const Tensor& x, const RecurrentWeights& w, const Tensor& hidden,
                   const Tensor& cell, const Tensor& lengths) {
  require_floating(op.name, {&x, &w.weight_ih, &w.weight_hh, &w.bias_ih, &w.bias_hh, &hidden, &cell});
  const int64_t gates = gate_rows(kind);
  if (w.weight_hh.dim() != 2 || w.weight_hh.size(1) == 0 || w.weight_hh.size(0) != gates * w.weight_hh.size(1)) {
    fail(op, "expected a weight_hh [{}H, H], got {}", gates == 1 ? "" : fmt::format("{} ", gates), w.weight_hh.shape());
  }
  const int64_t width = w.weight_hh.size(1);
  require(x.dim() == 3 && x.size(0) != 0, op, "expected x [T, B, I] with a step or more, got {}", x.shape());
  require_shape(op, w.weight_ih, {gates * width, x.size(2)}, "a weight_ih");
  require_shape(op, w.bias_ih, {gates * width}, "a bias_ih");
  require_shape(op, w.bias_hh, {gates * width}, "a bias_hh");
  require_shape(op, hidden, {x.size(1), width}, "a hidden state");
  require_shape(op, cell, {x.size(1), width}, "a cell state");
  if (!lengths.defined()) return;
  require(lengths.dtype() == kInt64 && lengths.shape() == Shape{x.size(1)}, op,
          "expected lengths int64 [{}], got {} {}", x.size(1), lengths.dtype(), lengths.shape());
}

LSTMResult run_layer(Recurrent kind, const Tensor& given, const RecurrentWeights& weights, const Tensor& hidden,
                     const Tensor& cell, const RecurrentLayerOptions& options) {
  const Op& op = op_of(kind);
  require_layer(op, kind, given, weights, hidden, cell, options.lengths);
  const auto whole = contiguous_or_empty;
  const Tensor lengths = whole(options.lengths);
  const bool lstm = kind == Recurrent::lstm, shorter = lengths.defined();
  if (shorter) require_lengths(op, lengths, given.size(0));
  RecurrentLayer layer{
      .kind = kind,
      .reverse = options.reverse,
      .x = shorter ? where(steps_of(lengths, given.size(0)), given, 0) : given.contiguous(),
      .weights = {whole(weights.weight_ih), whole(weights.weight_hh), whole(weights.bias_ih), whole(weights.bias_hh)},
      .hidden = whole(hidden),
      .cell = whole(cell),
      .lengths = lengths};
  const int64_t steps = layer.steps(), batch = layer.batch(), width = layer.width();
  const DType dtype = given.dtype();
  const Tensor y = Tensor::empty({steps + 1 + lstm, batch, width}, dtype);
  layer.gates = Tensor::empty({steps * batch, layer.columns()}, dtype);
  layer.states = shorter ? Tensor::empty({steps + 1, batch, width}, dtype) : y;
  if (lstm) layer.cells = Tensor::empty({steps + 1, batch, width}, dtype);
  with_floating_type(dtype, [&](auto t) { run_forward<decltype(t)>(layer, shorter ? y : Tensor()); });
  if (shorter) copy_state(y, layer.first_row(), layer.states, layer.last_row());
  if (lstm) copy_state(y, steps + 1, layer.cells, layer.last_row());

  const RecurrentWeights& w = layer.weights;
  const Wanted wants{.x = needs_grad(layer.x),
                     .weight_ih = needs_grad(w.weight_ih),
                     .weight_hh = needs_grad(w.weight_hh),
                     .bias_ih = needs_grad(w.bias_ih),
                     .bias_hh = needs_grad(w.bias_hh),
                     .hidden = needs_grad(layer.hidden),
                     .cell = needs_grad(layer.cell)};
  const int64_t first = layer.after(0), last = shorter ? layer.first_row() : layer.last_row();
  const Tensor all = record(
      op, y, {layer.x, w.weight_ih, w.weight_hh, w.bias_ih, w.bias_hh, layer.hidden, layer.cell},
      [layer, wants](const Tensor& dy, const BackwardPass& pass) { return layer_backward(layer, wants, dy, pass); });
  return {all.slice(0, first, first + steps), all[last], lstm ? all[steps + 1] : Tensor()};
}

}  // namespace

RecurrentResult rnn_layer(const Tensor& x, const RecurrentWeights& weights, const Tensor& hidden,
                          const RecurrentLayerOptions& options, Nonlinearity nonlinearity) {
  const Recurrent kind = nonlinearity == Nonlinearity::relu ? Recurrent::rnn_relu : Recurrent::rnn_tanh;
  const LSTMResult y = run_layer(kind, x, weights, hidden, {}, options);
  return {y.output, y.hidden};
}

LSTMResult lstm_layer(const Tensor& x, const RecurrentWeights& weights, const Tensor& hidden, const Tensor& cell,
                      const RecurrentLayerOptions& options) {
  return run_layer(Recurrent::lstm, x, weights, hidden, cell, options);
}

RecurrentResult gru_layer(const Tensor& x, const RecurrentWeights& weights, const Tensor& hidden,
                          const RecurrentLayerOptions& options) {
  const LSTMResult y = run_layer(Recurrent::gru, x, weights, hidden, {}, options);
  return {y.output, y.hidden};
}

}  // namespace tapegrad
