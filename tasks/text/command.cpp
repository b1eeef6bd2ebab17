// The options of `test` of the text tasks.
#include <fmt/format.h>
#include <tapegrad/tasks/run/command.h>
#include <tapegrad/tasks/settings/option_types.h>
#include <tapegrad/tasks/text/verbs.h>

#include <CLI/CLI.hpp>
#include <memory>

namespace tapegrad::tasks {

void add_text_test(CLI::App* app, const TextTask& task, std::function<int()>& run) {
  const auto r = std::make_shared<TextTestRequest>(TextTestRequest{.task = &task});
  add_model_option(app, r->model);
  app->add_option("--data", r->data, "folder written by 'tapegrad data' (default: the run's data)")->type_name("DIR");
  choose_from(app->add_option("--part", r->part, "part of the data to test on")->capture_default_str(),
              {std::begin(kPartNames), std::end(kPartNames)});
  app->add_option("--count", r->count, "test on the first N examples; 0: all")->capture_default_str()->type_name("N");
  app->add_option("--target", r->target,
                  fmt::format("minimum {}; below it the exit status is 1 (default: none)", task.words.measure))
      ->type_name("X");
  if (task.generates)
    app->add_option("--beams", r->beams, "beam-search width; 1: greedy decoding")
        ->capture_default_str()
        ->type_name("N");
  if (task.has_classes)
    app->add_option("--draw", r->draw, "draw the confusion matrix into this .svg file")->type_name("FILE");
  app->add_flag("--json", r->json, "print one JSON object");
  app->callback([r, &run] { run = [r] { return test_text(*r); }; });
}

}  // namespace tapegrad::tasks
