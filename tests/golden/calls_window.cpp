// Calls of window attention for the golden files.
#include <tapegrad/autograd/window_attention.h>
#include <tapegrad/tests/golden/cases.h>

namespace tapegrad::tests {

void add_window_calls(GoldenCalls& calls) {
  calls["sliding_window_attention"] = [](const std::vector<Tensor>& x, const nlohmann::json& args) {
    WindowAttentionOptions options{.window = args.at("window").get<int64_t>(),
                                   .dilation = args.value("dilation", int64_t{1}),
                                   .causal = args.value("causal", false),
                                   .global_tokens = args.value("global_tokens", std::vector<int64_t>()),
                                   .mask = x.size() > 3 ? x[3] : Tensor()};
    if (args.contains("scale")) options.scale = args["scale"].get<double>();
    return std::vector<Tensor>{sliding_window_attention(x[0], x[1], x[2], options)};
  };
}

}  // namespace tapegrad::tests
