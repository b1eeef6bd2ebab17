// The kinds of runs: what a word after `train` and the other verbs means. No kind depends on it.
#include <tapegrad/tasks/gpt/recipe.h>
#include <tapegrad/tasks/gpt/verbs.h>
#include <tapegrad/tasks/run/command.h>
#include <tapegrad/tasks/seq2seq/recipe.h>
#include <tapegrad/tasks/seq2seq/task.h>
#include <tapegrad/tasks/seq2seq/verbs.h>
#include <tapegrad/tasks/text/recipe.h>
#include <tapegrad/tasks/text/verbs.h>

namespace tapegrad::tasks {
namespace {

// A verb of a kind: the request that lists its options, made from `of`, and what does it.
template <class Request, class Act, class... Of>
std::pair<std::string_view, AddVerb> verb(std::string_view name, Act act, const Of&... of) {
  return {name, [=, &of...](CLI::App* app, Run& run) { add_verb(app, run, std::make_shared<Request>(of...), act); }};
}

Kind kind_of(const TaskInfo& task) {
  return {.name = task.name,
          .help = task.help,
          .make = [&task] { return std::make_unique<Seq2SeqRecipe>(task); },
          .verbs = {verb<TestRequest>("test", test, task)}};
}

Kind kind_of(const TextTask& task) {
  return {.name = task.words.name,
          .help = task.words.help,
          .make = [&task] { return std::make_unique<TextRecipe>(task); },
          .verbs = {verb<TextTestRequest>("test", test_text, task)}};
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
         .verbs = {verb<GPTTestRequest>("test", test_gpt), verb<GPTGenerateRequest>("generate", generate_gpt)}});
    for (const TextTask* task : text_tasks()) kinds.push_back(kind_of(*task));
    return kinds;
  }();
  return kKinds;
}

}  // namespace tapegrad::tasks
