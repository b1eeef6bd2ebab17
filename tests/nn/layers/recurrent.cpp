// Recurrent networks: parameters, results and gradients against PyTorch's, sequences of several lengths, and errors.
// ctest: families products
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

// [shape, values]
Tensor read(const Json& entry) {
  Shape shape;
  for (const Json& size : entry[0]) shape.push_back(size.get<int64_t>());
  return tensor(entry[1].get<std::vector<float>>(), shape);
}

Tensor weighted_sum(const Tensor& y) { return sum(y.reshape({-1}) * linspace(0.5, 1.5, y.numel(), y.dtype())); }

// --- PyTorch's answers ---

std::vector<Tensor> results(const RecurrentResult& y) { return {y.output, y.hidden}; }
std::vector<Tensor> results(const LSTMResult& y) { return {y.output, y.hidden, y.cell}; }
std::vector<Tensor> results(const nn::LSTMState& y) { return {y.hidden, y.cell}; }
std::vector<Tensor> results(const Tensor& y) { return {y}; }

// What a module gave in PyTorch; `call` takes the module, x and the states.
template <class Module, class Call>
void expect_stored(const Json& entry, Module module, Call call) {
  const std::string what = entry["module"].get<std::string>() + entry["options"].dump() + entry["call"].dump();
  const auto parameters = nn::named_parameters(module);
  ASSERT_EQ(parameters.size(), entry["parameters"].size()) << what;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_EQ(entry["parameters"][i][0], parameters[i].name) << what;
    expect_close(parameters[i].parameter, entry["parameters"][i][1], {1e-6, 1e-8}, what + parameters[i].name);
  }
  if (entry["call"].contains("eval")) nn::eval(module);
  const Tensor x = read(entry["x"]).as_leaf();
  std::vector<Tensor> states;
  for (const Json& state : entry["states"]) states.push_back(read(state).as_leaf());
  states.resize(2);
  Tape tape;
  const std::vector<Tensor> found = call(module, x, states);
  ASSERT_EQ(found.size(), entry["results"].size()) << what;
  Tensor loss = scalar(0);
  for (std::size_t i = 0; i < found.size(); ++i) {
    expect_close(found[i], entry["results"][i], {1e-5, 2e-6}, what + " result " + std::to_string(i));
    loss = loss + weighted_sum(found[i]);
  }
  const Gradients grads = tape.backward(loss);
  const Json& expected = entry["grads"];
  const Room room{2e-5, 1e-5};
  expect_close_gradients(module, grads, expected, room);
  expect_close(grads[x], expected["x"], room, what + " gradient of x");
  if (states[0].defined()) expect_close(grads[states[0]], expected["hidden"], room, what + " gradient of hidden");
  if (states[1].defined()) expect_close(grads[states[1]], expected["cell"], room, what + " gradient of cell");
}

TEST(Recurrent, EqualsPyTorch) {
  const Tensor some = tensor({2, 4, 1});
  for (const Json& entry : stored("recurrent.json")) {
    const Json& given = entry["options"];
    const nn::RecurrentOptions options{.num_layers = given.value("num_layers", 1),
                                       .bias = given.value("bias", true),
                                       .batch_first = given.value("batch_first", false),
                                       .dropout = given.value("dropout", 0.0),
                                       .bidirectional = given.value("bidirectional", false)};
    const Tensor lengths = entry["call"].contains("lengths") ? some : Tensor();
    const auto layer = [&](const auto& module, const Tensor& x, const std::vector<Tensor>& states) {
      return results(module(x, states[0], lengths));
    };
    const auto cell = [](const auto& module, const Tensor& x, const std::vector<Tensor>& states) {
      return results(module(x, states[0]));
    };
    const std::string kind = entry["module"];
    const Nonlinearity f = kind.ends_with("relu") ? Nonlinearity::relu : Nonlinearity::tanh;
    manual_seed(entry["seed"].get<uint64_t>());
    if (kind.starts_with("RNNCell")) {
      expect_stored(entry, nn::RNNCell(2, 3, options.bias, f), cell);
    } else if (kind == "GRUCell") {
      expect_stored(entry, nn::GRUCell(2, 3, options.bias), cell);
    } else if (kind == "LSTMCell") {
      expect_stored(entry, nn::LSTMCell(2, 3, options.bias),
                    [](const nn::LSTMCell& module, const Tensor& x, const std::vector<Tensor>& states) {
                      return results(module(x, {states[0], states[1]}));
                    });
    } else if (kind == "LSTM") {
      expect_stored(entry, nn::LSTM(2, 3, options),
                    [&](const nn::LSTM& module, const Tensor& x, const std::vector<Tensor>& states) {
                      return results(module(x, {states[0], states[1]}, lengths));
                    });
    } else if (kind == "GRU") {
      expect_stored(entry, nn::GRU(2, 3, options), layer);
    } else {
      expect_stored(entry, nn::RNN(2, 3, options, f), layer);
    }
    if (testing::Test::HasFailure()) return;
  }
}

