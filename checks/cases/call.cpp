// Attributes of calls.
#include <tapegrad/checks/cases/call.h>

#include <sstream>

namespace tapegrad::tasks {

Tensor named(const Inputs& x, const json& attributes, const char* name) {
  if (!attributes.contains("names")) return {};
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (attributes["names"][i] == name) return x[i];
  }
  return {};
}

Dims dims(const json& list) {
  Dims out;
  for (const json& value : list) out.push_back(value.get<int64_t>());
  return out;
}

Dims dims(const json& attributes, const char* key) { return attributes.contains(key) ? dims(attributes[key]) : Dims(); }

std::vector<int64_t> list(const json& attributes, const char* key) {
  return attributes.at(key).get<std::vector<int64_t>>();
}

int64_t integer(const json& attributes, const char* key, int64_t otherwise) { return attributes.value(key, otherwise); }

std::optional<double> number(const json& attributes, const char* key) {
  return attributes.contains(key) ? std::optional(read<double>(attributes[key])) : std::nullopt;
}

PadMode pad_mode(const json& attributes, const char* key) {
  const std::string mode = attributes.value(key, "constant");
  return mode == "reflect"     ? PadMode::reflect
         : mode == "replicate" ? PadMode::replicate
         : mode == "circular"  ? PadMode::circular
                               : PadMode::constant;
}

DType dtype(const json& attributes) {
  const std::string& wanted = attributes.at("dtype").string();
  for (DType one : {kBool, kUInt8, kInt32, kInt64, kFloat16, kBFloat16, kFloat32}) {
    if (name(one) == wanted) return one;
  }
  return kFloat64;
}

std::vector<Attribute> attributes_of(std::string_view text) {
  std::vector<Attribute> all;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    all.push_back(
        {word.substr(0, equals), equals == std::string::npos ? json() : json::parse(word.substr(equals + 1))});
  }
  return all;
}

Outputs outputs(Tensor y) { return {std::move(y)}; }
Outputs outputs(bool y) { return {full({}, y, kBool)}; }

}  // namespace tapegrad::tasks
