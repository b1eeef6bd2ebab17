// Reads calls of operations and of distributions from text.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/checks/cases/case.h>
#include <tapegrad/tests/autograd/random/distribution_cases.h>
#include <tapegrad/tests/support/call_text.h>
#include <tapegrad/tests/support/patterns.h>

namespace tapegrad::tests {
namespace {

using tasks::json;

// Numbers in place of the strings "inf", "-inf" and "nan".
void restore_numbers(json& value) {
  if (value.is_array())
    for (json& one : value) restore_numbers(one);
  if (value == "inf" || value == "-inf" || value == "nan") value = std::stod(value.get<std::string>());
}

// JSON that may have the words inf, -inf and nan.
json parsed(const std::string& text) {
  static const Pattern kNotFinite("(^|[\\[ ])(-?inf|nan)(?=$|[\\],])");
  json value = json::parse(kNotFinite.replaced(text, "$1\"$2\""));
  restore_numbers(value);
  return value;
}

// The numbers of nested lists, in order; `shape` gets the length of each level.
void flatten(const json& list, std::size_t level, Shape& shape, std::vector<json>& numbers) {
  if (!list.is_array()) return numbers.push_back(list);
  if (static_cast<std::size_t>(shape.rank()) == level) shape.push_back(static_cast<int64_t>(list.size()));
  for (const json& one : list) flatten(one, level + 1, shape, numbers);
}

// Bools, integers or floats, as tensor({...}) makes them, but floats in float64.
Tensor tensor_of(const json& list) {
  Shape shape;
  std::vector<json> all;
  flatten(list, 0, shape, all);
  std::vector<double> values;
  std::vector<int64_t> integers;
  DType dtype = kBool;
  for (const json& one : all) {
    if (one.is_number_integer() && dtype == kBool) dtype = kInt64;
    if (one.is_number_float()) dtype = kFloat64;
    if (one.is_number_integer()) integers.push_back(one.get<int64_t>());
    values.push_back(one.is_boolean() ? one.get<bool>() : one.get<double>());
  }
  return dtype == kInt64 ? tensor(integers, shape) : tensor(values, shape).to(dtype);
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

Tensor operand_of(const std::string& text, DType floats) {
  if (text == "none") return {};
  if (text.starts_with("float [")) return zeros(tasks::dims(json::parse(text.substr(6))), floats);
  for (const DType dtype : {kBool, kUInt8, kInt32, kInt64, kFloat16, kBFloat16, kFloat32, kFloat64}) {
    const std::string prefix = fmt::format("{} ", name(dtype)), ending = fmt::format(" as {}", name(dtype));
    if (text.ends_with(ending)) return tensor_of(parsed(text.substr(0, text.size() - ending.size()))).to(dtype);
    if (!text.starts_with(prefix)) continue;
    const Shape shape = tasks::dims(json::parse(text.substr(prefix.size())));
    return zeros(shape, is_half(dtype) ? kFloat32 : dtype).to(dtype);
  }
  const Tensor x = tensor_of(parsed(text));
  return is_floating(x.dtype()) ? x.to(floats) : x;
}

// --- distributions ---

namespace {

// Whose parameters are `names.size()` tensors from the one at `first` on.
struct NamedDistribution {
  std::string maker;
  std::vector<std::string> names;
  std::size_t first;
  Made made(const std::vector<Tensor>& x) const {
    Parameters parameters;
    for (std::size_t i = 0; i < names.size(); ++i) parameters[names[i]] = x[first + i];
    return distribution_makers().at(maker)(parameters);
  }
};

// Of "Normal(loc: 0.0, scale: 1.0)". Its parameters are added to `tensors`.
NamedDistribution read_distribution(const std::string& maker, const std::string& arguments,
                                    std::vector<Tensor>& tensors, DType floats) {
  NamedDistribution d{maker, {}, tensors.size()};
  for (const std::string& argument : arguments_in(arguments)) {
    const std::size_t colon = argument.find(": ");
    d.names.push_back(argument.substr(0, colon));
    tensors.push_back(operand_of(argument.substr(colon + 2), floats));
  }
  return d;
}

ReadCall read_call_of_distribution(const Match& parts, DType floats) {
  static const Pattern kOther("([\\w.]+)\\((.*)\\)");
  ReadCall call;
  const NamedDistribution p = read_distribution(parts[1], parts[2], call.tensors, floats);
  const std::string& function = parts[3];
  if (function == "kl_divergence") {
    const Match other = kOther.whole(parts[4]);
    const NamedDistribution q = read_distribution(other[1], other[2], call.tensors, floats);
    call.f = [p, q](auto& x) { return std::vector{dist::kl_divergence(*p.made(x), *q.made(x))}; };
  } else if (function == "log_prob") {
    call.tensors.push_back(operand_of(parts[4], floats));
    call.f = [p](auto& x) { return std::vector{p.made(x)->log_prob(x.back())}; };
  } else {
    call.f = [p, function](auto& x) -> std::vector<Tensor> {
      const Made made = p.made(x);
      if (function.empty()) return {};
      return {function == "entropy" ? made->entropy() : function == "mean" ? made->mean() : made->rsample()};
    };
  }
  return call;
}

}  // namespace

ReadCall read_call(const std::string& line, DType floats) {
  static const Pattern kDistribution("([A-Z][\\w.]*)\\(([^()]*)\\)(?:\\.(\\w+)\\((.*)\\))?(?: in float\\d\\d)?");
  if (const Match parts = kDistribution.whole(line); !parts.empty()) return read_call_of_distribution(parts, floats);
  const std::size_t open = line.find('('), close = line.rfind(')');
  const auto call = tasks::op_cases().calls.find(line.substr(0, open));
  if (call == tasks::op_cases().calls.end()) fail("called", "no operation in checks/cases has the name of " + line);
  tasks::Inputs tensors;
  json attributes = json::object();
  for (const std::string& argument : arguments_in(line.substr(open + 1, close - open - 1))) {
    const std::size_t colon = argument.find(": ");
    if (colon == std::string::npos) {
      tensors.push_back(operand_of(argument, floats));
    } else {
      attributes[argument.substr(0, colon)] = parsed(argument.substr(colon + 2));
    }
  }
  return {tensors, [&f = call->second, attributes](const std::vector<Tensor>& x) { return f(x, attributes); }};
}

std::vector<Tensor> called(const std::string& line) {
  const ReadCall call = read_call(line);
  return call.f(call.tensors);
}

}  // namespace tapegrad::tests