// --- different ways to compute the same result ---

// What a sequence gives alone: golden/families_recurrent.py.
TEST(Recurrent, InputsAfterTheEndOfASequenceHaveNoInfluence) {
  const nn::LSTM model(3, 5, {.num_layers = 2, .bidirectional = true});
  const Tensor x = randn({7, 13, 3}), lengths = tensor({4, 7, 1, 5, 7, 2, 3, 6, 1, 7, 4, 2, 5});
  const Tensor after = (arange(7).unsqueeze(1) >= lengths).unsqueeze(2);
  const auto results = [&](double value) {
    const Tensor leaf = masked_fill(x, after, value).as_leaf();
    Tape tape;
    const LSTMResult y = model(leaf, {}, lengths);
    const Gradients grads = tape.backward(weighted_sum(y.output) + sum(y.hidden * 2) + sum(y.cell * 3));
    EXPECT_EQ(amax(abs(masked_fill(y.output, !after, 0))).item(), 0);
    EXPECT_EQ(amax(abs(masked_fill(grads[leaf], !after, 0))).item(), 0);
    std::vector<Tensor> all{y.output.detach(), y.hidden.detach(), y.cell.detach(), grads[leaf]};
    for (const NamedTensor& p : nn::parameters(model)) all.push_back(grads[p.tensor]);
    return all;
  };
  expect_same_results(results, {0.0, kNan});
}

// A layer compared with its cell, step by step: few and many sequences, a weight that every piece of the batch reads,
// and one that is too large for that.
template <class Layer, class Cell>
void expect_equal_cells(int64_t steps, int64_t batch, int64_t width) {
  const Layer layer(3, width);
  Cell cell(3, width);
  NamedTensors state = nn::state_dict(layer);
  for (auto& [name, values] : state) name = name.substr(0, name.size() - 3);
  nn::load_state_dict(cell, state);
  const Tensor x = randn({steps, batch, 3}).as_leaf(), dy = randn({steps, batch, width});
  Tape one;
  const Tensor y = layer(x).output;
  const Gradients grads = one.backward(y, {.create_graph = false, .grad_output = dy, .keep = {}});
  Tape other;
  std::vector<Tensor> outputs;
  nn::LSTMState now;
  for (int64_t t = 0; t < steps; ++t) {
    if constexpr (std::is_same_v<Cell, nn::LSTMCell>) {
      now = cell(x[t], now);
    } else {
      now.hidden = cell(x[t], now.hidden);
    }
    outputs.push_back(now.hidden);
  }
  const Tensor by_steps = stack(outputs);
  const Gradients of_steps = other.backward(by_steps, {.create_graph = false, .grad_output = dy, .keep = {}});
  const auto near = [&](const Tensor& a, const Tensor& b, const std::string& what) {
    const double largest = std::max(1.0, amax(abs(b.detach())).item());
    EXPECT_LT(amax(abs(a.detach() - b.detach())).item(), 2e-5 * largest) << what << " of " << str(y.shape());
  };
  near(y, by_steps, "output");
  near(grads[x], of_steps[x], "gradient of x");
  const auto of_layer = nn::named_parameters(layer), of_cell = nn::named_parameters(cell);
  for (std::size_t i = 0; i < of_layer.size(); ++i) {
    near(grads[of_layer[i].parameter], of_steps[of_cell[i].parameter], of_layer[i].name);
  }
}

