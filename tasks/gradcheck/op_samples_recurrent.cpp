// Samples of recurrent layers: all results, joined.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/recurrent.h>
#include <tapegrad/tasks/gradcheck/op_samples.h>

namespace tapegrad::tasks {
namespace {

struct Form {
  std::string_view op;
  int64_t gates;
  // x, weights, hidden, cell
  std::function<std::vector<Tensor>(const Tensor&, const RecurrentWeights&, const Tensor&, const Tensor&,
                                    const RecurrentLayerOptions&)>
      f;
};

struct Sizes {
  int64_t steps, batch, inputs, width;
};

struct Given {
  bool bias = true, states = true;
  RecurrentLayerOptions options = {};
};

void add(
    SampleTable& table, const Form& form, std::string_view label, const Sizes& s, const Given& given,
    const std::function<Tensor(const Tensor&)>& laid = [](const Tensor& x) { return x; }) {
  const int64_t rows = form.gates * s.width;
  std::vector<Tensor> inputs = {laid(spread({s.steps, s.batch, s.inputs}, -1, 1)),
                                laid(spread({rows, s.inputs}, -0.7, 0.9)), laid(spread({rows, s.width}, -0.8, 0.7))};
  if (given.bias) {
    inputs.push_back(spread({rows}, 0.4, 1.3));
    inputs.push_back(spread({rows}, -0.5, 0.3));
  }
  if (given.states) {
    inputs.push_back(laid(spread({s.batch, s.width}, -0.9, 0.8)));
    if (form.op == "lstm_layer") inputs.push_back(laid(spread({s.batch, s.width}, -0.6, 1)));
  }
  table.add(form.op, label, std::move(inputs), [form, given](std::span<const Tensor> x) {
    std::size_t i = 3;
    RecurrentWeights weights{x[1], x[2]};
    if (given.bias) {
      weights.bias_ih = x[i++];
      weights.bias_hh = x[i++];
    }
    const Tensor hidden = given.states ? x[i++] : Tensor();
    std::vector<Tensor> parts;
    for (const Tensor& part : form.f(x[0], weights, hidden, i < x.size() ? x[i] : Tensor(), given.options)) {
      parts.push_back(part.reshape({-1}));
    }
    return cat(parts);
  });
}

void add_layer(SampleTable& table, const Form& form) {
  for (const bool reverse : {false, true}) {
    const std::string_view way = reverse ? ", reverse" : "";
    const RecurrentLayerOptions options{.reverse = reverse};
    add(table, form, fmt::format("one number{}", way), {1, 1, 1, 1}, {.options = options});
    add(table, form, fmt::format("[3, 2, 2]{}", way), {3, 2, 2, 2}, {.options = options});
    add(table, form, fmt::format("a batch in pieces{}", way), {2, 13, 1, 1}, {.options = options});
    add(table, form, fmt::format("without states{}", way), {3, 2, 1, 2}, {.states = false, .options = options});
    add(table, form, fmt::format("weights alone{}", way), {2, 2, 1, 2},
        {.bias = false, .states = false, .options = options});
    add(table, form, fmt::format("lengths{}", way), {3, 3, 1, 2},
        {.options = {.reverse = reverse, .lengths = tensor({2, 3, 1})}});
  }
  add(table, form, "no sequence", {2, 0, 2, 2}, {});
  add(table, form, "transposed", {2, 2, 2, 2}, {}, [](const Tensor& x) { return x.t().contiguous().t(); });
  add(table, form, "every second element", {2, 2, 2, 2}, {}, [](const Tensor& x) {
    return stack({x, x}, -1).reshape(x.dim() == 3 ? Shape{2, 2, 4} : Shape{x.size(0), 4}).slice(-1, 0, kAll, 2);
  });
}

}  // namespace

void add_recurrent_samples(SampleTable& table) {
  for (const Nonlinearity f : {Nonlinearity::tanh, Nonlinearity::relu}) {
    add_layer(table, {"rnn_layer", 1,
                      [f](const Tensor& x, const RecurrentWeights& weights, const Tensor& hidden, const Tensor&,
                          const RecurrentLayerOptions& options) -> std::vector<Tensor> {
                        const RecurrentResult y = rnn_layer(x, weights, hidden, options, f);
                        return {y.output, y.hidden};
                      }});
  }
  add_layer(table, {"lstm_layer", 4,
                    [](const Tensor& x, const RecurrentWeights& weights, const Tensor& hidden, const Tensor& cell,
                       const RecurrentLayerOptions& options) -> std::vector<Tensor> {
                      const LSTMResult y = lstm_layer(x, weights, hidden, cell, options);
                      return {y.output, y.hidden, y.cell};
                    }});
  add_layer(table, {"gru_layer", 3,
                    [](const Tensor& x, const RecurrentWeights& weights, const Tensor& hidden, const Tensor&,
                       const RecurrentLayerOptions& options) -> std::vector<Tensor> {
                      const RecurrentResult y = gru_layer(x, weights, hidden, options);
                      return {y.output, y.hidden};
                    }});
}

}  // namespace tapegrad::tasks
