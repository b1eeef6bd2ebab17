// HTML that needs nothing from outside: sections of the report of a run, and the attention of one example.
#pragma once

#include <tapegrad/tasks/seq2seq/sample.h>

#include <string>

namespace tapegrad::tasks {

/// What a task adds to the report of its run: answers to new examples, and attention maps. The model is in eval mode.
std::string report_sections(const Task& task, const RunOptions& options, const nn::Transformer& model);

/// A page with one drawing.
std::string drawing_html(std::string_view title, const drawing::Drawing& drawing);

/// The attention maps of one example, and a sentence about them.
std::string attention_maps(const Task& task, const AttentionSample& sample);

}  // namespace tapegrad::tasks
