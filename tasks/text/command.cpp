// The options of `test` of the text tasks.
#include <tapegrad/tasks/settings/verb_options.h>
#include <tapegrad/tasks/text/verbs.h>

#include <memory>

namespace tapegrad::tasks {

void TextTestRequest::list(Fields& f) {
  add_model(f, model);
  f.add({.name = "data", .help = "folder written by 'tapegrad data'", .type = "DIR", .otherwise = "the run's data"},
        data);
  f.add_named({.name = "part", .help = "split of the data to test on"}, part, kPartNames);
  f.add({.name = "count", .help = "test on the first N examples; 0: all", .limits = kCountOrNone}, count);
  f.add({.name = "target", .help = task->words.target_help, .limits = nn::kShare, .otherwise = "none"}, target);
  if (task->generates)
    f.add({.name = "beams", .help = "beam-search width; 1: greedy decoding", .limits = kBeams}, beams);
  if (task->has_classes)
    f.add({.name = "draw", .help = "write a plot of the confusion matrix to this .svg file", .type = "FILE"}, draw);
  add_json(f, json);
}

void add_text_test(CLI::App* app, const TextTask& task, Run& run) {
  add_verb(app, run, std::make_shared<TextTestRequest>(TextTestRequest{.task = &task}), test_text);
}

}  // namespace tapegrad::tasks
