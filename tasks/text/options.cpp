// Declares and checks the settings of the text tasks.
#include <tapegrad/tasks/text/options.h>

#include <algorithm>

namespace tapegrad::tasks {

TextOptions::TextOptions(const TextTask& task) : task(&task) {
  config.encoder = TextEncoderKind::flat;
  num_epochs = 10;
  batch_size = 32;
  lr = 1e-3;
  schedule = "warmup-cosine";
  warmup = 50;
  clip_grad = 1;
  task.set_defaults(*this);
}

void TextOptions::list(Fields& f) {
  Options in_model(f, Group::model);
  Options in_data(f, Group::data);
  Options in_training(f, Group::training);
  TextModelConfig& c = config;
  in_model("vocab-size", "size of the byte-pair vocabulary that is trained on the texts", c.vocab_size, {300, 100'000});
  in_model("hidden-size", "width of the model; a multiple of the number of heads", c.hidden_size, kCount);
  in_model("num-hidden-layers", "layers over the tokens", c.num_hidden_layers, kCount);
  in_model("num-attention-heads", "heads per attention", c.num_attention_heads, kCount);
  in_model("intermediate-size", "width inside the feed-forward blocks", c.intermediate_size, kCount);
  in_model("dropout", "dropout probability, everywhere in the model", c.dropout, kProbability);
  in_model("context", "maximum number of tokens of a text; the rest is cut off", c.context, kCount);
  task->list(*this, f);
  in_data("data", "folder written by 'tapegrad data' (default: 200 synthetic records)", data).type("DIR");
  TrainingSettings::list(f);
  in_training("eval-interval", "steps between two evaluations", eval_interval, kCount);
  in_training("eval-examples", "examples of the validation split per evaluation", eval_examples, kCount);
}

TextModelConfig TextOptions::model(int64_t vocab_size, int64_t classes) const {
  TextModelConfig model = config;
  model.vocab_size = vocab_size;
  model.classes = classes;
  return model;
}

void list_window(TextOptions& o, Fields& f) {
  Options{f, Group::model}("window", "window: tokens on each side that a token attends to", o.config.window, kCount,
                           o.config.encoder == TextEncoderKind::window);
}

void resolve(TextOptions& o) {
  check_limits(fields_of(o));
  o.check();
  const int64_t width = o.config.hidden_size, heads = o.config.num_attention_heads;
  require(width % heads == 0, "--hidden-size", "{} is not divisible by --num-attention-heads {}", width, heads);
  // However many processes there are: with the fewest gradients.
  require_memory("train", kModelAndBatch, training_bytes(o, o.accumulate));
}

double training_bytes(const TextOptions& o, int64_t processes) {
  const TextModelConfig& m = o.config;
  const auto c = static_cast<double>(m.hidden_size), f = static_cast<double>(m.intermediate_size);
  const auto layers = static_cast<double>(m.num_hidden_layers), vocab = static_cast<double>(m.vocab_size);
  const auto tokens = static_cast<double>(o.batch_size * m.context), heads = static_cast<double>(m.num_attention_heads);
  const bool decodes = o.task->generates, cut = m.encoder == TextEncoderKind::hierarchy;
  const auto seen = static_cast<double>(cut ? std::min(m.segment, m.context) : m.context);
  const double parameters = (decodes ? 3 : 1) * vocab * c + (decodes ? 2 : 1) * layers * (8 * c * c + 2 * c * f);
  const double kept = tokens * layers * (20 * c + 2 * f + 3 * heads * seen) * (decodes ? 1.5 : 1);
  const double logits = decodes ? 6 * vocab * static_cast<double>(o.batch_size * m.summary_context) : 0;
  return 4 * (o.copies_of_parameters(processes) * parameters + kept + logits);
}

}  // namespace tapegrad::tasks
