// Calls of convolutions for the golden files.
#include <tapegrad/autograd/convolution.h>
#include <tapegrad/tests/golden/cases.h>

namespace tapegrad::tests {
namespace {

using nlohmann::json;
using Inputs = std::vector<Tensor>;

PerAxis<int64_t> sizes(const json& args, const char* key, int64_t otherwise) {
  if (!args.contains(key)) return otherwise;
  if (args[key].is_array()) return {args[key][0].get<int64_t>(), args[key][1].get<int64_t>()};
  return args[key].get<int64_t>();
}

ConvPadding padding(const json& args) {
  if (!args.contains("padding") || !args["padding"].is_string()) return sizes(args, "padding", 0);
  return args["padding"] == "same" ? Padding::same : Padding::valid;
}

PadMode mode(const std::string& name) {
  if (name == "reflect") return PadMode::reflect;
  return name == "replicate" ? PadMode::replicate : name == "circular" ? PadMode::circular : PadMode::constant;
}

ConvOptions options(const json& args) {
  return {.stride = sizes(args, "stride", 1),
          .padding = padding(args),
          .dilation = sizes(args, "dilation", 1),
          .groups = args.value("groups", int64_t{1}),
          .padding_mode = mode(args.value("padding_mode", ""))};
}

ConvTransposeOptions transpose_options(const json& args) {
  return {.stride = sizes(args, "stride", 1),
          .padding = sizes(args, "padding", 0),
          .output_padding = sizes(args, "output_padding", 0),
          .dilation = sizes(args, "dilation", 1),
          .groups = args.value("groups", int64_t{1})};
}

Tensor bias(const Inputs& x) { return x.size() > 2 ? x[2] : Tensor(); }

}  // namespace

void add_convolution_calls(GoldenCalls& calls) {
  calls["conv1d"] = [](const Inputs& x, const json& args) -> Inputs {
    return {conv1d(x[0], x[1], bias(x), options(args))};
  };
  calls["conv2d"] = [](const Inputs& x, const json& args) -> Inputs {
    return {conv2d(x[0], x[1], bias(x), options(args))};
  };
  calls["conv_transpose1d"] = [](const Inputs& x, const json& args) -> Inputs {
    return {conv_transpose1d(x[0], x[1], bias(x), transpose_options(args))};
  };
  calls["conv_transpose2d"] = [](const Inputs& x, const json& args) -> Inputs {
    return {conv_transpose2d(x[0], x[1], bias(x), transpose_options(args))};
  };
}

}  // namespace tapegrad::tests
