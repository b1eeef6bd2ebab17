// The tasks of `compare positions`, each with examples of the lengths of training, and with longer ones.
#pragma once

#include <tapegrad/tasks/seq2seq/task.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace tapegrad::tasks {

/// The sizes of the examples of every task.
struct ComparedSizes {
  int64_t max_digits = 3;  // of training: each batch has numbers of one width, from one digit to this
  int64_t depth = 2;       // of the expressions of training
  int64_t longer = 1;      // digits, and levels of nesting, beyond training

  void list(Fields& fields);
};

/// A task whose examples have a size: the digits of its numbers, or the nesting depth of its expressions.
struct ComparedTask {
  std::string_view name;
  std::string_view title;        // "up to {} digits in training, {} beyond"
  int64_t ComparedSizes::*size;  // the largest of training
  int64_t most;                  // that the task supports
  std::string_view sizes;        // "digits with --max-digits"
  /// The settings of a task whose training has examples up to this size.
  RunOptions (*options)(int64_t size);
  /// Examples of exactly the size of the options.
  Batch (*draw)(const RunOptions& options, int64_t count, Generator& generator);
};

std::span<const ComparedTask> compared_tasks();
/// The one of this name.
const ComparedTask& compared_task(std::string_view name);

}  // namespace tapegrad::tasks
