// Reads the inputs and arguments of calls in golden files.
#pragma once

#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/spatial.h>
#include <tapegrad/tests/golden/cases.h>

#include <optional>
#include <type_traits>

namespace tapegrad::tests {

using nlohmann::json;
using Inputs = std::vector<Tensor>;
using Outputs = std::vector<Tensor>;

// Input i; an empty handle if there are fewer.
inline Tensor input(const Inputs& x, std::size_t i) { return i < x.size() ? x[i] : Tensor(); }

inline Dims dims(const json& list) {
  Dims out;
  for (const json& value : list) out.push_back(value.get<int64_t>());
  return out;
}

// Arguments that may be left out.
inline Dims dims(const json& args, const char* key) { return args.contains(key) ? dims(args[key]) : Dims(); }
inline int64_t integer(const json& args, const char* key, int64_t otherwise = 0) { return args.value(key, otherwise); }
inline std::optional<double> number(const json& args, const char* key) {
  return args.contains(key) ? std::optional(args[key].get<double>()) : std::nullopt;
}
inline PadMode pad_mode(const json& args, const char* key) {
  const std::string mode = args.value(key, "constant");
  return mode == "reflect"     ? PadMode::reflect
         : mode == "replicate" ? PadMode::replicate
         : mode == "circular"  ? PadMode::circular
                               : PadMode::constant;
}
// A number or a list of two.
template <class T = int64_t>
PerAxis<T> per_axis(const json& args, const char* key, const std::type_identity_t<PerAxis<T>>& otherwise = {}) {
  if (!args.contains(key)) return otherwise;
  if (args[key].is_array()) return {args[key][0].get<T>(), args[key][1].get<T>()};
  return args[key].get<T>();
}

}  // namespace tapegrad::tests
