// The verbs `explain` and `attention`: what a task is, and what a trained model looks at.
#include <fmt/format.h>
#include <tapegrad/tasks/attention/report.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/run/model_file.h>
#include <tapegrad/tasks/seq2seq/recipe.h>
#include <tapegrad/tasks/seq2seq/report.h>
#include <tapegrad/tasks/seq2seq/verbs.h>
#include <tapegrad/tasks/settings/output.h>

namespace tapegrad::tasks {

Fields ExampleRequest::asked() {
  Fields fields = example_fields(options);
  for (const Field& field : fields_of(reach)) fields.add(field);
  return fields;
}

void ExampleRequest::list_examples(Fields& f, std::string_view otherwise) {
  if (options.info->takes_expressions)
    f.add({.name = "expression", .help = "use this example", .type = "TEXT"}, expression);
  add_changes(f, example_fields(options), otherwise);
}

void ExplainRequest::list(Fields& f) {
  f.add({.name = "seed", .help = "sample an example with this random seed", .otherwise = "the tutorial's example"},
        seed);
  if (options.info->explains_many)
    f.add({.name = "num_examples",
           .help = "number of random examples",
           .limits = {.least = 1, .most = 1000},
           .otherwise = "the tutorial's three"},
          num_examples);
  list_examples(f, "the tutorial's");
}

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

void AttentionRequest::list(Fields& f) {
  add_model(f, model);
  AttentionOutput::list(f);
  Fields of_example;
  of_example.add({.name = "seed", .help = "random seed of the example"}, seed);
  f.insert_after("out", of_example);
  list_examples(f);
  add_changes(f, fields_of(reach));
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

  Decoding decoding{.group = kCrossGroup, .read = {}, .steps = sample.steps, .ends = true};
  for (std::size_t written = 0; written <= sample.steps.size(); ++written)
    if (auto picture = task.picture_of_part(sample.answer, written)) decoding.pictures.push_back(std::move(*picture));
  return report_attention(
      {.task = std::string(info.name),
       .model = file.string(),
       .json = {{"task", info.name},
                {"model", file.string()},
                {"input", sample.answer.input},
                {"output", sample.answer.output}},
       .heads = sample.heads,
       .drawn = sample.heads,
       .decoding = decoding,
       .title = fmt::format("tapegrad: attention of {}, seed {}", info.name, trained.options().seed),
       .heading = said("{} task: attention", drawing::escape_markup(info.name)),
       .maps = attention_maps(task, sample),
       .example = said("Input: {}\nOutput: {}\n", task.source_text(sample.answer.input),
                       task.target_text(sample.answer.output)),
       .shaded = kCrossGroup,
       .about = said("Cross-attention: a row is a token that the decoder has read, a column a token of\nthe source\n")},
      request, file.parent_path());
}

}  // namespace tapegrad::tasks
