// Calls of pooling, interpolation and normalisation per channel for the golden files.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/pooling.h>
#include <tapegrad/tests/golden/cases.h>

namespace tapegrad::tests {
namespace {

using nlohmann::json;
using Inputs = std::vector<Tensor>;
using Outputs = std::vector<Tensor>;

// A number or a list of two; `otherwise` if there is none.
template <class T>
PerAxis<T> per_axis(const json& args, const char* key, const PerAxis<T>& otherwise) {
  if (!args.contains(key)) return otherwise;
  if (args[key].is_array()) return {args[key][0].get<T>(), args[key][1].get<T>()};
  return args[key].get<T>();
}

PerAxis<int64_t> sizes(const json& args, const char* key, const PerAxis<int64_t>& otherwise = {}) {
  return per_axis<int64_t>(args, key, otherwise);
}

MaxPoolOptions max_options(const json& args) {
  return {.stride = sizes(args, "stride"),
          .padding = sizes(args, "padding", 0),
          .dilation = sizes(args, "dilation", 1),
          .ceil_mode = args.value("ceil_mode", false)};
}

AvgPoolOptions avg_options(const json& args) {
  return {.stride = sizes(args, "stride"),
          .padding = sizes(args, "padding", 0),
          .ceil_mode = args.value("ceil_mode", false),
          .count_include_pad = args.value("count_include_pad", true),
          .divisor_override = args.contains("divisor_override") ? std::optional(args["divisor_override"].get<int64_t>())
                                                                : std::nullopt};
}

Interpolation mode(const json& args) {
  const std::string wanted = args.at("mode");
  return wanted == "linear"     ? Interpolation::linear
         : wanted == "bilinear" ? Interpolation::bilinear
                                : Interpolation::nearest;
}

void add_channel_norms(GoldenCalls& calls) {
  const auto optional = [](const Inputs& x, std::size_t i) { return i < x.size() ? x[i] : Tensor(); };
  calls["batch_norm"] = [=](const Inputs& x, const json& args) -> Outputs {
    return {batch_norm(x[0], x[1].detach(), x[2].detach(), optional(x, 3), optional(x, 4), args.value("eps", 1e-5))};
  };
  calls["batch_norm_training"] = [=](const Inputs& x, const json& args) -> Outputs {
    const BatchNormed all = batch_norm_training(x[0], optional(x, 1), optional(x, 2), args.value("eps", 1e-5));
    return {all.y, all.mean, all.var};
  };
  calls["group_norm"] = [=](const Inputs& x, const json& args) -> Outputs {
    return {group_norm(x[0], args.at("groups"), optional(x, 1), optional(x, 2), args.value("eps", 1e-5))};
  };
  calls["instance_norm"] = [=](const Inputs& x, const json& args) -> Outputs {
    return {instance_norm(x[0], optional(x, 1), optional(x, 2), args.value("eps", 1e-5))};
  };
}

}  // namespace

void add_pooling_calls(GoldenCalls& calls) {
  add_channel_norms(calls);
  using MaxPool = Tensor (*)(const Tensor&, const PerAxis<int64_t>&, const MaxPoolOptions&);
  using MaxPoolIndices = MaxPooled (*)(const Tensor&, const PerAxis<int64_t>&, const MaxPoolOptions&);
  using AvgPool = Tensor (*)(const Tensor&, const PerAxis<int64_t>&, const AvgPoolOptions&);
  using Adaptive = Tensor (*)(const Tensor&, const PerAxis<int64_t>&);
  using AdaptiveIndices = MaxPooled (*)(const Tensor&, const PerAxis<int64_t>&);
  const auto both = [](const MaxPooled& pooled) -> Outputs { return {pooled.values, pooled.indices}; };
  for (const auto& [name, f] :
       {std::pair<const char*, MaxPool>{"max_pool1d", max_pool1d}, {"max_pool2d", max_pool2d}}) {
    calls[name] = [f = f](const Inputs& x, const json& args) -> Outputs {
      return {f(x[0], sizes(args, "kernel_size"), max_options(args))};
    };
  }
  for (const auto& [name, f] :
       {std::pair<const char*, MaxPoolIndices>{"max_pool1d_with_indices", max_pool1d_with_indices},
        {"max_pool2d_with_indices", max_pool2d_with_indices}}) {
    calls[name] = [=, f = f](const Inputs& x, const json& args) {
      return both(f(x[0], sizes(args, "kernel_size"), max_options(args)));
    };
  }
  for (const auto& [name, f] :
       {std::pair<const char*, AvgPool>{"avg_pool1d", avg_pool1d}, {"avg_pool2d", avg_pool2d}}) {
    calls[name] = [f = f](const Inputs& x, const json& args) -> Outputs {
      return {f(x[0], sizes(args, "kernel_size"), avg_options(args))};
    };
  }
  for (const auto& [name, f] : {std::pair<const char*, Adaptive>{"adaptive_avg_pool1d", adaptive_avg_pool1d},
                                {"adaptive_avg_pool2d", adaptive_avg_pool2d},
                                {"adaptive_max_pool1d", adaptive_max_pool1d},
                                {"adaptive_max_pool2d", adaptive_max_pool2d}}) {
    calls[name] = [f = f](const Inputs& x, const json& args) -> Outputs {
      return {f(x[0], sizes(args, "output_size"))};
    };
  }
  for (const auto& [name, f] :
       {std::pair<const char*, AdaptiveIndices>{"adaptive_max_pool1d_with_indices", adaptive_max_pool1d_with_indices},
        {"adaptive_max_pool2d_with_indices", adaptive_max_pool2d_with_indices}}) {
    calls[name] = [=, f = f](const Inputs& x, const json& args) { return both(f(x[0], sizes(args, "output_size"))); };
  }
  calls["interpolate"] = [](const Inputs& x, const json& args) -> Outputs {
    return {interpolate(x[0], {.size = sizes(args, "size"),
                               .scale_factor = per_axis<double>(args, "scale_factor", {}),
                               .mode = mode(args),
                               .align_corners = args.value("align_corners", false)})};
  };
}

}  // namespace tapegrad::tests
