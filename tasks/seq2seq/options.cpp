// Declares and checks the settings of a sequence-to-sequence run.
#include <fmt/format.h>
#include <tapegrad/tasks/seq2seq/options.h>

#include <algorithm>
#include <utility>

namespace tapegrad::tasks {
namespace {

// Measured memory of an encoder layer and of a decoder layer in addition to their parameters' elements: modules,
// names, and a block of memory for each of 42 parameters, their gradients and two moments, however small.
constexpr double kBytesPerLayer = 60'000;

constexpr std::string_view kTutorial = "tutorial";  // the sizes of the task

const std::vector<std::string_view>& names_of_sizes() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all{kTutorial};
    all.insert(all.end(), nn::transformer_presets().begin(), nn::transformer_presets().end());
    return all;
  }();
  return names;
}

// Learned positions and Linformer bound the length of the sequences. The task's options that decide the length are
// named.
void check_length(RunOptions& o, int64_t longest) {
  if (longest <= o.model().longest_input()) return;
  const int64_t bound = o.model().longest_input();
  std::string option = "--max-position-embeddings";
  if (bound > o.config.max_position_embeddings)
    for (const Field& field : o.stretching()) option = field.setting.option();
  for (const Field& field : example_fields(o)) {
    const std::string value = field.text();
    bad_request(field.setting.option(), "{} {} longer than {} {}", value,
                value == std::to_string(longest) ? "is" : fmt::format("makes sequences of {} tokens,", longest), option,
                bound);
  }
}

}  // namespace

RunOptions::RunOptions(const TaskInfo& task, std::any own) : info(&task), own(std::move(own)) {
  num_epochs = 50;
  batch_size = 40;
}

void RunOptions::list(Fields& f) {
  Options in_training(f, Group::training);
  Options{f, Group::model}(
      "preset", "default sizes: tutorial (the sizes of the task's tutorial), base and big (Vaswani et al.), BERT or T5",
      preset)
      .choices(names_of_sizes());
  Fields model = model_fields(config);
  model.insert_after("max_position_embeddings", fields_of(attention));
  add_fields(f, model);
  PositionSettings::list(f);
  info->list(own, f);
  TrainingSettings::list(f);
  in_training("steps-per-epoch", "steps per epoch", steps_per_epoch, kCount);
}

Fields model_fields(nn::TransformerConfig& config) {
  Fields f = fields_of(config);
  for (const char* fixed : {"hidden_dropout_prob", "attention_probs_dropout_prob", "layer_norm_eps", "pad_token_id"})
    f.erase(fixed);
  f["vocab_size"].help = "number of tokens, including the padding token 0";
  f["vocab_size"].limits.least = 2;
  f["max_position_embeddings"].limits = kCountOrNone;
  f["max_position_embeddings"].special = "0: the tutorial's length, or more if the sequences are longer";
  f["dropout_prob"].help = "dropout probability, everywhere in the model";
  f["dropout_prob"].name = "dropout";
  return f;
}

nn::TransformerConfig RunOptions::model() const {
  nn::TransformerConfig model = config;
  model.hidden_dropout_prob = model.attention_probs_dropout_prob = model.dropout_prob;
  model.positions = kind();
  model.position_options = position_options;
  model.attention = attention.choice();
  return model;
}

void apply_preset(RunOptions& o, const Given& given) {
  const std::vector<std::string_view>& sizes_known = names_of_sizes();
  if (o.preset == kTutorial || std::ranges::find(sizes_known, o.preset) == sizes_known.end()) return;
  RunOptions sizes = o;
  sizes.config = nn::transformer_preset(o.preset);  // check_limits rejects other names
  Given others;
  for (const char* size : {"hidden-size", "num-hidden-layers", "num-attention-heads", "intermediate-size"})
    if (!contains(given, size)) others.emplace_back(size);
  override_with(fields_of(o), fields_of(sizes), others);
}

Fields example_fields(RunOptions& options) {
  Fields all, examples;
  options.info->list(options.own, all);
  for (const Field& field : all)
    if (field.setting.example) examples.add(field);
  return examples;
}

void fill_in(RunOptions& o) {
  int64_t& positions = o.config.max_position_embeddings;
  if (positions == 0) positions = std::max(o.info->longest(o), o.info->least_positions);
}

void resolve(RunOptions& o) {
  check_limits(fields_of(o));
  o.TrainingSettings::check();
  const int64_t width = o.config.hidden_size, heads = o.config.num_attention_heads;
  require(width % heads == 0, "--hidden-size", "{} is not divisible by --num-attention-heads {}", width, heads);
  const nn::Activation& activation = o.config.activation;
  require(!activation.parameter || activation.takes_parameter(), "--activation-parameter", "{} has no parameter",
          name(activation));
  o.PositionSettings::check(width, width / heads,
                            fmt::format("--hidden-size {} over --num-attention-heads {}", width, heads));
  o.attention.check(nn::relative_kind(o.kind(), o.position_options), false);
  o.info->check(o);
  fill_in(o);
  check_length(o, o.info->longest(o));
  // However many processes there are: with the fewest gradients.
  require_memory("train", kModelAndBatch, training_bytes(o, o.accumulate));
}

double training_bytes(const RunOptions& o, int64_t processes) {
  const auto b = static_cast<double>(o.batch_size), t = static_cast<double>(o.info->longest(o));
  const nn::TransformerConfig& m = o.config;
  const auto layers = static_cast<double>(m.num_hidden_layers), vocab = static_cast<double>(m.vocab_size);
  const double per_token = 40.0 * static_cast<double>(m.hidden_size) + 4.0 * static_cast<double>(m.intermediate_size) +
                           9.0 * static_cast<double>(m.num_attention_heads) *
                               static_cast<double>(o.attention.keys_per_query(o.info->longest(o)));
  const double parameters = o.copies_of_parameters(processes) * static_cast<double>(o.model().parameter_count());
  return 4 * (parameters + b * t * (per_token * layers + 3.0 * vocab)) + kBytesPerLayer * layers;
}

}  // namespace tapegrad::tasks
