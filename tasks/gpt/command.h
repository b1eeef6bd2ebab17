// The options of the verbs of a GPT.
#pragma once

#include <tapegrad/tasks/settings/command_line.h>

namespace tapegrad::tasks {

// Adds a verb's options to its subcommand; once they are parsed, `run` executes the request.
void add_gpt_generate(CLI::App* app, Run& run);
void add_gpt_attention(CLI::App* app, Run& run);
void add_gpt_test(CLI::App* app, Run& run);
void add_chat(CLI::App* app, Run& run);

}  // namespace tapegrad::tasks
