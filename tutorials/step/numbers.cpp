// Computes a step, and writes its numbers as JSON.
#include <fmt/format.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tutorials/step/step.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>
#include <variant>

namespace tapegrad::tasks::step {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void append(std::vector<float>& out, const Tensor& x) {
  const std::vector<float> values = x.detach().to(kFloat32).contiguous().to_vector<float>();
  out.insert(out.end(), values.begin(), values.end());
}

// A number in JSON, which has no infinities: JavaScript's Number() reads their names.
Json number_json(double x) {
  if (std::isfinite(x)) return x;
  return std::isnan(x) ? "NaN" : x < 0 ? "-Infinity" : "Infinity";
}

// Without the copies that expand() makes of one element.
Tensor unexpanded(Tensor x) {
  for (int i = 0; i < x.dim(); ++i)
    if (x.strides()[i] == 0 && x.size(i) > 1) x = narrow(x, i, 0, 1);
  return x;
}

// The nodes of a page: what the pass was given, then parameters and operations that the loss depends on, each after
// the constants that it takes.
class Nodes {
 public:
  explicit Nodes(const Step& step) : operations_(step.pass.operations), places_(operations_.size(), -1) {
    for (const Given& given : step.given) {
      Json node{{"op", given.op}, {"name", given.name}, {"inputs", given.inputs}};
      if (!given.settings.is_null()) node["settings"] = given.settings;
      known_[memory_of(given.value)] = add(std::move(node), given.value);
    }
    for (std::size_t i = 0; i < operations_.size(); ++i)
      if (operations_[i].gradient.defined()) places_[i] = add_operation(operations_[i]);
  }

  Json json = Json::array();
  std::vector<float> values, gradients;

 private:
  using Memory = std::pair<const void*, int64_t>;
  static Memory memory_of(const Tensor& x) { return {x.raw_data(), x.numel()}; }
  static std::vector<int64_t> sizes_of(const Dims& dims) { return {dims.begin(), dims.end()}; }

  int64_t add(Json node, const Tensor& value, const Tensor& gradient = {}) {
    if (!node.contains("inputs")) node["inputs"] = Json::array();
    if (!node.contains("settings")) node["settings"] = Json::object();
    node["shape"] = sizes_of(value.shape());
    node["at"] = values.size();
    append(values, value);
    append(gradients, gradient.defined() ? gradient : zeros(value.shape()));
    json.push_back(std::move(node));
    return static_cast<int64_t>(json.size()) - 1;
  }
  // A view of all elements of a tensor that is known, such as tokens [1, T] of [T], follows from it.
  int64_t constant(const std::string& name, const Tensor& given) {
    const Tensor value = unexpanded(given);
    Json node{{"op", "constant"}, {"name", name}};
    if (!value.is_contiguous()) return add(std::move(node), value);
    const auto [found, fresh] = known_.emplace(memory_of(value), -1);
    if (fresh) return found->second = add(std::move(node), value);
    if (json[static_cast<std::size_t>(found->second)]["shape"] == sizes_of(value.shape())) return found->second;
    node["op"] = "reshape";
    node["inputs"] = {found->second};
    return add(std::move(node), value);
  }
  int64_t input(const nn::WatchedOperation& op, std::size_t k, const std::string& name) {
    if (op.inputs[k] < 0) return op.constants[k].defined() ? constant(name + ".constant", op.constants[k]) : -1;
    const auto from = static_cast<std::size_t>(op.inputs[k]);
    return places_[from] >= 0 ? places_[from] : constant(std::string(operations_[from].name), operations_[from].value);
  }
  int64_t add_operation(const nn::WatchedOperation& op) {
    if (op.name == "leaf") return add({{"op", "parameter"}, {"name", op.module}}, op.value, op.gradient);
    const std::string name = fmt::format("{}{}{}", op.module, op.module.empty() ? "" : ".", op.name);
    Json node{{"op", op.name}, {"name", name}};
    for (std::size_t k = 0; k < op.inputs.size(); ++k) node["inputs"].push_back(input(op, k, name));
    for (const auto& [key, setting] : op.settings) {
      const std::string called(key);
      if (const double* const number = std::get_if<double>(&setting)) {
        node["settings"][called] = number_json(*number);
      } else if (const Dims* const axes = std::get_if<Dims>(&setting)) {
        node["settings"][called] = sizes_of(*axes);
      } else if (const Tensor& tensor = std::get<Tensor>(setting); tensor.defined()) {
        node["tensors"][called] = constant(name + "." + called, tensor);
      }
    }
    return add(std::move(node), op.value, op.gradient);
  }

  const std::vector<nn::WatchedOperation>& operations_;
  std::vector<int64_t> places_;      // of operations among the nodes; -1: none
  std::map<Memory, int64_t> known_;  // given tensors and constants
};

}  // namespace

std::string to_base64(const std::vector<float>& values) {
  static_assert(std::endian::native == std::endian::little);
  std::vector<unsigned char> bytes(values.size() * sizeof(float));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    for (std::size_t j = 0; j < 3; ++j) three = three << 8U | (i + j < bytes.size() ? bytes[i + j] : 0U);
    for (std::size_t j = 0; j < 4; ++j)
      out += i + j > bytes.size() ? '=' : kDigits[three >> (18 - 6 * static_cast<unsigned>(j)) & 63U];
  }
  return out;
}

std::vector<float> from_base64(std::string_view text) {
  std::string bytes;
  uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : text.substr(0, text.find('='))) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) fail("base64", fmt::format("expected letters, digits, + and /, got '{}'", c));
    bits = bits << 6U | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 255U);
  }
  if (bytes.size() % sizeof(float) != 0)
    fail("base64", fmt::format("expected whole numbers of 4 bytes, got {} bytes", bytes.size()));
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

Step watched_step(nn::AnyModel model, const std::function<Tensor()>& loss, const optim::AdamWOptions& optimizer) {
  Step step{.pass = nn::watch(model, loss, {.gradients = true, .plain_attention = true}), .optimizer = optimizer};
  const nn::EvalMode eval(model);
  {
    Tape tape;
    const Tensor before = loss();
    optim::AdamW(nn::parameters(model), optimizer).step(tape.backward(before));
  }
  step.loss_after = loss().item();
  return step;
}

Json step_json(const Step& step) {
  Nodes nodes(step);
  const optim::AdamWOptions& o = step.optimizer;
  Json json{{"task", step.task}, {"what", step.what}, {"loss", step.pass.result.item()}};
  json["own_loss"] = step.own_loss;
  json["loss_after"] = step.loss_after;
  json["optimizer"] = {{"lr", o.lr}, {"eps", o.eps}, {"weight_decay", o.weight_decay.value_or(0.01)}};
  json["vocabulary"] = Json::array();
  for (int64_t id = 0; id < step.vocab_size; ++id) json["vocabulary"].push_back(step.token_text(id));
  json["nodes"] = std::move(nodes.json);
  json["values"] = to_base64(nodes.values);
  json["gradients"] = to_base64(nodes.gradients);
  return json;
}

}  // namespace tapegrad::tasks::step
