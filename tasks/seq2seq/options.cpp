// Checks settings and carries them to and from JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/autograd/io/detail/json.h>
#include <tapegrad/tasks/seq2seq/options.h>
#include <tapegrad/tasks/seq2seq/parser/parser.h>
#include <tapegrad/tasks/seq2seq/task.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace tapegrad::tasks {
namespace {

constexpr int64_t kMost = 1'000'000;  // of any one size: products of four of them are checked as doubles

// The least and the most that a whole number may be.
struct Limits {
  int64_t least, most;
};
Limits limits_of(std::string_view option) {
  if (option == "max-position-embeddings") return {0, kMost};
  if (option == "vocab-size") return {2, kMost};
  if (option == "depth") return {1, ParserTask::kDeepest};
  if (option == "data-seed") return {-1, 0xffffffff};  // what NumPy takes
  if (option == "max-digits") return {1, 17};          // sums fit into 64 bits
  return {1, kMost};
}

void need(bool good, std::string_view option, std::string_view message) {
  if (!good) refuse(fmt::format("--{}", option), message);
}

double parameters_of(const RunOptions& o) {
  const auto v = static_cast<double>(o.vocab_size), c = static_cast<double>(o.hidden_size);
  const auto f = static_cast<double>(o.intermediate_size), p = static_cast<double>(o.max_position_embeddings);
  return static_cast<double>(o.num_hidden_layers) * (12 * c * c + 4 * c * f) + 3 * v * c + 2 * p * c;
}

}  // namespace

nn::TransformerConfig RunOptions::model() const {
  nn::TransformerConfig config;
  config.vocab_size = vocab_size;
  config.hidden_size = hidden_size;
  config.num_hidden_layers = num_hidden_layers;
  config.num_attention_heads = num_attention_heads;
  config.intermediate_size = intermediate_size;
  config.max_position_embeddings = max_position_embeddings;
  config.positions = nn::positions_named(positions);
  config.dropout_prob = config.hidden_dropout_prob = config.attention_probs_dropout_prob = dropout;
  return config;
}

void settle(RunOptions& o) {
  o.visit([&](std::string_view name, auto& value, std::string_view) {
    if constexpr (std::is_same_v<std::remove_reference_t<decltype(value)>, int64_t>) {
      const auto [least, most] = limits_of(name);
      need(value >= least && value <= most, name,
           fmt::format("{} is out of range: from {} to {} is possible", value, least, most));
    } else if constexpr (std::is_same_v<std::remove_reference_t<decltype(value)>, double>) {
      const bool share = name == "dropout";
      need(std::isfinite(value) && (share ? value >= 0 && value < 1 : value > 0), name,
           fmt::format("{} is out of range: {}", value,
                       share ? "at least 0 and less than 1 is possible" : "it must be positive"));
    }
  });
  need(o.schedule == "constant" || o.schedule == "noam" || o.schedule == "warmup-cosine", "schedule",
       fmt::format("there is no schedule \"{}\": constant, noam or warmup-cosine", o.schedule));
  need(o.hidden_size % o.num_attention_heads == 0, "hidden-size",
       fmt::format("{} is not divisible by --num-attention-heads {}", o.hidden_size, o.num_attention_heads));
  check_positions(o.positions);
  need(o.positions != "rope" || o.hidden_size / o.num_attention_heads % 2 == 0, "positions",
       fmt::format("rope turns pairs of elements, and a head has {} (--hidden-size {} over --num-attention-heads {})",
                   o.hidden_size / o.num_attention_heads, o.hidden_size, o.num_attention_heads));
  const TaskKind& kind = kind_of(o.task);
  kind.check(o);
  const int64_t longest = kind.longest(o);
  if (o.max_position_embeddings == 0) o.max_position_embeddings = std::max(longest, kind.least_positions);
  o.visit_example([&](std::string_view name, auto& value, std::string_view) {
    need(longest <= o.max_position_embeddings || o.positions != "learned", name,
         fmt::format("{} {} longer than --max-position-embeddings {}", value,
                     fmt::format("{}", value) == std::to_string(longest)
                         ? "is"
                         : fmt::format("makes sequences of {} tokens,", longest),
                     o.max_position_embeddings));
  });
  need_memory("train", kModelAndBatch, training_bytes(o));
}

void need_memory(std::string_view where, std::string_view what, double bytes) {
  const double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (bytes > memory) {
    refuse(where,
           fmt::format("{} takes about {:.1f} GB, this machine has {:.1f} GB", what, bytes * 1e-9, memory * 1e-9));
  }
}

double training_bytes(const RunOptions& o) {
  const auto b = static_cast<double>(o.batch_size), t = static_cast<double>(kind_of(o.task).longest(o));
  const double a_token = 40.0 * static_cast<double>(o.hidden_size) + 4.0 * static_cast<double>(o.intermediate_size) +
                         9.0 * static_cast<double>(o.num_attention_heads) * t;
  return 4 * (4 * parameters_of(o) +
              b * t * (a_token * static_cast<double>(o.num_hidden_layers) + 3.0 * static_cast<double>(o.vocab_size)));
}

void check_positions(std::string_view positions) {
  need(std::find(std::begin(nn::kPositionNames), std::end(nn::kPositionNames), positions) !=
           std::end(nn::kPositionNames),
       "positions", fmt::format("there are no positions \"{}\": {}", positions, fmt::join(nn::kPositionNames, ", ")));
}

void check_beams(int64_t beams) {
  need(beams >= 1 && beams <= 1000, "beams", fmt::format("{} is out of range: from 1 to 1000 is possible", beams));
}

void detail::refuse_differences(std::string_view out, const std::vector<std::string>& differences) {
  refuse("train --resume",
         fmt::format("the run in {} was started with {} (leave these out, or begin anew without --resume)", out,
                     fmt::join(differences, ", ")));
}

std::string key_of(std::string_view option) {
  std::string key(option);
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

std::string to_json(RunOptions options) {
  nlohmann::ordered_json json;
  json["task"] = options.task;
  options.visit([&](std::string_view name, auto& value, std::string_view) { json[key_of(name)] = value; });
  return json.dump();
}

RunOptions options_from_json(std::string_view where, std::string_view text) {
  RunOptions options;
  try {
    const nlohmann::json json = json::parse(text, [&](const std::string& why) { fail(where, why); });
    options = default_options(json.at("task").get<std::string>());
    options.visit([&](std::string_view name, auto& value, std::string_view) {
      if (name == "positions" && !json.contains(key_of(name))) return;  // written when all were learned
      json.at(key_of(name)).get_to(value);
    });
  } catch (const nlohmann::json::exception& e) {
    fail(where, fmt::format("the configuration is not understood: {}", e.what()));
  }
  return options;
}

}  // namespace tapegrad::tasks
