// Named configurations of a model, and the number of parameters of a model without constructing it.
#pragma once

#include <fmt/ranges.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/nn/init.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tapegrad::nn::detail {

template <class Config>
struct NamedConfig {
  std::string_view name;
  Config config;
};

template <class Config>
std::vector<std::string_view> names_of(std::span<const NamedConfig<Config>> presets) {
  std::vector<std::string_view> names;
  for (const NamedConfig<Config>& preset : presets) names.push_back(preset.name);
  return names;
}

/// Error, which lists the names, for any other name.
template <class Config>
const Config& config_of(std::string_view where, std::span<const NamedConfig<Config>> presets, std::string_view name) {
  for (const NamedConfig<Config>& preset : presets)
    if (preset.name == name) return preset.config;
  fail(where, "expected one of the presets {}, got \"{}\"", fmt::join(names_of(presets), ", "), name);
}

// The number of parameters of Model(config) with config.*layers equal layers, from models with one and with two layers
// that have shapes only. At most 9.2e18.
template <class Model, class Config>
int64_t counted(Config config, int64_t Config::*layers) {
  const init::ShapesOnly shapes;
  const auto of = [&](int64_t count) {
    config.*layers = count;
    return static_cast<double>(count_parameters(Model(config)));
  };
  const auto more = static_cast<double>(config.*layers - 1);
  const double one = of(1), all = more > 0 ? one + more * (of(2) - one) : one;
  constexpr double kLimit = 9.2e18;
  return static_cast<int64_t>(std::min(all, kLimit));
}

}  // namespace tapegrad::nn::detail
