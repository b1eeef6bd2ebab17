// Declares and checks the settings of the text tasks.
#include <fmt/format.h>
#include <tapegrad/tasks/text/options.h>
#include <tapegrad/tasks/train/loop.h>

#include <algorithm>

namespace tapegrad::tasks {
namespace {

constexpr std::string_view kAnswerEncoders[] = {"flat", "window"};

TextEncoderKind encoder_named(std::string_view name) {
  const auto found = std::find(std::begin(kTextEncoderNames), std::end(kTextEncoderNames), name);
  return static_cast<TextEncoderKind>(found - std::begin(kTextEncoderNames));
}

}  // namespace

TextOptions::TextOptions(TextTask task) : task(task), encoder(task == TextTask::classify ? "hierarchy" : "flat") {
  num_epochs = 10;
  batch_size = 32;
  lr = 1e-3;
  schedule = "warmup-cosine";
  warmup = 50;
  clip_grad = 1;
}

void TextOptions::list(Fields& f) {
  f.add({"vocab-size", "size of the byte-pair vocabulary that is trained on the texts", Group::model, {300, 100'000}},
        vocab_size);
  f.add({"hidden-size", "width of the model; a multiple of the number of heads", Group::model, kCount}, hidden_size);
  f.add({"num-hidden-layers", "layers over the tokens", Group::model, kCount}, num_hidden_layers);
  f.add({"num-attention-heads", "heads per attention", Group::model, kCount}, num_attention_heads);
  f.add({"intermediate-size", "width inside the feed-forward blocks", Group::model, kCount}, intermediate_size);
  f.add({"dropout", "dropout probability, everywhere in the model", Group::model, kProbability}, dropout);
  f.add({"context", "maximum number of tokens of a text; the rest is cut off", Group::model, kCount}, context);
  if (task == TextTask::classify) {
    f.add(
        {.name = "encoder",
         .help = "flat: attention to the whole text; window: to nearby tokens; hierarchy: an encoder for each segment, "
                 "and one over the segments",
         .choices = kTextEncoderNames},
        encoder);
    const bool cut = encoder == "hierarchy";
    f.add({"segment", "hierarchy: tokens per segment", Group::model, kCount}, segment, cut);
    f.add({"segment-layers", "hierarchy: layers over the segments", Group::model, kCount}, segment_layers, cut);
  }
  if (task == TextTask::answer) {
    f.add({.name = "encoder",
           .help = "flat: attention to the whole text; window: to nearby tokens",
           .choices = kAnswerEncoders},
          encoder);
  }
  if (task != TextTask::summarize)
    f.add({"window", "window: tokens on each side that a token attends to", Group::model, kCount}, window,
          encoder == "window");
  if (task == TextTask::summarize) {
    f.add({"summary-length", "maximum number of tokens of a summary", Group::model, kCount}, summary_length);
    f.add({"no-copy", "generate all words from the vocabulary, and copy none from the text", Group::model}, no_copy);
  }
  f.add({.name = "data",
         .help = "folder written by 'tapegrad data' (default: 200 invented records)",
         .group = Group::data,
         .type = "DIR"},
        data);
  TrainingSettings::list(f);
  f.add({"eval-interval", "steps between two evaluations", Group::training, kCount}, eval_interval);
  f.add({"eval-examples", "examples of the validation part per evaluation", Group::training, kCount}, eval_examples);
}

TextModelConfig TextOptions::model(int64_t vocab, int64_t classes) const {
  TextModelConfig config{.vocab_size = vocab, .classes = classes};
  config.hidden_size = hidden_size;
  config.num_hidden_layers = num_hidden_layers;
  config.num_attention_heads = num_attention_heads;
  config.intermediate_size = intermediate_size;
  config.dropout = dropout;
  config.context = context;
  config.summary_context = summary_length;
  config.encoder = encoder_named(encoder);
  config.window = window;
  config.segment = segment;
  config.segment_layers = segment_layers;
  config.copy = !no_copy;
  return config;
}

void resolve(TextOptions& o) {
  check_limits(fields_of(o));
  o.check();
  require(o.hidden_size % o.num_attention_heads == 0, "--hidden-size",
          fmt::format("{} is not divisible by --num-attention-heads {}", o.hidden_size, o.num_attention_heads));
  // However many processes there are: with the fewest gradients.
  require_memory("train", kModelAndBatch, training_bytes(o, o.accumulate));
}

double training_bytes(const TextOptions& o, int64_t processes) {
  // Parameters, two moments, and the gradients of the batches of a step that wait for their sum.
  const double copies = 3 + static_cast<double>(train::gradients_at_once(o.accumulate, o.clip_grad, processes));
  const auto c = static_cast<double>(o.hidden_size), f = static_cast<double>(o.intermediate_size);
  const auto layers = static_cast<double>(o.num_hidden_layers), vocab = static_cast<double>(o.vocab_size);
  const auto tokens = static_cast<double>(o.batch_size * o.context), heads = static_cast<double>(o.num_attention_heads);
  const bool decodes = o.task == TextTask::summarize;
  const double seen = static_cast<double>(o.encoder == "hierarchy" ? std::min(o.segment, o.context) : o.context);
  const double parameters = (decodes ? 3 : 1) * vocab * c + (decodes ? 2 : 1) * layers * (8 * c * c + 2 * c * f);
  const double kept = tokens * layers * (20 * c + 2 * f + 3 * heads * seen) * (decodes ? 1.5 : 1);
  const double logits = decodes ? 6 * vocab * static_cast<double>(o.batch_size * o.summary_length) : 0;
  return 4 * (copies * parameters + kept + logits);
}

std::string to_json(TextOptions options) { return to_json(name(options.task), fields_of(options)); }

TextOptions text_options_from_json(std::string_view where, std::string_view json, TextTask task) {
  TextOptions options(task);
  from_json(where, json, name(task), fields_of(options));
  resolve(options);
  return options;
}

}  // namespace tapegrad::tasks
