// The kinds of runs: what a word after `train` and the other verbs means. No kind depends on it.
#include <tapegrad/tasks/gpt/command.h>
#include <tapegrad/tasks/gpt/recipe.h>
#include <tapegrad/tasks/run/command.h>
#include <tapegrad/tasks/seq2seq/command.h>
#include <tapegrad/tasks/seq2seq/recipe.h>
#include <tapegrad/tasks/seq2seq/tasks.h>
#include <tapegrad/tasks/text/recipe.h>
#include <tapegrad/tasks/text/verbs.h>

namespace tapegrad::tasks {
namespace {

Kind kind_of(const TaskInfo& task) {
  const auto with = [&task](auto add) { return [&task, add](CLI::App* app, Run& run) { add(app, task, run); }; };
  return {.name = task.name,
          .help = task.help,
          .make = [&task] { return std::make_unique<Seq2SeqRecipe>(task); },
          .verbs = {{"test", with(add_test)}, {"explain", with(add_explain)}, {"attention", with(add_attention)}}};
}

Kind kind_of(const TextTask& task) {
  return {.name = task.words.name,
          .help = task.words.help,
          .make = [&task] { return std::make_unique<TextRecipe>(task); },
          .verbs = {{"test", [&task](CLI::App* app, Run& run) { add_text_test(app, task, run); }}}};
}

}  // namespace

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> kKinds = [] {
    std::vector<Kind> kinds;
    for (const TaskInfo* task : all_tasks()) kinds.push_back(kind_of(*task));
    kinds.push_back(
        {.name = kGPTTask,
         .help = "predict the next token of a text, with a GPT",
         .make = [] { return std::make_unique<GPTRecipe>(); },
         .verbs = {{"test", add_gpt_test}, {"generate", add_gpt_generate}, {"attention", add_gpt_attention}}});
    for (const TextTask* task : text_tasks()) kinds.push_back(kind_of(*task));
    return kinds;
  }();
  return kKinds;
}

}  // namespace tapegrad::tasks
