// Prompts of trained models.
#pragma once

#include <tapegrad/tasks/gpt/model.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tapegrad::tasks {

// The prompts of every line of the text `file`, except empty ones. BadRequest about --prompt-file.
std::vector<std::vector<int64_t>> prompts_of_file(const std::string& file, const TrainedGPT& trained);
// The tokens of a prompt: those of `text`, after the one that the model expects before a text, or `ids`, "15496,11",
// where they are given. BadRequest about --prompt or --prompt-ids for no tokens, ids that the model does not have, and
// more than it reads.
std::vector<int64_t> prompt_ids_of(const std::string& text, const std::string& ids, const TrainedGPT& trained);

}  // namespace tapegrad::tasks
