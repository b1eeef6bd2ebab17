// Applies the operations of a trace.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tutorials/step/trace.h>

#include <limits>

namespace tapegrad::tasks::step {

using nlohmann::ordered_json;

Parameters::Parameters(const NamedTensors& state) {
  for (const NamedTensor& one : state) {
    if (is_floating(one.tensor.dtype())) leaves_.emplace(one.name, nn::Parameter(one.tensor.detach().to(kFloat64)));
  }
}

const nn::Parameter& Parameters::operator[](std::string_view name) const {
  const auto found = leaves_.find(name);
  if (found == leaves_.end()) {
    fail("explain step", fmt::format("the model has no parameter \"{}\" (expected a model that is not quantised and "
                                     "has no low-rank updates)",
                                     name));
  }
  return found->second;
}

NamedTensors Parameters::leaves() const {
  NamedTensors all;
  for (const auto& [name, leaf] : leaves_) all.push_back({name, leaf.tensor()});
  return all;
}

int64_t Trace::enter(Node node) {
  nodes_.push_back(std::move(node));
  return static_cast<int64_t>(nodes_.size()) - 1;
}

// --- what a step begins with ---

int64_t Trace::tokens(std::string name, const Tensor& ids, ordered_json settings) {
  return enter({"tokens", std::move(name), {}, std::move(settings), ids});
}

int64_t Trace::constant(std::string name, const Tensor& value) {
  return enter({"constant", std::move(name), {}, {}, value.detach().to(kFloat64)});
}

int64_t Trace::parameter(const std::string& name) {
  const auto found = entered_.find(name);
  if (found != entered_.end()) return found->second;
  return entered_[name] = enter({"parameter", name, {}, {}, parameters_[name].tensor()});
}

// --- operations ---

int64_t Trace::rows(std::string name, int64_t table, int64_t tokens, std::optional<int64_t> padding) {
  ordered_json settings;
  if (padding) settings["padding"] = *padding;
  return enter({"rows", std::move(name), {table, tokens}, settings, embedding(value(table), value(tokens), padding)});
}

int64_t Trace::first_rows(std::string name, int64_t table, int64_t count) {
  return enter({"first_rows", std::move(name), {table}, {{"count", count}}, narrow(value(table), 0, 0, count)});
}

int64_t Trace::add(std::string name, int64_t a, int64_t b) {
  return enter({"add", std::move(name), {a, b}, {}, value(a) + value(b)});
}

int64_t Trace::linear(std::string name, int64_t x, const std::string& layer) {
  const int64_t weight = parameter(layer + ".weight");
  if (!parameters_.has(layer + ".bias")) return product(std::move(name), x, weight);
  const int64_t bias = parameter(layer + ".bias");
  return enter(
      {"linear", std::move(name), {x, weight, bias}, {}, tapegrad::linear(value(x), value(weight), value(bias))});
}

int64_t Trace::product(std::string name, int64_t x, int64_t weight) {
  return enter({"linear", std::move(name), {x, weight}, {}, tapegrad::linear(value(x), value(weight))});
}

int64_t Trace::norm(std::string name, int64_t x, const std::string& factor, const std::string& shift, double eps,
                    bool of_std) {
  const int64_t g = parameter(factor), b = parameter(shift);
  const Tensor y =
      of_std ? layer_norm_std(value(x), value(g), value(b), eps) : layer_norm(value(x), value(g), value(b), eps);
  return enter({of_std ? "norm_std" : "norm", std::move(name), {x, g, b}, {{"eps", eps}}, y});
}

int64_t Trace::heads(std::string name, int64_t x, int64_t count) {
  const Tensor& of_x = value(x);
  const Tensor y = of_x.reshape({of_x.size(0), count, of_x.size(1) / count}).transpose(0, 1);
  return enter({"heads", std::move(name), {x}, {{"count", count}}, y});
}

int64_t Trace::join(std::string name, int64_t x) {
  const Tensor& of_x = value(x);
  const Tensor y = of_x.transpose(0, 1).reshape({of_x.size(1), of_x.size(0) * of_x.size(2)});
  return enter({"join", std::move(name), {x}, {}, y});
}

int64_t Trace::scores(std::string name, int64_t q, int64_t k) {
  return enter({"scores", std::move(name), {q, k}, {}, matmul(value(q), value(k).transpose(1, 2))});
}

int64_t Trace::scale(std::string name, int64_t x, double factor) {
  return enter({"scale", std::move(name), {x}, {{"factor", factor}}, value(x) * factor});
}

int64_t Trace::mask(std::string name, int64_t x, const Mask& mask) {
  const Tensor y = masked_fill(value(x), logical_not(mask.visible), -std::numeric_limits<double>::infinity());
  return enter({"mask", std::move(name), {x}, mask.rule, y});
}

int64_t Trace::softmax(std::string name, int64_t x) {
  return enter({"softmax", std::move(name), {x}, {}, tapegrad::softmax(value(x), -1)});
}

int64_t Trace::mix(std::string name, int64_t weights, int64_t values) {
  return enter({"mix", std::move(name), {weights, values}, {}, matmul(value(weights), value(values))});
}

int64_t Trace::activation(std::string name, int64_t x, nn::Activation kind) {
  return enter({std::string(nn::name(kind)), std::move(name), {x}, {}, nn::activate(kind, value(x))});
}

int64_t Trace::log_softmax(std::string name, int64_t x) {
  return enter({"log_softmax", std::move(name), {x}, {}, tapegrad::log_softmax(value(x), -1)});
}

int64_t Trace::loss(std::string name, int64_t logs, int64_t target, std::string_view form,
                    std::optional<int64_t> ignored, const Tensor& value) {
  ordered_json settings{{"form", form}};
  if (ignored) settings["ignored"] = *ignored;
  return enter({"loss", std::move(name), {logs, target}, settings, value});
}

}  // namespace tapegrad::tasks::step
