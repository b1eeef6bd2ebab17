// HTML pages that need nothing from outside: the report of a run, and the attention of one example.
#pragma once

#include <tapegrad/tasks/seq2seq/sample.h>
#include <tapegrad/tasks/train/metrics.h>

#include <string>

namespace tapegrad::tasks {

// Curves of loss, accuracy and learning rate, answers to fresh examples, attention maps, and the settings.
std::string report_html(const Task& task, const RunOptions& options, nn::Transformer& model,
                        const train::Metrics& metrics);

// One drawing.
std::string drawing_html(std::string_view title, const drawing::Drawing& drawing);

std::string attention_html(const Task& task, const RunOptions& options, const AttentionSample& sample);

}  // namespace tapegrad::tasks
