// Presets of a GPT's training, checks, and settings as JSON.
#include <fmt/format.h>
#include <tapegrad/autograd/io/detail/json.h>
#include <tapegrad/tasks/gpt/options.h>
#include <tapegrad/tasks/settings/refusing.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace tapegrad::tasks {
namespace {

constexpr int64_t kMost = 10'000'000;  // of any one number
constexpr int64_t kNoamWarmup = 4000;  // Vaswani et al. 2017

void need(bool good, std::string_view option, std::string_view message) {
  if (!good) refuse(fmt::format("--{}", option), message);
}

// What is not settled by the sizes alone.
void set_rates(GPTOptions& o) {
  if (o.preset == "book") return;
  const bool small = o.preset == "tiny" || o.preset == "char";
  o.start_context.clear();
  o.batch_size = small ? 16 : 4;
  o.num_epochs = small ? 20 : 1;
  o.lr = small ? 1e-3 : 4e-4;
  o.schedule = "warmup-cosine";
  o.warmup = small ? 50 : 200;
  o.clip_grad = 1;
  o.eval_interval = small ? 50 : 100;
}

}  // namespace

nn::GPTConfig GPTOptions::model(int64_t vocab_size) const {
  return {.vocab_size = vocab_size,
          .context_length = context_length,
          .emb_dim = emb_dim,
          .n_heads = n_heads,
          .n_layers = n_layers,
          .drop_rate = drop_rate,
          .qkv_bias = qkv_bias,
          .tied_head = tied_head,
          .positions = nn::positions_named(positions)};
}

GPTOptions gpt_options(const std::string& preset) {
  GPTOptions options;
  options.preset = preset;
  const nn::GPTConfig sizes = refusing("--preset", [&] { return nn::gpt_preset(preset); });
  options.context_length = sizes.context_length;
  options.emb_dim = sizes.emb_dim;
  options.n_heads = sizes.n_heads;
  options.n_layers = sizes.n_layers;
  options.drop_rate = sizes.drop_rate;
  set_rates(options);
  return options;
}

GPTOptions with_preset(GPTOptions asked, const std::vector<std::string>& given) {
  GPTOptions options = gpt_options(asked.preset);
  take(options, std::move(asked), given);
  const bool warmup_given = std::find(given.begin(), given.end(), "warmup") != given.end();
  if (options.schedule == "noam" && !warmup_given) options.warmup = kNoamWarmup;
  return options;
}

void check(GPTOptions& o) {
  o.visit([&](std::string_view name, auto& value, std::string_view) {
    using T = std::remove_reference_t<decltype(value)>;
    if constexpr (std::is_same_v<T, int64_t>) {
      const bool may_be_none = name == "max-steps" || name == "stride" || name == "sample-tokens" || name == "warmup" ||
                               name == "num-epochs";
      const int64_t least = may_be_none ? 0 : 1;
      need(value >= least && value <= kMost, name,
           fmt::format("{} is out of range: from {} to {} is possible", value, least, kMost));
    } else if constexpr (std::is_same_v<T, double>) {
      need(std::isfinite(value) && value >= 0, name, fmt::format("{} is out of range: at least 0 is possible", value));
    }
  });
  need(o.drop_rate < 1, "drop-rate", fmt::format("{} is out of range: less than 1 is possible", o.drop_rate));
  need(o.lr > 0, "lr", "0 is out of range: it must be positive");
  need(o.factor > 0, "factor", "0 is out of range: it must be positive");
  need(o.train_ratio > 0 && o.train_ratio < 1, "train-ratio",
       fmt::format("{} is out of range: more than 0 and less than 1 is possible", o.train_ratio));
  need(o.schedule == "constant" || o.schedule == "noam" || o.schedule == "warmup-cosine", "schedule",
       fmt::format("there is no schedule \"{}\": constant, noam or warmup-cosine", o.schedule));
  need(o.schedule != "noam" || o.warmup > 0, "warmup", "0 is out of range: noam rises over at least 1 step");
  need(o.emb_dim % o.n_heads == 0, "emb-dim", fmt::format("{} is not divisible by --n-heads {}", o.emb_dim, o.n_heads));
  check_positions(o.positions);
  need(o.positions != "rope" || o.emb_dim / o.n_heads % 2 == 0, "positions",
       fmt::format("rope turns pairs of elements, and a head has {} (--emb-dim {} over {} heads)",
                   o.emb_dim / o.n_heads, o.emb_dim, o.n_heads));
  if (o.stride == 0) o.stride = o.context_length;
}

double model_bytes(const nn::GPTConfig& config) {  // parameter_count() of sizes that make no model would overflow
  const auto c = static_cast<double>(config.emb_dim), vocab = static_cast<double>(config.vocab_size);
  return 4 * (12 * c * c * static_cast<double>(config.n_layers) + (config.tied_head ? 1 : 2) * vocab * c);
}

double training_bytes(const GPTOptions& o, int64_t vocab_size) {
  const auto c = static_cast<double>(o.emb_dim), tokens = static_cast<double>(o.batch_size * o.context_length);
  const auto layers = static_cast<double>(o.n_layers);
  // Numbers that a block keeps of a token for backward, attention's weights with them.
  const double block = 18 * c + 2 * static_cast<double>(o.n_heads) * static_cast<double>(o.context_length);
  const double kept = o.recompute ? layers * c + block : layers * block;
  return 4 * model_bytes(o.model(vocab_size)) + 4 * tokens * (kept + 2 * static_cast<double>(vocab_size));
}

std::string to_json(GPTOptions options) {
  nlohmann::ordered_json json;
  json["task"] = "gpt";
  options.visit([&](std::string_view name, auto& value, std::string_view) { json[key_of(name)] = value; });
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

GPTOptions gpt_options_from_json(std::string_view where, std::string_view text) {
  GPTOptions options;
  try {
    const nlohmann::json json = json::parse(text, [&](const std::string& why) { fail(where, why); });
    if (json.at("task") != "gpt")
      fail(where, fmt::format("the configuration is of the task {}", json::shown(json.at("task"))));
    options.visit([&](std::string_view name, auto& value, std::string_view) { json.at(key_of(name)).get_to(value); });
  } catch (const nlohmann::json::exception& e) {
    fail(where, fmt::format("the configuration is not understood: {}", e.what()));
  }
  return options;
}

}  // namespace tapegrad::tasks
