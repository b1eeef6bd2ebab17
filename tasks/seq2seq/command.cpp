// The options of `test`, `explain` and `attention` of copy, addition and parser.
#include <tapegrad/tasks/run/command.h>
#include <tapegrad/tasks/seq2seq/command.h>
#include <tapegrad/tasks/seq2seq/verbs.h>
#include <tapegrad/tasks/settings/command_line.h>

#include <CLI/CLI.hpp>
#include <memory>

namespace tapegrad::tasks {
namespace {

// The options of every verb about examples: their length, and one example as a text. `act` gets the request.
template <class Request, class F>
void add_example(CLI::App* app, const std::shared_ptr<Request>& r, const TaskInfo& task, std::function<int()>& run,
                 F act) {
  constexpr bool kExplain = std::is_same_v<Request, ExplainRequest>;
  add_options(app, example_fields(r->options), kExplain ? "the tutorial's" : "the run's");
  if constexpr (!kExplain) add_options(app, fields_of(r->reach), "the run's");
  if (task.takes_expressions) {
    app->add_option("--expression", r->expression, "use this example")
        ->type_name("TEXT")
        ->check([](const std::string& text) { return std::string(text.empty() ? "must not be empty" : ""); });
  }
  app->callback([app, r, act, &run] {
    run = [app, r, act] {
      r->given = given_on(app, example_fields(r->options));
      if constexpr (!kExplain) {
        check_limits(fields_of(r->reach));
        for (const std::string& name : given_on(app, fields_of(r->reach))) r->given.push_back(name);
      }
      return act(*r);
    };
  });
}

}  // namespace

void add_test(CLI::App* app, const TaskInfo& task, std::function<int()>& run) {
  const auto r = std::make_shared<TestRequest>(task);
  add_model_option(app, r->model);
  app->add_option("--count", r->count, "number of new examples to test")->capture_default_str()->type_name("N");
  app->add_option("--seed", r->seed, "random seed of these examples (default: the run's seed + 1)")->type_name("SEED");
  app->add_option("--target", r->target,
                  "minimum exact-match rate; below it the exit status is 1 (default: the task's)")
      ->type_name("X");
  app->add_option("--beams", r->beams, "beam-search width; 1: greedy decoding")->capture_default_str()->type_name("N");
  app->add_option("--length-penalty", r->length_penalty,
                  "beam search divides log-probabilities by ((5 + length) / 6)^A; larger values favour longer answers")
      ->capture_default_str()
      ->type_name("A");
  app->add_flag("--json", r->json, "print one JSON object");
  if (task.draws)
    app->add_option("--draw", r->draw, "draw the answer to --expression into this .svg or .html file")
        ->type_name("FILE");
  add_example(app, r, task, run, test);
}

void add_explain(CLI::App* app, const TaskInfo& task, std::function<int()>& run) {
  const auto r = std::make_shared<ExplainRequest>(task);
  app->add_option("--seed", r->seed, "draw an example with this random seed (default: the tutorial's example)")
      ->type_name("SEED");
  if (task.explains_many)
    app->add_option("--num-examples", r->num_examples, "number of random examples (default: the tutorial's three)")
        ->type_name("N");
  add_example(app, r, task, run, explain);
}

void add_attention(CLI::App* app, const TaskInfo& task, std::function<int()>& run) {
  const auto r = std::make_shared<AttentionRequest>(task);
  add_model_option(app, r->model);
  app->add_option("--out", r->out, "folder for attention.svg and attention.html (default: the model's)")
      ->type_name("DIR");
  app->add_option("--seed", r->seed, "random seed of the example")->capture_default_str()->type_name("SEED");
  app->add_flag("--quiet", r->quiet, "write the files, and draw nothing in the terminal");
  app->add_flag(
      "--analyze", r->analyze,
      "also compute singular values, entropy, frequencies and energy of every head, and check the tutorial's claims");
  app->add_flag("--json", r->json, "print the figures of --analyze as one JSON object");
  add_example(app, r, task, run, attention);
}

}  // namespace tapegrad::tasks
