// The settings of a sequence-to-sequence run: the model's, the common ones of training, and the task's own.
#pragma once

#include <tapegrad/nn/transformer.h>
#include <tapegrad/tasks/settings/model.h>
#include <tapegrad/tasks/settings/training.h>

#include <any>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tapegrad::tasks {

class Task;
struct RunOptions;

/// The description of a task, which the command uses without creating the task: the static members of its class
/// (task.h).
struct TaskInfo {
  std::string_view name, help;
  RunOptions (*defaults)();
  void (*list)(std::any& settings, Fields& fields);
  int64_t (*longest)(const RunOptions&);
  void (*check)(const RunOptions&);
  void (*adapt)(RunOptions&, const Given& given);
  std::unique_ptr<Task> (*make)(const RunOptions&);
  int64_t least_positions;
  bool takes_expressions;
  bool draws;
  int64_t test_count;
};

/// The values here are the tutorial's for the copy task (8.5.1).
struct RunOptions : TrainingSettings, PositionSettings {
  /// The options of a task, with its own settings.
  RunOptions(const TaskInfo& task, std::any own);

  const TaskInfo* info;
  std::string preset = "tutorial";  // sizes: the task's, or those of nn::transformer_preset
  /// The model's, with one dropout probability, and 0 for positions as long as the sequences. Its positions and
  /// attention are those of the settings: model() has them.
  nn::TransformerConfig config = {.vocab_size = 20,
                                  .hidden_size = 64,
                                  .num_hidden_layers = 2,
                                  .num_attention_heads = 2,
                                  .intermediate_size = 128,
                                  .max_position_embeddings = 0};
  AttentionSettings attention;
  int64_t steps_per_epoch = 100;
  std::any own;  // the settings that only this task has

  /// The task's own settings: of<CopyTask>().seq_length.
  template <class T>
  typename T::Settings& of() {
    return std::any_cast<typename T::Settings&>(own);
  }
  template <class T>
  const typename T::Settings& of() const {
    return std::any_cast<const typename T::Settings&>(own);
  }

  void list(Fields& fields);
  int64_t total_steps() const { return limited(num_epochs * steps_per_epoch); }
  nn::TransformerConfig model() const;
};

/// Sets the sizes of the preset that are not `given` by name.
void apply_preset(RunOptions& options, const Given& given);
/// The model's, as options: those that tasks do not set, with one dropout probability for all places.
Fields model_fields(nn::TransformerConfig& config);
/// The settings that decide how long an example is.
Fields example_fields(RunOptions& options);
/// Fills in the settings that follow from others: those whose 0 means another value.
void fill_in(RunOptions& options);
/// Fills in, and checks. BadRequest that names the first option that is not possible.
void resolve(RunOptions& options);

/// An estimate of the bytes that training takes at its peak, in each of so many processes.
double training_bytes(const RunOptions& options, int64_t processes);

}  // namespace tapegrad::tasks
