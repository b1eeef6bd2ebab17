// The HTML page of a GPT's run.
#pragma once

#include <tapegrad/tasks/gpt/options.h>
#include <tapegrad/tasks/train/metrics.h>

#include <string>

namespace tapegrad::tasks {

// Curves of the losses and the learning rate, the sample of every epoch, and the settings.
std::string gpt_report(const GPTOptions& options, int64_t parameters, const train::Metrics& metrics);

}  // namespace tapegrad::tasks
