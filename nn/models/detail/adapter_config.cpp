// Reads adapter_config.json of PEFT.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/files.h>
#include <tapegrad/autograd/io/internal/json_value.h>
#include <tapegrad/nn/models/detail/adapter_config.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::nn::detail {

namespace {

// Keys that decide nothing about how stored updates are used: those of training, of saving and of other adapters.
constexpr std::string_view kAdapterHarmless =
    "auto_mapping base_model_name_or_path corda_config ensure_weight_tying eva_config fan_in_fan_out inference_mode "
    "layers_pattern loftq_config lora_ga_config megatron_core merge_weights peft_version qalora_group_size revision "
    "runtime_config task_type";
constexpr std::string_view kAdapterRead =
    "alpha_pattern bias exclude_modules init_lora_weights layers_to_transform lora_alpha lora_dropout peft_type r "
    "rank_pattern target_modules use_rslora";
constexpr std::string_view kUnsupported =
    "alora_invocation_tokens arrow_config kasa_config layer_replication lora_bias megatron_config modules_to_save "
    "monteclora_config target_parameters trainable_token_indices use_bdlora use_dora use_qalora velora_config";
// How training started. All others have changed the weights of the base model.
constexpr std::string_view kStarts = "eva gaussian orthogonal";

// Whether PEFT's regular expression (.*\.)?(pattern)$ matches a name, for patterns of letters, "." for any character,
// "\" before a character that stands for itself, and "^" at the start.
bool fits(std::string_view pattern, std::string_view name) {
  const bool whole = pattern.starts_with('^');
  if (whole) pattern.remove_prefix(1);
  if (pattern.ends_with('$')) pattern.remove_suffix(1);
  std::size_t at = name.size();
  for (std::size_t i = pattern.size(); i-- > 0;) {
    const bool escaped = i > 0 && pattern[i - 1] == '\\';
    if (at-- == 0 || (pattern[i] != name[at] && (escaped || pattern[i] != '.'))) return false;
    if (escaped) --i;
  }
  return at == 0 || (!whole && name[at - 1] == '.');
}

// The number of the first pattern that fits.
template <class T, class Patterns>
T number_of(std::string_view layer, const Patterns& patterns, T otherwise) {
  const auto at = std::find_if(patterns.begin(), patterns.end(), [&](const auto& p) { return fits(p.first, layer); });
  return at == patterns.end() ? otherwise : at->second;
}

// Whether `fits` knows what a regular expression means.
bool is_simple(std::string_view pattern) {
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    const bool edge = (c == '^' && i == 0) || (c == '$' && i + 1 == pattern.size());
    const bool escape = c == '\\' && i + 1 < pattern.size() && std::string_view(".-_/").find(pattern[i + 1]) < 4;
    if (std::string_view("*+?[](){}|\\^$").find(c) != std::string_view::npos && !edge && !escape) return false;
  }
  return true;
}

// Neither false nor empty.
bool is_set(const ConfigReader& config, const char* key) {
  return config.has(key) && config.json[key] != false &&
         !(config.json[key].is_structured() && config.json[key].empty());
}

}  // namespace

bool ends_with_name(std::string_view path, std::string_view name) {
  return path == name || (path.ends_with(name) && path[path.size() - name.size() - 1] == '.');
}

AdapterConfig::AdapterConfig(const std::string& path) : path_(path) {
  const std::string text = read_file(path, json::kMaxBytes);
  const Json json = json::parse(text, [&](const std::string& why) { refuse(why); });
  if (!json.is_object()) refuse(fmt::format("expected an object, got {}", json.type_name()));
  read({json, kAdapter, path_});
}

double AdapterConfig::scale_of(std::string_view layer, int64_t rank) const {
  const auto r = static_cast<double>(rank);
  return number_of(layer, alphas_, alpha_) / (root_ ? std::sqrt(r) : r);
}

bool AdapterConfig::targets(std::string_view layer) const {
  return std::any_of(targets_.begin(), targets_.end(), [&](const std::string& t) { return ends_with_name(layer, t); });
}

int64_t AdapterConfig::rank(std::string_view layer) const { return number_of(layer, ranks_, rank_); }

void AdapterConfig::refuse(const std::string& why) const { fail(kAdapter, "{}: {}", path_, why); }

void AdapterConfig::require_plain_lora(const ConfigReader& config) const {
  const std::string type = config.text("peft_type", "");
  if (type != "LORA") refuse(fmt::format("expected the peft_type LORA, got \"{}\"", type));
  if (const std::string bias = config.text("bias", "none"); bias != "none")
    refuse(fmt::format("expected no biases, got bias \"{}\"", bias));
  for (const auto& [key, value] : config.json.items()) {
    if (json::has_word(kUnsupported, key) && is_set(config, key.c_str()))
      refuse(fmt::format("expected none of {}, got {}", key, json::shown(value)));
  }
  config.require_known({{kAdapterRead, kAdapterHarmless}, {kUnsupported}}, true);
  constexpr const char* kInit = "init_lora_weights";
  std::string start = config.text(kInit, "true");
  std::transform(start.begin(), start.end(), start.begin(), [](unsigned char c) { return std::tolower(c); });
  const bool plain = !config.has(kInit) || config.json[kInit].is_boolean() || json::has_word(kStarts, start);
  if (!plain) {
    refuse(fmt::format(
        "expected updates of the base model's own weights, got {} {}, which changed them (convert it with PEFT: "
        "save_pretrained(..., path_initial_model_for_weight_conversion=...))",
        kInit, json::shown(config.json[kInit])));
  }
}

void AdapterConfig::read(const ConfigReader& config) {
  require_plain_lora(config);
  rank_ = config.size("r", 8);  // as PEFT has it
  alpha_ = config.number("lora_alpha", kFactor);
  dropout_ = config.number("lora_dropout", {.least = 0, .most = 1, .open_above = true}, 0);
  root_ = config.flag("use_rslora");
  read_pattern(config, "alpha_pattern", alphas_);
  read_pattern(config, "rank_pattern", ranks_);
  // A text is a regular expression, and some layers are selected in further ways: then the tensors alone decide.
  const bool all = !is_set(config, "layers_to_transform") && !is_set(config, "exclude_modules");
  if (!is_set(config, "target_modules") || !config.json["target_modules"].is_array() || !all) return;
  for (const Json& target : config.json["target_modules"]) {
    if (!target.is_string()) config.refuse("target_modules", "a text or a list of texts", target);
    targets_.push_back(target.get<std::string>());
  }
}

template <class T>
void AdapterConfig::read_pattern(const ConfigReader& config, const char* key, Pattern<T>& numbers) const {
  const Json pattern = config.object(key);
  if (pattern.empty()) return;
  const std::string at = fmt::format("{}: {}", path_, key);
  for (const Json::Member& member : pattern.items()) {
    const std::string& name = member.key;
    if (!is_simple(name)) refuse(fmt::format("expected names of layers in {}, got the expression \"{}\"", key, name));
    const ConfigReader one{pattern, kAdapter, at};
    const auto number = [&] {
      if constexpr (std::is_integral_v<T>)
        return one.size(name.c_str());
      else
        return one.number(name.c_str(), kFactor);
    }();
    numbers.emplace_back(name, number);
  }
}

}  // namespace tapegrad::nn::detail
