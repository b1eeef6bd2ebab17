// The settings of the text tasks: the model's, the data's, and the common ones of training.
#pragma once

#include <tapegrad/tasks/settings/training.h>
#include <tapegrad/tasks/text/models.h>
#include <tapegrad/tasks/text/task.h>

#include <string>

namespace tapegrad::tasks {

struct TextOptions : TrainingSettings {
  explicit TextOptions(const TextTask& task);

  const TextTask* task;
  std::string data;                               // folder; empty: synthetic records
  TextModelConfig config = {.vocab_size = 4000};  // the model's; the encoder is that of classify and answer
  int64_t eval_interval = 100;
  int64_t eval_examples = 256;

  void list(Fields& fields);
  /// The model for a vocabulary that was trained, and for so many classes.
  TextModelConfig model(int64_t vocab_size, int64_t classes) const;
};

/// Adds --window, which counts where the encoder is "window".
void list_window(TextOptions& options, Fields& fields);
/// Checks. BadRequest that names the first option that is not possible.
void resolve(TextOptions& options);
/// An estimate of the bytes that training takes at its peak, in each of so many processes.
double training_bytes(const TextOptions& options, int64_t processes);

}  // namespace tapegrad::tasks
