// Reads calls of operations from text.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/checks/cases/case.h>
#include <tapegrad/tests/support/call_text.h>

namespace tapegrad::tests {
namespace {

using tasks::json;

// The numbers of nested lists, in order; `shape` gets the length of each level.
void flatten(const json& list, std::size_t level, Shape& shape, std::vector<json>& numbers) {
  if (!list.is_array()) return numbers.push_back(list);
  if (static_cast<std::size_t>(shape.rank()) == level) shape.push_back(static_cast<int64_t>(list.size()));
  for (const json& one : list) flatten(one, level + 1, shape, numbers);
}

// Bools, integers or floats, as tensor({...}) makes them.
Tensor tensor_of(const json& list) {
  Shape shape;
  std::vector<json> all;
  flatten(list, 0, shape, all);
  std::vector<double> values;
  DType dtype = kBool;
  for (const json& one : all) {
    if (one.is_number_integer() && dtype == kBool) dtype = kInt64;
    if (one.is_number_float()) dtype = kFloat32;
    values.push_back(one.is_boolean() ? one.get<bool>() : one.get<double>());
  }
  return tensor(values, shape).to(dtype);
}

}  // namespace

std::vector<std::string> arguments_in(const std::string& text) {
  std::vector<std::string> parts;
  int depth = 0;
  bool quoted = false, begins = true;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '[' || c == '{')) ++depth;
    if (!quoted && (c == ']' || c == '}')) --depth;
    if (begins && c == ' ') continue;
    if (begins) parts.emplace_back();
    begins = c == ',' && depth == 0 && !quoted;
    if (!begins) parts.back() += c;
  }
  return parts;
}

Tensor operand_of(const std::string& text) {
  if (text == "none") return {};
  for (const DType dtype : {kBool, kUInt8, kInt32, kInt64, kFloat16, kBFloat16, kFloat32, kFloat64}) {
    const std::string prefix = fmt::format("{} ", name(dtype));
    if (!text.starts_with(prefix)) continue;
    const Shape shape = tasks::dims(json::parse(text.substr(prefix.size())));
    return zeros(shape, is_half(dtype) ? kFloat32 : dtype).to(dtype);
  }
  return tensor_of(json::parse(text));
}

ReadCall read_call(const std::string& line) {
  const std::size_t open = line.find('('), close = line.rfind(')');
  const auto call = tasks::op_cases().calls.find(line.substr(0, open));
  if (call == tasks::op_cases().calls.end()) fail("called", "no operation in checks/cases has the name of " + line);
  tasks::Inputs tensors;
  json attributes = json::object();
  for (const std::string& argument : arguments_in(line.substr(open + 1, close - open - 1))) {
    const std::size_t colon = argument.find(": ");
    if (colon == std::string::npos) {
      tensors.push_back(operand_of(argument));
    } else {
      attributes[argument.substr(0, colon)] = json::parse(argument.substr(colon + 2));
    }
  }
  return {tensors, [&f = call->second, attributes](const std::vector<Tensor>& x) { return f(x, attributes); }};
}

std::vector<Tensor> called(const std::string& line) {
  const ReadCall call = read_call(line);
  return call.f(call.tensors);
}

}  // namespace tapegrad::tests
