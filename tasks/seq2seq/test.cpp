// The verb `test`: one example as the tutorial shows it, then examples by the thousand against a target.
#include <fmt/format.h>
#include <tapegrad/autograd/io/internal/json_value.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/generate.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/tasks/run/model_file.h>
#include <tapegrad/tasks/seq2seq/recipe.h>
#include <tapegrad/tasks/seq2seq/sample.h>
#include <tapegrad/tasks/seq2seq/verbs.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/train/drawing/tables.h>

namespace tapegrad::tasks {

namespace fs = std::filesystem;
namespace {

struct Score {
  int64_t examples = 0, tokens = 0;
  int64_t right = 0, right_tokens = 0;  // decoded
  int64_t forced_right = 0;             // each token predicted from the right ones before it

  double exact() const { return share(right, examples); }
  double token() const { return share(right_tokens, tokens); }
  double forced() const { return share(forced_right, examples); }
};

int64_t count_true(const Tensor& x) { return sum(x).item<int64_t>(); }

// The predictions with teacher forcing, [N, T].
Tensor forced(const Task& task, const nn::Transformer& model, const Batch& batch) {
  constexpr int64_t kTogether = 250;
  const Tensor causal = nn::causal_mask(batch.target.size(1));
  std::vector<Tensor> parts;
  const std::vector<Tensor> sources = split(batch.source, kTogether), targets = split(batch.target, kTogether);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Tensor outputs = model(sources[i], shifted(task, targets[i]), task.source_mask(sources[i]), causal);
    parts.push_back(predicted_tokens(task, outputs, targets[i]));
  }
  return cat(parts, 0);
}

Score score_of(const Task& task, const Batch& batch, const Tensor& predicted, const Tensor& forced) {
  const Tensor right = task.right_tokens(predicted, batch.target);  // [N, T]
  const Tensor counted =
      task.padding() ? batch.target != static_cast<double>(*task.padding()) : batch.target == batch.target;
  return {.examples = batch.source.size(0),
          .tokens = count_true(counted),
          .right = count_true(all(right, 1)),
          .right_tokens = count_true(logical_and(right, counted)),
          .forced_right = count_true(all(task.right_tokens(forced, batch.target), 1))};
}

// The picture of an answer, as SVG or as a page.
std::string picture_of(const Task& task, const Answer& answer, const fs::path& file) {
  const std::optional<drawing::Drawing> drawing = task.picture(answer);
  if (!drawing) bad_request("--draw", "this task has no plots of answers");
  const bool page = file.extension() == ".html";
  return page ? drawing_html(task.source_text(answer.input), *drawing) : drawing::svg_file(*drawing);
}

// `test --expression`: one answer, right or wrong.
Tested answer_expression(const TestRequest& request, const fs::path& file, const Seq2SeqRecipe& trained) {
  const Task& task = trained.task();
  const Batch example = task.read_expression(*request.expression);
  const Answer answer = answer_to(task, trained.transformer(), example, request.beams, request.length_penalty);
  return {.json = {{"task", trained.name()},
                   {"model", file.string()},
                   {"expression", *request.expression},
                   {"input", answer.input},
                   {"output", answer.output},
                   {"target", answer.target},
                   {"answer", task.target_text(answer.output)},
                   {"expected", task.target_text(answer.target)},
                   {"correct", answer.right()}},
          .text = task.answer_text(answer),
          .drawing = request.draw.empty() ? "" : picture_of(task, answer, request.draw)};
}

// New examples, against the target.
Tested test_examples(const TestRequest& request, const fs::path& file, const Seq2SeqRecipe& trained) {
  const Task& task = trained.task();
  const nn::Transformer& model = trained.transformer();
  const std::string_view name = trained.name();
  const uint64_t seed = request.seed.value_or(trained.options().seed + 1);
  Generator fresh(seed);
  const Answer shown = answers(task, model, 1, fresh).front();
  const TestSet test_set = task.test_set(request.count, fresh);
  const Tensor predicted = decode(task, model, test_set.examples.source, test_set.examples.target.size(1),
                                  request.beams, request.length_penalty);
  const Score score = score_of(task, test_set.examples, predicted, forced(task, model, test_set.examples));
  const ExtraMetrics extra = task.extra_metrics(model, test_set.examples, predicted, fresh);
  const double target = request.target.value_or(task.test_target());
  const bool passed = score.exact() >= target;

  Tested tested;
  tested.json = {{"task", name},
                 {"model", file.string()},
                 {"seed", seed},
                 {"beams", request.beams},
                 {"count", score.examples},
                 {"exact_match", score.exact()},
                 {"token_accuracy", score.token()},
                 {"teacher_forced_exact_match", score.forced()},
                 {"target", target},
                 {"passed", passed}};
  if (!extra.json.empty()) tested.json.update(Json::parse(extra.json));
  const std::string how = request.beams == 1 ? "greedily" : fmt::format("with {} beams", request.beams);
  tested.text =
      fmt::format("=== Test: {} ===\nModel: {}\n{}\n", name, file.string(), task.answer_text(shown)) +
      drawing::wrapped(fmt::format("{} (seed {}), decoded {}:", test_set.what, seed, how), 2) +
      fmt::format("  exact match     {:.4f} ({} of {}), the target is {}\n", score.exact(), score.right, score.examples,
                  target) +
      fmt::format("  correct tokens  {:.5f}\n  teacher-forced  {:.4f} exact\n", score.token(), score.forced()) +
      extra.text;
  if (!passed) tested.failure = fmt::format("exact match {} is below the target {}", score.exact(), target);
  return tested;
}

void check(const TestRequest& request) {
  request.BeamOptions::check();
  if (!request.draw.empty() && !request.expression)
    bad_request("--draw", "plots the answer to --expression, which is missing");
  check_drawing(request.draw, ".svg", ".html");
}

}  // namespace

Fields ExampleRequest::asked() {
  Fields fields = example_fields(options);
  for (const Field& field : fields_of(reach)) fields.add(field);
  return fields;
}

void ExampleRequest::list_examples(Fields& f, std::string_view otherwise) {
  if (options.info->takes_expressions) Options{f}("expression", "use this example", expression).type("TEXT");
  add_changes(f, example_fields(options), otherwise);
}

void TestRequest::list(Fields& f) {
  Options add(f);
  add_model(f, model);
  add("count", "number of new examples to test", count, kCount);
  add("seed", "random seed of these examples", seed).otherwise("the run's seed + 1");
  add("target", "minimum exact-match rate; below it the exit status is 1", target, nn::kShare).otherwise("the task's");
  BeamOptions::list(f);
  add_json(f, json);
  if (options.info->draws)
    add("draw", "write a plot of the answer to --expression to this .svg or .html file", draw).type("FILE");
  list_examples(f);
  add_changes(f, fields_of(reach));
}

int test(const TestRequest& request) {
  check(request);
  const TaskInfo& info = *request.options.info;
  const std::string where = fmt::format("test {}", info.name);
  const fs::path file = model_file(where, info.name, request.model);
  Seq2SeqRecipe trained(info);
  ReachSettings reach = request.reach;
  load_model(trained, file, fields_of(reach), request.given);
  trained.override_examples(request.options, request.given);
  const Tested tested =
      request.expression ? answer_expression(request, file, trained) : test_examples(request, file, trained);
  return report_test(tested, where, request.json, request.draw);
}

}  // namespace tapegrad::tasks
