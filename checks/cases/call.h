// How an operation is called by its name, tensors and attributes (JSON), and how attributes are read.
#pragma once

#include <tapegrad/autograd/io/internal/json_value.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/spatial.h>
#include <tapegrad/checks/cases/rule.h>

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapegrad::tasks {

using json = Json;
using Inputs = std::vector<Tensor>;
using Outputs = std::vector<Tensor>;
using OpCall = std::function<Outputs(const Inputs& x, const json& attributes)>;
inline const json kNone = json::object();  // no attributes

// Input i; an empty handle if there are fewer. The input that attributes["names"] gives this name.
inline Tensor input(const Inputs& x, std::size_t i) { return i < x.size() ? x[i] : Tensor(); }
Tensor named(const Inputs& x, const json& attributes, const char* name);

// --- attributes, which may be missing ---

Dims dims(const json& list);
Dims dims(const json& attributes, const char* key);
std::vector<int64_t> list(const json& attributes, const char* key);
int64_t integer(const json& attributes, const char* key, int64_t otherwise = 0);
std::optional<double> number(const json& attributes, const char* key);  // also "inf" and "-inf"
PadMode pad_mode(const json& attributes, const char* key);
DType dtype(const json& attributes);
// A number, or a list of one for each axis; operations reject a wrong count.
template <class T = int64_t>
PerAxis<T> per_axis(const json& attributes, const char* key, const std::type_identity_t<PerAxis<T>>& otherwise = {}) {
  if (!attributes.contains(key)) return otherwise;
  const json& value = attributes[key];
  if (!value.is_array()) return value.get<T>();
  const std::vector<T> all = value.get<std::vector<T>>();
  if (all.size() < 2) return all.empty() ? PerAxis<T>() : PerAxis<T>(all[0]);
  if (all.size() == 2) return {all[0], all[1]};
  if (all.size() == 3) return {all[0], all[1], all[2]};
  return {all[0], all[1], all[2], all[3]};
}

// --- calls of functions, made from their types ---

// "axis=-1 keepdim": the names of the arguments that are not tensors, in order, with their defaults in JSON.
struct Attribute {
  std::string name;
  json otherwise;  // null: false, 0, nothing
};
std::vector<Attribute> attributes_of(std::string_view text);

template <class T>
inline constexpr bool kIsNumber = std::is_same_v<T, double> || std::is_same_v<T, Scalar>;

template <class T>
T read(const json& value) {
  if constexpr (std::is_same_v<T, Axes> || std::is_same_v<T, Dims> || std::is_same_v<T, Shape>) {
    return value.is_null() ? T() : value.is_array() ? T(dims(value)) : T(Dims{value.get<int64_t>()});
  } else if constexpr (requires { typename T::value_type; }) {  // a std::optional
    return value.is_null() ? T() : T(read<typename T::value_type>(value));
  } else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, Flag>) {
    return value.is_boolean() ? value.get<bool>() : !value.is_null() && value.get<int>() != 0;
  } else if constexpr (kIsNumber<T>) {
    if (value.is_string())
      return value == "inf" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
    return value.is_null() ? 0 : value.get<double>();
  } else {
    static_assert(std::is_same_v<T, int64_t>);
    return value.is_null() ? 0 : value.get<int64_t>();
  }
}

Outputs outputs(Tensor y);
Outputs outputs(bool y);
inline Outputs outputs(std::vector<Tensor> y) { return y; }
inline Outputs outputs(const std::pair<Tensor, Tensor>& y) { return {y.first, y.second}; }
template <class T>
requires requires(T y) { y.values, y.indices; }
Outputs outputs(const T& y) { return {y.values, y.indices}; }

template <class R, class... A>
OpCall call_of(R (*f)(A...), std::string_view attributes) {
  return [f, names = attributes_of(attributes)](const Inputs& x, const json& given) -> Outputs {
    std::size_t tensor = 0, attribute = 0;
    const auto next = [&]<class T>(std::type_identity<T>) -> T {
      if constexpr (std::is_same_v<T, Tensor>) {
        return input(x, tensor++);
      } else if constexpr (std::is_same_v<T, std::span<const Tensor>>) {
        return x;
      } else {
        const auto& [name, otherwise] = names.at(attribute++);
        return read<T>(given.contains(name) ? given[name] : otherwise);
      }
    };
    std::tuple<std::decay_t<A>...> values{next(std::type_identity<std::decay_t<A>>())...};
    return outputs(std::apply(f, values));
  };
}

// --- rules of functions: f({t0}, {t1}, {i0}, {d0}), where the last attributes have their defaults ---

struct RuleText {
  std::string cpp, python;
  std::size_t tensors = 0, integers = 0, numbers = 0;
  // In Python a flag is bool({i0}).
  template <class T>
  void add() {
    constexpr bool kTensor = std::is_same_v<T, Tensor>, kNumber = kIsNumber<T>;
    const std::size_t k = (kTensor ? tensors : kNumber ? numbers : integers)++;
    const std::string part = std::string("{") + (kTensor ? 't' : kNumber ? 'd' : 'i') + std::to_string(k) + "}";
    cpp += (cpp.empty() ? "" : ", ") + part;
    python += (python.empty() ? "" : ", ") + (std::is_same_v<T, bool> ? "bool(" + part + ")" : part);
  }
};

// `python` is "F.glu", or ".glu" for a method of the first tensor. `drawn`: how many attributes the rule draws; the
// others are left out.
template <class R, class... A>
Rule rule_of(const std::string& name, R (*f)(A...), std::string_view attributes, const std::string& python,
             DrawRule draw, Smooth smooth, std::size_t drawn) {
  RuleText text;
  std::size_t count = 0;
  const auto add = [&]<class T>(std::type_identity<T>) {
    if (std::is_same_v<T, Tensor> || count++ < drawn) text.add<T>();
  };
  (add(std::type_identity<std::decay_t<A>>()), ...);
  constexpr bool kPicks = requires(R y) { y.values; };
  std::string of = python + "(" + text.python + ")";
  if (python.starts_with('.')) {
    const std::size_t comma = text.python.find(", ");
    of = "{t0}" + python + "(" + (comma == std::string::npos ? "" : text.python.substr(comma + 2)) + ")";
  }
  const auto run = [f, drawn, names = attributes_of(attributes)](const Arguments& a) -> Tensor {
    std::size_t tensor = 0, integer = 0, number = 0, attribute = 0;
    const auto next = [&]<class T>(std::type_identity<T>) -> T {
      if constexpr (std::is_same_v<T, Tensor>) {
        return a.t[tensor++];
      } else {
        const std::size_t at = attribute++;
        if (at >= drawn) return read<T>(names.at(at).otherwise);
        if constexpr (kIsNumber<T>)
          return a.d(number++);
        else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, Flag>)
          return a.i(integer++) != 0;
        else if constexpr (std::is_same_v<T, Axes>)
          return Axes(Dims{a.i(integer++)});
        else
          return a.i(integer++);
      }
    };
    std::tuple<std::decay_t<A>...> values{next(std::type_identity<std::decay_t<A>>())...};
    if constexpr (kPicks)
      return std::apply(f, values).values;
    else
      return std::apply(f, values);
  };
  return {name + "(" + text.cpp + ")" + (kPicks ? ".values" : ""), of + (kPicks ? "[0]" : ""), std::move(draw), run,
          std::move(smooth)};
}

}  // namespace tapegrad::tasks
