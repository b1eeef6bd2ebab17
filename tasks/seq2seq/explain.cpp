// The verbs `explain` and `attention`: what a task is, and what a trained model looks at.
#include <fmt/format.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/tasks/attention/files.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/run/model_file.h>
#include <tapegrad/tasks/seq2seq/recipe.h>
#include <tapegrad/tasks/seq2seq/report.h>
#include <tapegrad/tasks/seq2seq/verbs.h>
#include <tapegrad/tasks/settings/output.h>
#include <tapegrad/train/drawing/tables.h>

#include <nlohmann/json.hpp>

namespace tapegrad::tasks {

int explain(ExplainRequest request) {
  const bool several = request.num_examples.has_value();
  require(!several || !request.expression, "--num-examples", "expected --num-examples or --expression, got both");
  RunOptions options = request.options.info->defaults();
  options.info->for_explain(options, request.expression.value_or(""));
  override_with(fields_of(options), fields_of(request.options), request.given);
  resolve(options);
  const std::unique_ptr<Task> task = options.info->make(options);
  std::optional<Batch> example;
  if (request.expression) {
    example = task->read_expression(*request.expression);
  } else if (!request.given.empty() || request.seed || several) {
    Generator generator(request.seed.value_or(0));
    example = task->draw(request.num_examples.value_or(1), generator);
  }
  print_text(task->explain(example ? &*example : nullptr));
  return 0;
}

int attention(const AttentionRequest& request) {
  request.check();
  const TaskInfo& info = *request.options.info;
  const fs::path file = model_file(fmt::format("attention {}", info.name), info.name, request.model);
  Seq2SeqRecipe trained(info);
  ReachSettings reach = request.reach;
  load_model(trained, file, fields_of(reach), request.given);
  trained.override_examples(request.options, request.given);
  const Task& task = trained.task();
  Generator generator(request.seed);
  const AttentionSample sample =
      attend(task, trained.transformer(),
             request.expression ? task.read_expression(*request.expression) : task.draw(1, generator));

  const std::vector<HeadFigures> figures = request.analyze ? analyse(sample.heads) : std::vector<HeadFigures>();
  const AttentionFiles files{request.out.empty() ? file.parent_path() : fs::path(request.out), figures};
  files.write(draw(heads_named(sample.heads, request.only)), attention_html(task, trained.options(), sample, figures));
  if (request.json) {
    nlohmann::ordered_json json{{"task", info.name},
                                {"model", file.string()},
                                {"input", sample.answer.input},
                                {"output", sample.answer.output}};
    json.update(analysis_json(figures));
    print_now(json::text_of(json) + "\n");
    return 0;
  }
  print_text(said("=== Attention: {} ===\nModel: {}\n{}", info.name, file.string(),
                  drawing::wrapped(said("Input: {}\nOutput: {}\n", task.source_text(sample.answer.input),
                                        task.target_text(sample.answer.output)),
                                   4)));
  if (!request.quiet) print_text(fmt::format("\n{}{}", attention_text(sample), files.text()));
  print_text(files.told(sample.heads.size()));
  return 0;
}

}  // namespace tapegrad::tasks
