// The options of the verbs of a GPT.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace tapegrad::tasks {

// Adds a verb's options to its subcommand; once they are parsed, `run` executes the request.
void add_gpt_generate(CLI::App* app, std::function<int()>& run);
void add_gpt_attention(CLI::App* app, std::function<int()>& run);
void add_gpt_test(CLI::App* app, std::function<int()>& run);
void add_chat(CLI::App* app, std::function<int()>& run);

}  // namespace tapegrad::tasks
