// The verbs about the tutorials.
#include <tapegrad/command/optional/optional.h>
#include <tapegrad/command/verb/add.h>
#include <tapegrad/tasks/seq2seq/task.h>
#include <tapegrad/tutorials/compare/positions.h>
#include <tapegrad/tutorials/compare/text.h>
#include <tapegrad/tutorials/exercises/command.h>
#include <tapegrad/tutorials/explain/explain.h>
#include <tapegrad/tutorials/find.h>
#include <tapegrad/tutorials/show/show.h>
#include <tapegrad/tutorials/step/step.h>
#include <tapegrad/tutorials/tutorial.h>

namespace tapegrad::tasks {

void add_tutorial(CLI::App* app, Parsed& parsed) { add_computing<tutorial::Request, tutorial::run>(app, parsed); }

void add_exercise(CLI::App* app, Parsed& parsed) { add_alone<exercises::Request, exercises::run>(app, parsed); }

void add_topics(CLI::App* verb, Parsed& parsed) {
  for (const Topic& topic : topics()) {
    CLI::App* app = verb->add_subcommand(std::string(topic.name), std::string(topic.help));
    const auto r = std::make_shared<ShowRequest>();
    r->topic = topic.name;
    add_verb(app, parsed.run, r, show);
    if (topic.threads) add_threads(app, parsed);
  }
}

void add_explanations(CLI::App* verb, Parsed& parsed) {
  for (const Essay& essay : essays())
    add_part<ExplainRequest>(verb, essay.task->name, essay.task->help, parsed, explain, essay);
  add_part<step::Request>(verb, "step", "every number of one training step of your own model, on a page", parsed,
                          step::explain_step);
}

void add_compare(CLI::App* verb, Parsed& parsed) {
  add_part<ComparePositionsRequest>(
      verb, "positions", "compare positional encodings (tutorial 003, 8.3.2, deep dive 7)", parsed, compare_positions);
  add_part<CompareTextRequest>(
      verb, "text", "compare text encoders, summarisers with and without copying, and baselines", parsed, compare_text);
}

bool names_page_of_tutorial(const std::string& word) { return tutorial::names_page(word); }

}  // namespace tapegrad::tasks
