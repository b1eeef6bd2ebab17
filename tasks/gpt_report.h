// The HTML page of a GPT's run.
#pragma once

#include <tapegrad/tasks/gpt_options.h>
#include <tapegrad/tasks/metrics.h>

#include <string>
#include <vector>

namespace tapegrad::tasks {

// Curves of the losses and the learning rate, the samples in the order in which they were made, and the settings.
std::string gpt_report(const GPTOptions& options, std::int64_t parameters, const Metrics& metrics,
                       const std::vector<std::string>& samples);

}  // namespace tapegrad::tasks
