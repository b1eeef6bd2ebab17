// The HTML page of a GPT's run.
#pragma once

#include <tapegrad/tasks/gpt_options.h>
#include <tapegrad/tasks/metrics.h>

#include <string>

namespace tapegrad::tasks {

// Curves of the losses and the learning rate, the sample of every epoch, and the settings.
std::string gpt_report(const GPTOptions& options, std::int64_t parameters, const Metrics& metrics);

}  // namespace tapegrad::tasks
