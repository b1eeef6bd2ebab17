// The verbs `explain` and `attention`: what a task is, and what a trained model looks at.
#include <fmt/format.h>
#include <tapegrad/tasks/drawing/tables.h>
#include <tapegrad/tasks/seq2seq/model_file.h>
#include <tapegrad/tasks/seq2seq/report.h>
#include <tapegrad/tasks/seq2seq/verbs.h>

namespace tapegrad::tasks {

int explain(ExplainRequest request) {
  RunOptions options = request.options.info->defaults();
  options.info->for_explain(options, request.expression);
  override_with(fields_of(options), fields_of(request.options), request.given);
  resolve(options);
  const std::unique_ptr<Task> task = options.info->make(options);
  std::optional<Batch> example;
  if (!request.expression.empty()) {
    example = task->read_expression(request.expression);
  } else if (!request.given.empty() || request.seed) {
    Generator generator(request.seed.value_or(0));
    example = task->draw(1, generator);
  }
  fmt::print("{}", task->explain(example ? &*example : nullptr));
  return 0;
}

int attention(const AttentionRequest& request) {
  const TaskInfo& info = *request.options.info;
  const fs::path file = model_file(fmt::format("attention {}", info.name), info.name, request.model);
  TrainedModel trained = load_model(file, info, request.reach, request.given);
  override_examples(trained, request.options, request.given);
  const Task& task = *trained.task;
  nn::eval(trained.model);
  Generator generator(request.seed);
  const AttentionSample sample =
      attend(task, trained.model,
             request.expression.empty() ? task.draw(1, generator) : task.read_expression(request.expression));

  const fs::path folder = request.out.empty() ? file.parent_path() : fs::path(request.out);
  if (!folder.empty()) as_bad_request("--out", [&] { train::create_folder(folder); });
  train::replace_file(folder / "attention.svg", drawing::svg_file(draw(sample)));
  train::replace_file(folder / "attention.html", attention_html(task, trained.options, sample));

  fmt::print("=== Attention: {} ===\nModel: {}\n{}", info.name, file.string(),
             drawing::wrapped(fmt::format("Input: {}\nOutput: {}\n", task.source_text(sample.answer.input),
                                          task.target_text(sample.answer.output)),
                              4));
  if (!request.quiet) fmt::print("\n{}", attention_text(sample));
  fmt::print("{}",
             drawing::wrapped(fmt::format("Heatmaps of {} heads: {}, {}", sample.heads.size(),
                                          (folder / "attention.svg").string(), (folder / "attention.html").string()),
                              4));
  return 0;
}

}  // namespace tapegrad::tasks
