// PEFT's adapter_config.json: which layers have updates, and how these are scaled.
#pragma once

#include <tapegrad/nn/models/detail/config_reader.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapegrad::nn::detail {

inline constexpr std::string_view kAdapter = "adapter";

// Whether a path ends with these names.
bool ends_with_name(std::string_view path, std::string_view name);

class AdapterConfig {
 public:
  // Error that names the file and the key for anything but LoRA of linear layers on unchanged weights.
  explicit AdapterConfig(const std::string& path);

  // alpha / rank of the layer's update.
  double scale_of(std::string_view layer, int64_t rank) const;
  // Whether target_modules name the layer.
  bool targets(std::string_view layer) const;
  double dropout() const { return dropout_; }
  // The rank of the layer's update.
  int64_t rank(std::string_view layer) const;

 private:
  // Values for single layers, in the order of the file.
  template <class T>
  using Pattern = std::vector<std::pair<std::string, T>>;

  [[noreturn]] void refuse(const std::string& why) const;
  void read(const ConfigReader& config);
  void require_plain_lora(const ConfigReader& config) const;
  template <class T>
  void read_pattern(const ConfigReader& config, const char* key, Pattern<T>& numbers) const;

  std::string path_;
  int64_t rank_ = 0;
  double alpha_ = 0, dropout_ = 0;
  bool root_ = false;
  Pattern<double> alphas_;
  Pattern<int64_t> ranks_;
  std::vector<std::string> targets_;
};

}  // namespace tapegrad::nn::detail
