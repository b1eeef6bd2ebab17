// Calls of pooling, interpolation and normalisation per channel for the golden files.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/pooling.h>
#include <tapegrad/tests/golden/arguments.h>

namespace tapegrad::tests {
namespace {

MaxPoolOptions max_options(const json& args) {
  return {.stride = per_axis(args, "stride"),
          .padding = per_axis(args, "padding", 0),
          .dilation = per_axis(args, "dilation", 1),
          .ceil_mode = args.value("ceil_mode", false)};
}

AvgPoolOptions avg_options(const json& args) {
  return {.stride = per_axis(args, "stride"),
          .padding = per_axis(args, "padding", 0),
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
  calls["batch_norm"] = [](const Inputs& x, const json& args) -> Outputs {
    return {batch_norm(x[0], x[1].detach(), x[2].detach(), input(x, 3), input(x, 4), args.value("eps", 1e-5))};
  };
  calls["batch_norm_training"] = [](const Inputs& x, const json& args) -> Outputs {
    const BatchNormed all = batch_norm_training(x[0], input(x, 1), input(x, 2), args.value("eps", 1e-5));
    return {all.y, all.mean, all.var};
  };
  calls["group_norm"] = [](const Inputs& x, const json& args) -> Outputs {
    return {group_norm(x[0], args.at("groups"), input(x, 1), input(x, 2), args.value("eps", 1e-5))};
  };
  calls["instance_norm"] = [](const Inputs& x, const json& args) -> Outputs {
    return {instance_norm(x[0], input(x, 1), input(x, 2), args.value("eps", 1e-5))};
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
      return {f(x[0], per_axis(args, "kernel_size"), max_options(args))};
    };
  }
  for (const auto& [name, f] :
       {std::pair<const char*, MaxPoolIndices>{"max_pool1d_with_indices", max_pool1d_with_indices},
        {"max_pool2d_with_indices", max_pool2d_with_indices}}) {
    calls[name] = [=, f = f](const Inputs& x, const json& args) {
      return both(f(x[0], per_axis(args, "kernel_size"), max_options(args)));
    };
  }
  for (const auto& [name, f] :
       {std::pair<const char*, AvgPool>{"avg_pool1d", avg_pool1d}, {"avg_pool2d", avg_pool2d}}) {
    calls[name] = [f = f](const Inputs& x, const json& args) -> Outputs {
      return {f(x[0], per_axis(args, "kernel_size"), avg_options(args))};
    };
  }
  for (const auto& [name, f] : {std::pair<const char*, Adaptive>{"adaptive_avg_pool1d", adaptive_avg_pool1d},
                                {"adaptive_avg_pool2d", adaptive_avg_pool2d},
                                {"adaptive_max_pool1d", adaptive_max_pool1d},
                                {"adaptive_max_pool2d", adaptive_max_pool2d}}) {
    calls[name] = [f = f](const Inputs& x, const json& args) -> Outputs {
      return {f(x[0], per_axis(args, "output_size"))};
    };
  }
  for (const auto& [name, f] :
       {std::pair<const char*, AdaptiveIndices>{"adaptive_max_pool1d_with_indices", adaptive_max_pool1d_with_indices},
        {"adaptive_max_pool2d_with_indices", adaptive_max_pool2d_with_indices}}) {
    calls[name] = [=, f = f](const Inputs& x, const json& args) {
      return both(f(x[0], per_axis(args, "output_size")));
    };
  }
  calls["interpolate"] = [](const Inputs& x, const json& args) -> Outputs {
    return {interpolate(x[0], {.size = per_axis(args, "size"),
                               .scale_factor = per_axis<double>(args, "scale_factor"),
                               .mode = mode(args),
                               .align_corners = args.value("align_corners", false)})};
  };
}

}  // namespace tapegrad::tests
