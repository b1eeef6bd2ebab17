// Named configurations of a model.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/autograd/error.h>

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

/// Error for another name, which lists these.
template <class Config>
const Config& config_of(std::string_view where, std::span<const NamedConfig<Config>> presets, std::string_view name) {
  for (const NamedConfig<Config>& preset : presets)
    if (preset.name == name) return preset.config;
  fail(where, fmt::format("expected one of the presets {}, got \"{}\"", fmt::join(names_of(presets), ", "), name));
}

}  // namespace tapegrad::nn::detail
