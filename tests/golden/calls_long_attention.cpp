// Calls of attention for long inputs for the golden files.
#include <tapegrad/autograd/long_attention.h>
#include <tapegrad/nn/linformer.h>
#include <tapegrad/nn/performer.h>
#include <tapegrad/nn/reformer.h>
#include <tapegrad/tests/golden/cases.h>

namespace tapegrad::tests {
namespace {

using nlohmann::json;
using Inputs = std::vector<Tensor>;

// The input of this name; empty if there is none.
Tensor named(const Inputs& x, const json& args, const char* name) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (args["names"][i] == name) return x[i];
  }
  return {};
}

LshAttentionOptions lsh_options(const Inputs& x, const json& args) {
  LshAttentionOptions options{.chunk_length = args.value("chunk", int64_t{64}),
                              .causal = args.value("causal", false),
                              .within_buckets = args.value("within", false),
                              .mask = named(x, args, "mask")};
  if (args.contains("scale")) options.scale = args["scale"].get<double>();
  return options;
}

}  // namespace

void add_long_attention_calls(GoldenCalls& calls) {
  calls["causal_product"] = [](const Inputs& x, const json& args) -> Inputs {
    const auto level = [&](const char* name) {  // a constant
      const Tensor given = named(x, args, name);
      return given.defined() ? given.detach() : given;
    };
    return {causal_product(x[0], x[1], x[2], args.value("reverse", false),
                           {.earlier = level("earlier"), .later = level("later")})};
  };
  calls["lsh_attention"] = [](const Inputs& x, const json& args) -> Inputs {
    return {lsh_attention(x[0], x[1], x[2], x[3], lsh_options(x, args))};
  };
  calls["reformer_attention"] = [](const Inputs& x, const json& args) -> Inputs {
    return {nn::reformer_attention(x[0], x[1], x[2], lsh_options(x, args))};
  };
  calls["performer_attention"] = [](const Inputs& x, const json& args) -> Inputs {
    return {nn::performer_attention(x[0], x[1], x[2], x[3],
                                    {.mask = named(x, args, "mask"), .causal = args.value("causal", false)})};
  };
  calls["linformer_attention"] = [](const Inputs& x, const json& args) -> Inputs {
    return {nn::linformer_attention(x[0], x[1], x[2], x[3], x[4], {.mask = named(x, args, "mask")})};
  };
}

}  // namespace tapegrad::tests
