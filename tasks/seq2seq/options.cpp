// Declares and checks the settings of a sequence-to-sequence run.
#include <fmt/format.h>
#include <tapegrad/tasks/seq2seq/options.h>
#include <tapegrad/tasks/train/loop.h>

#include <algorithm>
#include <utility>

namespace tapegrad::tasks {
namespace {

// Measured memory of an encoder layer and of a decoder layer in addition to their parameters' elements: modules,
// names, and a block of memory for each of 42 parameters, their gradients and two moments, however small.
constexpr double kBytesPerLayer = 60'000;

constexpr std::string_view kSizes[] = {"tutorial", "base", "big", "bert-base", "t5-base"};
constexpr std::string_view kActivations[] = {"relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid"};
constexpr std::string_view kNorms[] = {"pre", "post"};

double parameters_of(const RunOptions& o) {
  const auto v = static_cast<double>(o.vocab_size), c = static_cast<double>(o.hidden_size);
  const auto f = static_cast<double>(o.intermediate_size);
  return static_cast<double>(o.num_hidden_layers) * (12 * c * c + 4 * c * f) + 3 * v * c +
         2 * o.added_parameters(o.max_position_embeddings, o.hidden_size);
}

// Learned positions and Linformer bound the length of the sequences. The task's options that decide the length are
// named.
void check_length(RunOptions& o, int64_t longest) {
  if (longest <= o.model().longest_input()) return;
  const auto [option, bound] = o.model().longest_input() > o.max_position_embeddings
                                   ? std::pair{"--interpolate-to", o.position_details.interpolate_to}
                                   : std::pair{"--max-position-embeddings", o.max_position_embeddings};
  for (const Field& field : example_fields(o)) {
    const std::string value = field.text();
    bad_request(
        field.setting.option(),
        fmt::format("{} {} longer than {} {}", value,
                    value == std::to_string(longest) ? "is" : fmt::format("makes sequences of {} tokens,", longest),
                    option, bound));
  }
}

}  // namespace

void RunOptions::list(Fields& f) {
  f.add({.name = "preset",
         .help = "default sizes: those of the task in the tutorial, of the first Transformer (base, big), of BERT or "
                 "of T5",
         .choices = kSizes},
        preset);
  f.add({"vocab-size", "number of tokens, including the padding token 0", Group::model, {2, kMost}}, vocab_size);
  f.add({"hidden-size", "width of the model; a multiple of the number of heads", Group::model, kCount}, hidden_size);
  f.add({"num-hidden-layers", "layers of the encoder, and of the decoder", Group::model, kCount}, num_hidden_layers);
  f.add({"num-attention-heads", "heads per attention", Group::model, kCount}, num_attention_heads);
  f.add({"intermediate-size", "width inside the feed-forward blocks", Group::model, kCount}, intermediate_size);
  f.add({.name = "max-position-embeddings",
         .help = "longest sequence that the model accepts",
         .limits = kCountOrNone,
         .special = "0: the tutorial's length, or more if the sequences are longer"},
        max_position_embeddings);
  attention.list(f);
  f.add({.name = "activation", .help = "activation of the feed-forward blocks", .choices = kActivations}, activation);
  f.add({.name = "norm",
         .help = "layer normalisation before each block (pre), or after each residual sum (post)",
         .choices = kNorms},
        norm);
  f.add({"dropout", "dropout probability, everywhere in the model", Group::model, kProbability}, dropout);
  PositionSettings::list(f);
  info->list(own, f);
  TrainingSettings::list(f);
  f.add({"steps-per-epoch", "steps per epoch", Group::training, kCount}, steps_per_epoch);
}

nn::TransformerConfig RunOptions::model() const {
  nn::TransformerConfig config;
  config.vocab_size = vocab_size;
  config.hidden_size = hidden_size;
  config.num_hidden_layers = num_hidden_layers;
  config.num_attention_heads = num_attention_heads;
  config.intermediate_size = intermediate_size;
  config.max_position_embeddings = max_position_embeddings;
  config.positions = kind();
  config.position_options = position_options();
  config.attention = attention.choice();
  config.activation = nn::activation_named(activation);
  config.post_norm = norm == "post";
  config.dropout_prob = config.hidden_dropout_prob = config.attention_probs_dropout_prob = dropout;
  return config;
}

void apply_preset(RunOptions& o, const Given& given) {
  if (o.preset == "tutorial" || std::find(std::begin(kSizes), std::end(kSizes), o.preset) == std::end(kSizes)) return;
  const nn::TransformerConfig sizes = nn::transformer_preset(o.preset);  // check_limits rejects other names
  const auto otherwise = [&](std::string_view name, int64_t& setting, int64_t value) {
    if (!contains(given, name)) setting = value;
  };
  otherwise("hidden-size", o.hidden_size, sizes.hidden_size);
  otherwise("num-hidden-layers", o.num_hidden_layers, sizes.num_hidden_layers);
  otherwise("num-attention-heads", o.num_attention_heads, sizes.num_attention_heads);
  otherwise("intermediate-size", o.intermediate_size, sizes.intermediate_size);
}

Fields example_fields(RunOptions& options) {
  Fields all, examples;
  options.info->list(options.own, all);
  for (const Field& field : all)
    if (field.setting.example) examples.add(field);
  return examples;
}

void fill_in(RunOptions& o) {
  if (o.max_position_embeddings == 0) o.max_position_embeddings = std::max(o.info->longest(o), o.info->least_positions);
}

void resolve(RunOptions& o) {
  check_limits(fields_of(o));
  o.TrainingSettings::check();
  require(o.hidden_size % o.num_attention_heads == 0, "--hidden-size",
          fmt::format("{} is not divisible by --num-attention-heads {}", o.hidden_size, o.num_attention_heads));
  o.PositionSettings::check(
      o.hidden_size, o.hidden_size / o.num_attention_heads,
      fmt::format("--hidden-size {} over --num-attention-heads {}", o.hidden_size, o.num_attention_heads));
  o.attention.check(nn::relative_kind(o.kind(), o.position_options()), false);
  o.info->check(o);
  fill_in(o);
  check_length(o, o.info->longest(o));
  // However many processes there are: with the fewest gradients.
  require_memory("train", kModelAndBatch, training_bytes(o, o.accumulate));
}

double training_bytes(const RunOptions& o, int64_t processes) {
  // Parameters, two moments, and the gradients of the batches of a step that wait for their sum.
  const double copies = 3 + static_cast<double>(train::gradients_at_once(o.accumulate, o.clip_grad, processes));
  const auto b = static_cast<double>(o.batch_size), t = static_cast<double>(o.info->longest(o));
  const auto layers = static_cast<double>(o.num_hidden_layers);
  const double per_token = 40.0 * static_cast<double>(o.hidden_size) + 4.0 * static_cast<double>(o.intermediate_size) +
                           9.0 * static_cast<double>(o.num_attention_heads) *
                               static_cast<double>(o.attention.keys_per_query(o.info->longest(o)));
  return 4 * (copies * parameters_of(o) + b * t * (per_token * layers + 3.0 * static_cast<double>(o.vocab_size))) +
         kBytesPerLayer * layers;
}

std::string to_json(RunOptions options) { return to_json(options.info->name, fields_of(options)); }

RunOptions options_from_json(std::string_view where, std::string_view json, const TaskInfo& task) {
  RunOptions options = task.defaults();
  from_json(where, json, task.name, fields_of(options));
  return options;
}

}  // namespace tapegrad::tasks
