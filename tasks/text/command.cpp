// The options of `train` and `test` of the text tasks.
#include <fmt/format.h>
#include <tapegrad/tasks/settings/command_line.h>
#include <tapegrad/tasks/settings/option_types.h>
#include <tapegrad/tasks/text/verbs.h>

#include <CLI/CLI.hpp>
#include <memory>

namespace tapegrad::tasks {

std::string_view summary(TextTask task) {
  switch (task) {
    case TextTask::classify: return "classify a text, with a flat or a hierarchical encoder";
    case TextTask::summarize: return "summarise a text, with words copied from it";
    default: return "find the part of a text that answers a question";
  }
}

void add_text_train(CLI::App* app, TextTask task, std::function<int()>& run) {
  const auto r = std::make_shared<TextTrainRequest>(task);
  r->out = default_folder(name(task)).string();
  add_options(app, fields_of(r->options));
  add_options(app, fields_of<RunRequest>(*r));
  app->callback([app, r, &run] {
    run = [app, r] {
      r->given = given_on(app, fields_of(r->options));
      return train_text(*r);
    };
  });
}

void add_text_test(CLI::App* app, TextTask task, std::function<int()>& run) {
  const auto r = std::make_shared<TextTestRequest>(TextTestRequest{.task = task});
  app->add_option("--model", r->model,
                  fmt::format("{} of a run, or its folder (default: the last run's)", train::kModelFile))
      ->type_name("FILE_OR_DIR");
  app->add_option("--data", r->data, "folder written by 'tapegrad data' (default: the run's data)")->type_name("DIR");
  choose_from(app->add_option("--part", r->part, "part of the data to test on")->capture_default_str(),
              {std::begin(kPartNames), std::end(kPartNames)});
  app->add_option("--count", r->count, "test on the first N examples; 0: all")->capture_default_str()->type_name("N");
  const char* const measure = task == TextTask::classify    ? "accuracy"
                              : task == TextTask::summarize ? "F1 of ROUGE-L"
                                                            : "exact-match rate";
  app->add_option("--target", r->target,
                  fmt::format("minimum {}; below it the exit status is 1 (default: none)", measure))
      ->type_name("X");
  if (task == TextTask::summarize)
    app->add_option("--beams", r->beams, "beam-search width; 1: greedy decoding")
        ->capture_default_str()
        ->type_name("N");
  if (task == TextTask::classify)
    app->add_option("--draw", r->draw, "draw the confusion matrix into this .svg file")->type_name("FILE");
  app->add_flag("--json", r->json, "print one JSON object");
  app->callback([r, &run] { run = [r] { return test_text(*r); }; });
}

}  // namespace tapegrad::tasks
