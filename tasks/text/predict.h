// From examples to tokens, and from a model to predictions.
#pragma once

#include <tapegrad/tasks/text/options.h>
#include <tapegrad/tasks/text/task.h>

#include <span>
#include <string>
#include <vector>

namespace tapegrad::tasks {

/// Encodes examples. For training (`complete`), those are left out whose target cannot be learned: a class that is not
/// in `code.classes`, an answer beyond the context.
EncodedExamples encode(const TextOptions& options, std::span<const TextExample> examples, const TextCode& code,
                       bool complete);

/// One prediction per example, with a beam search of that width where the task generates texts. The model is in eval
/// mode; nothing is recorded.
std::vector<std::string> predict(const TextModel& model, const TextOptions& options, const TextCode& code,
                                 std::span<const TextExample> examples, int64_t beams = 1);

}  // namespace tapegrad::tasks