TEST(Recurrent, LayersEqualTheirCells) {
  for (const auto& [steps, batch, width] :
       {std::array<int64_t, 3>{5, 1, 9}, {5, 3, 40}, {4, 7, 33}, {3, 12, 16}, {3, 40, 65}, {2, 13, 1500}}) {
    expect_equal_cells<nn::RNN, nn::RNNCell>(steps, batch, width);
    if (width > 1000) continue;
    expect_equal_cells<nn::GRU, nn::GRUCell>(steps, batch, width);
    expect_equal_cells<nn::LSTM, nn::LSTMCell>(steps, batch, width);
  }
}

TEST(Recurrent, EmptyBatch) {
  const nn::GRU model(3, 4, {.bidirectional = true});
  const Tensor x = zeros({5, 0, 3}).as_leaf();
  Tape tape;
  const auto [output, hidden] = model(x);
  EXPECT_EQ(output.shape(), (Shape{5, 0, 8}));
  EXPECT_EQ(hidden.shape(), (Shape{2, 0, 4}));
  const Gradients grads = tape.backward(sum(output));
  EXPECT_EQ(grads[x].shape(), x.shape());
  EXPECT_EQ(amax(abs(grads[model.parts[0].weight_ih])).item(), 0);
}

// --- errors ---

TEST(Recurrent, ErrorsOfModules) {  // those of layers: autograd/cases/error_texts/recurrent.txt
  const nn::LSTM model(3, 4, {.num_layers = 2, .bidirectional = true});
  const nn::GRU first(3, 4, {.batch_first = true});
  const nn::LSTMCell cell(3, 4);
  const Tensor x = zeros({5, 2, 3}), h = zeros({4, 2, 4});
  const auto error = [](auto f) { return error_of([&] { f(); }); };
  EXPECT_EQ(error([] { nn::RNN(0, 4); }), "[rnn] expected input_size > 0, got 0");
  EXPECT_EQ(error([] { nn::LSTM(3, -1); }), "[lstm] expected hidden_size > 0, got -1");
  EXPECT_EQ(error([] { nn::GRU(3, 4, {.num_layers = 0}); }), "[gru] expected num_layers > 0, got 0");
  EXPECT_EQ(error([] { nn::GRUCell(3, 0); }), "[gru_cell] expected hidden_size > 0, got 0");
  EXPECT_EQ(error([] { nn::GRU(3, 4, {.dropout = 2}); }), "[gru] expected dropout in [0, 1], got 2");
  EXPECT_EQ(error([&] { model(zeros({3})); }), "[lstm] expected x [T, B, I] or [T, I], got [3]");
  EXPECT_EQ(error([&] { first(zeros({1, 5, 2, 3})); }), "[gru] expected x [B, T, I] or [T, I], got [1, 5, 2, 3]");
  EXPECT_EQ(error([&] { model(zeros({5, 2, 4})); }), "[lstm] expected x with a last axis of 3, got [5, 2, 4]");
  EXPECT_EQ(error([&] { model(x, {h, zeros({4, 4})}); }), "[lstm] expected a cell state [4, 2, 4], got [4, 4]");
  EXPECT_EQ(error([&] { first(x, zeros({1, 2, 4})); }), "[gru] expected a hidden state [1, 5, 4], got [1, 2, 4]");
  EXPECT_EQ(error([&] { first(x[0], zeros({1, 2, 4})); }), "[gru] expected a hidden state [1, 4], got [1, 2, 4]");
  EXPECT_EQ(error([&] { model(x, {h, {}}); }), "[lstm] expected both states or none, got no cell state");
  EXPECT_EQ(error([&] { model(x, {{}, h}); }), "[lstm] expected both states or none, got no hidden state");
  EXPECT_EQ(error([&] { cell(x); }), "[lstm_cell] expected x [B, 3] or [3], got [5, 2, 3]");
  EXPECT_TEXT(error([&] { cell(x[0], {zeros({3, 4}), zeros({2, 4})}); }));
}

}  // namespace
}  // namespace tapegrad::tests
