// Reads golden files, and finds the operations that a header declares.
#include <tapegrad/checks/cases/call.h>
#include <tapegrad/tests/golden/cases.h>
#include <tapegrad/tests/support/patterns.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

using json = Json;
using tasks::dims;

// [dtype, shape, at] or [dtype, shape, at, count, strides, offset].
Tensor tensor_at(const json& entry, const char* data) {
  const DType dtype = tasks::dtype({{"dtype", entry[0]}});
  const Shape shape = dims(entry[1]);
  const bool plain = entry.size() == 3;
  const int64_t count = plain ? shape.numel() : entry[3].get<int64_t>();
  const Tensor base = from_data(data + entry[2].get<std::size_t>(), count, plain ? shape : Shape{count}, dtype);
  return plain ? base : base.view(shape, dims(entry[4]), entry[5].get<int64_t>());
}

}  // namespace

std::vector<GoldenCase> read_goldens(const std::string& path) {
  const std::string file = slurp(path);
  if (file.empty()) throw Error(fmt::format("[goldens] {} cannot be read", path));
  uint64_t header = 0;
  std::memcpy(&header, file.data(), sizeof header);
  const char* const data = file.data() + sizeof header + header;
  const auto tensors = [&](const json& list) {
    std::vector<Tensor> all;
    for (const json& entry : list) all.push_back(entry.is_null() ? Tensor() : tensor_at(entry, data));
    return all;
  };
  std::vector<GoldenCase> cases;
  for (const json& entry : json::parse({file.data() + sizeof header, data})) {
    GoldenCase& fresh = cases.emplace_back();
    fresh.op = entry.at("op");
    fresh.label = entry.value("label", "");
    fresh.args = entry.value("args", json::object());
    fresh.inputs = tensors(entry.at("inputs"));
    fresh.outputs = tensors(entry.at("outputs"));
    fresh.ulp = entry.value("ulp", 0);
    if (entry.contains("seed")) fresh.seed = tensor_at(entry["seed"], data);
    if (entry.contains("grads")) fresh.grads = tensors(entry["grads"]);
  }
  return cases;
}

std::vector<std::string> operation_headers() {
  // Helpers of modules, options, formats of weights, and the weights of recurrent layers.
  const std::set<std::string> others{"grid_options.h",      "inference.h", "mask_check.h",
                                     "recurrent_weights.h", "spatial.h",   "weight_format.h"};
  std::vector<std::string> headers;
  for (const auto& room : std::filesystem::directory_iterator(std::string(kSourceDir) + "/autograd/ops")) {
    for (const auto& file : std::filesystem::directory_iterator(room)) {
      const std::string name = file.path().filename().string();
      const bool shared = room.path().filename() == "detail";
      if (file.path().extension() == ".h" && !shared && !others.contains(name)) headers.push_back(file.path().string());
    }
  }
  std::sort(headers.begin(), headers.end());
  return headers;
}

std::vector<std::string> operations_in(const std::string& header) {
  const std::string text = Pattern("\n[^\n]*= delete;").replaced(slurp(header), "");
  // A declaration starts a line with its type; operators and inline functions call these.
  const Pattern declaration(
      R"(\n(?:Tensor|Sorted|Unique|Histogram|MaxPooled|SignLogDet|Qr|Eigh|Svd|RecurrentResult|LSTMResult|bool|void|std::vector<Tensor>|std::pair<Tensor, Tensor>) (\w+)\()");
  std::set<std::string> names;
  for (const Match& at : declaration.in(text)) names.insert(at[1]);
  return {names.begin(), names.end()};
}

}  // namespace tapegrad::tests
