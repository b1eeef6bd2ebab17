// The verbs `explain` and `attention`: what a task is, and what a trained model looks at.
#include <fmt/format.h>
#include <tapegrad/tasks/copy.h>
#include <tapegrad/tasks/report.h>
#include <tapegrad/tasks/trainer.h>
#include <tapegrad/tasks/verbs.h>

namespace tapegrad::tasks {

int explain(const ExplainRequest& request) {
  RunOptions options;
  options.task = request.task;
  options.seq_length = request.seq_length.value_or(5);
  settle(options);
  Tokens example;
  if (request.seq_length || request.seed) {
    Generator generator(request.seed.value_or(0));
    example = make_task(options)->draw(1, generator).source.to_vector<std::int64_t>();
  }
  fmt::print("{}", explain_copy(example, options.vocab_size));
  return 0;
}

int attention(const AttentionRequest& request) {
  const std::string where = fmt::format("attention {}", request.task);
  const fs::path file = model_file(where, request.task, request.model);
  TrainedModel trained = load_model(file, request.task);
  RunOptions options = trained.options;
  if (request.seq_length) set_length(options, *request.seq_length);
  const std::unique_ptr<Task> task = make_task(options);
  nn::eval(trained.model);
  Generator generator(request.seed);
  const AttentionSample sample = attend(*task, trained.model, task->draw(1, generator));

  const fs::path folder = request.out.empty() ? file.parent_path() : fs::path(request.out);
  std::error_code code;
  if (!folder.empty()) fs::create_directories(folder, code);
  if (code) refuse("--out", fmt::format("cannot create the folder {}: {}", folder.string(), code.message()));
  replace_file(folder / "attention.svg", svg_file(draw(sample)));
  replace_file(folder / "attention.html", attention_html(*task, options, sample));

  fmt::print("=== Attention: {} ===\nModel: {}\nInput: {}\nOutput: {}\n", request.task, file.string(),
             show_tokens(*task, sample.answer.input), show_tokens(*task, sample.answer.output));
  if (!request.quiet) fmt::print("\n{}", attention_text(sample));
  fmt::print("Heatmaps of {} heads: {}, {}\n", sample.heads.size(), (folder / "attention.svg").string(),
             (folder / "attention.html").string());
  return 0;
}

}  // namespace tapegrad::tasks
