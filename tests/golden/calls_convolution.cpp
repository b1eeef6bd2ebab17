// Calls of convolutions for the golden files.
#include <tapegrad/autograd/convolution.h>
#include <tapegrad/tests/golden/arguments.h>

namespace tapegrad::tests {
namespace {

ConvPadding padding(const json& args) {
  if (!args.contains("padding") || !args["padding"].is_string()) return per_axis(args, "padding", 0);
  return args["padding"] == "same" ? Padding::same : Padding::valid;
}

ConvOptions options(const json& args) {
  return {.stride = per_axis(args, "stride", 1),
          .padding = padding(args),
          .dilation = per_axis(args, "dilation", 1),
          .groups = args.value("groups", int64_t{1}),
          .padding_mode = pad_mode(args, "padding_mode")};
}

ConvTransposeOptions transpose_options(const json& args) {
  return {.stride = per_axis(args, "stride", 1),
          .padding = per_axis(args, "padding", 0),
          .output_padding = per_axis(args, "output_padding", 0),
          .dilation = per_axis(args, "dilation", 1),
          .groups = args.value("groups", int64_t{1})};
}

}  // namespace

void add_convolution_calls(GoldenCalls& calls) {
  calls["conv1d"] = [](const Inputs& x, const json& args) -> Inputs {
    return {conv1d(x[0], x[1], input(x, 2), options(args))};
  };
  calls["conv2d"] = [](const Inputs& x, const json& args) -> Inputs {
    return {conv2d(x[0], x[1], input(x, 2), options(args))};
  };
  calls["conv_transpose1d"] = [](const Inputs& x, const json& args) -> Inputs {
    return {conv_transpose1d(x[0], x[1], input(x, 2), transpose_options(args))};
  };
  calls["conv_transpose2d"] = [](const Inputs& x, const json& args) -> Inputs {
    return {conv_transpose2d(x[0], x[1], input(x, 2), transpose_options(args))};
  };
}

}  // namespace tapegrad::tests
