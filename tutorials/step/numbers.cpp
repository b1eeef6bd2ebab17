// Computes a step, and writes its numbers as JSON.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tutorials/step/step.h>

#include <bit>
#include <cmath>
#include <cstring>

namespace tapegrad::tasks::step {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void append(std::vector<float>& out, const Tensor& x) {
  for (const double value : x.detach().contiguous().to_vector<double>()) out.push_back(static_cast<float>(value));
}

std::vector<int64_t> sizes_of(const Tensor& x) { return {x.shape().begin(), x.shape().end()}; }

// Node i of the trace, with the place of its values in the two arrays.
ordered_json node_json(const Node& node, std::size_t at) {
  ordered_json json{{"op", node.op}, {"name", node.name}, {"inputs", node.inputs}, {"shape", sizes_of(node.value)}};
  json["settings"] = node.settings.is_null() ? ordered_json::object() : node.settings;
  if (node.op == "tokens") {
    json["settings"]["ids"] = node.value.to_vector<int64_t>();
  } else {
    json["at"] = at;
  }
  return json;
}

bool is_recorded(const Node& node) { return node.op != "tokens" && node.op != "constant"; }

// The loss, with what backward found for every node.
Gradients gradients_of(Tape& tape, const Trace& trace) {
  BackwardOptions options;
  for (const Node& node : trace.nodes())
    if (is_recorded(node) && node.op != "parameter") options.keep.push_back(node.value);
  return tape.backward(trace.nodes().back().value, options);
}

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

ordered_json step_json(const Step& step) {
  std::vector<float> values, gradients;
  ordered_json nodes = ordered_json::array();
  double loss = 0;
  {
    Tape tape;
    Trace trace(*step.parameters);
    step.forward(trace);
    const Gradients grads = gradients_of(tape, trace);
    for (const Node& node : trace.nodes()) {
      nodes.push_back(node_json(node, values.size()));
      if (node.op == "tokens") continue;
      append(values, node.value);
      const Tensor* grad = is_recorded(node) ? grads.find(node.value) : nullptr;
      append(gradients, grad != nullptr ? *grad : zeros(node.value.shape(), kFloat64));
    }
    loss = trace.nodes().back().value.item();
    optim::AdamW(step.parameters->leaves(), step.optimizer).step(grads);
  }
  Trace after(*step.parameters);
  step.forward(after);
  const optim::AdamWOptions& o = step.optimizer;
  ordered_json json{{"task", step.task}, {"what", step.what}, {"loss", loss}, {"own_loss", step.own_loss}};
  json["loss_after"] = after.nodes().back().value.item();
  json["optimizer"] = {
      {"name", step.optimizer_name}, {"lr", o.lr}, {"eps", o.eps}, {"weight_decay", o.weight_decay.value_or(0.01)}};
  for (int64_t id = 0; id < step.vocab_size; ++id) json["vocabulary"].push_back(step.token_text(id));
  json["nodes"] = std::move(nodes);
  json["values"] = to_base64(values);
  json["gradients"] = to_base64(gradients);
  return json;
}

}  // namespace tapegrad::tasks::step
