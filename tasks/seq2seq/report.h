// HTML pages that need nothing from outside: the report of a run, and the attention of one example.
#pragma once

#include <tapegrad/tasks/attention/analysis.h>
#include <tapegrad/tasks/seq2seq/sample.h>

#include <string>
#include <vector>

namespace tapegrad::tasks {

/// What a task adds to the report of its run: answers to new examples, and attention maps. The model is in eval mode.
std::string report_sections(const Task& task, const RunOptions& options, const nn::Transformer& model);

/// A page with one drawing.
std::string drawing_html(std::string_view title, const drawing::Drawing& drawing);

/// A page with the attention maps of one example, and with the figures of its heads, if there are any.
std::string attention_html(const Task& task, const RunOptions& options, const AttentionSample& sample,
                           const std::vector<HeadFigures>& figures = {});

}  // namespace tapegrad::tasks
