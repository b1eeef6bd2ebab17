// The settings of the text tasks: the model's, the data's, and the common ones of training.
#pragma once

#include <tapegrad/tasks/settings/training.h>
#include <tapegrad/tasks/text/corpus/corpus.h>
#include <tapegrad/tasks/text/models.h>

#include <string>
#include <string_view>

namespace tapegrad::tasks {

struct TextOptions : TrainingSettings {
  explicit TextOptions(TextTask task);

  TextTask task;
  std::string data;  // folder; empty: invented records
  int64_t vocab_size = 4000;
  int64_t hidden_size = 64;
  int64_t num_hidden_layers = 2;
  int64_t num_attention_heads = 4;
  int64_t intermediate_size = 128;
  double dropout = 0.1;
  int64_t context = 256;
  std::string encoder;  // classify and answer
  int64_t segment = 32;
  int64_t segment_layers = 1;
  int64_t window = 32;
  int64_t summary_length = 48;
  bool no_copy = false;
  int64_t eval_interval = 100;
  int64_t eval_examples = 256;

  void list(Fields& fields);
  TextModelConfig model(int64_t vocab_size, int64_t classes) const;
};

/// Checks. BadRequest that names the first option that is not possible.
void resolve(TextOptions& options);
/// An estimate of the bytes that training takes at its peak, in each of so many processes.
double training_bytes(const TextOptions& options, int64_t processes);

/// As JSON, and back, resolved. Error about `where` as from_json says.
std::string to_json(TextOptions options);
TextOptions text_options_from_json(std::string_view where, std::string_view json, TextTask task);

}  // namespace tapegrad::tasks
