// The verb `train` of the text tasks.
#include <fmt/format.h>
#include <tapegrad/tasks/drawing/page.h>
#include <tapegrad/tasks/text/trainer.h>
#include <tapegrad/tasks/text/verbs.h>

#include <algorithm>

namespace tapegrad::tasks {
namespace {

constexpr int64_t kReported = 500;  // examples of the validation part that the report is about
constexpr std::size_t kShown = 10;

// The settings of the run; those given on the command line must be the same.
TextOptions settings_of_run(const train::Checkpoint& checkpoint, TextTrainRequest& request) {
  const TextTask task = request.options.task;
  require_run_of(name(task), checkpoint, request.out);
  TextOptions run = options_of(checkpoint, task), asked = run;
  override_with(fields_of(asked), fields_of(request.options), request.given);
  require_same(fields_of(run), fields_of(asked), request.given, request.out);
  return run;
}

std::string shortened(std::string_view text) {
  constexpr std::size_t kMost = 240;
  return text.size() <= kMost ? std::string(text) : std::string(text.substr(0, text.rfind(' ', kMost))) + " ...";
}

std::string sections(TextTrainer& trainer) {
  const TextTask task = trainer.setup().options.task;
  const std::vector<std::string> predictions = trainer.predict_part(Part::validation, kReported);
  const TextScores found = trainer.scores(Part::validation, kReported, predictions);
  const std::span<const TextExample> examples = std::span(trainer.corpus()[Part::validation]).first(predictions.size());
  const TextScores naive =
      score(task, examples, baseline(task, trainer.corpus()[Part::train], examples), trainer.setup().classes);
  std::string out = fmt::format(
      "<h2>Validation part</h2>\n<p>{} examples.</p>\n<div class=\"card\"><table>\n<tr><th></th><th>model</th><th>{}"
      "</th></tr>\n",
      found.examples, baseline_name(task));
  for (std::size_t i = 0; i < found.values.size(); ++i)
    out += fmt::format("<tr><th>{}</th><td>{:.4f}</td><td>{:.4f}</td></tr>\n", found.values[i].first,
                       found.values[i].second, naive.values[i].second);
  out += "</table></div>\n";
  if (found.confusion) drawing::card(out, metrics::draw(*found.confusion, "Confusion matrix"));
  out += fmt::format(
      "<h2>Samples</h2>\n<div class=\"card\"><table>\n<tr><th>{}text</th><th>expected</th><th>predicted"
      "</th></tr>\n",
      task == TextTask::answer ? "question, " : "");
  for (std::size_t i = 0; i < std::min(kShown, predictions.size()); ++i) {
    const TextExample& example = examples[i];
    const std::string text =
        task == TextTask::answer ? fmt::format("{}: {}", example.question, example.text) : example.text;
    out += fmt::format("<tr><td>{}</td><td>{}</td><td class=\"{}\">{}</td></tr>\n",
                       drawing::escape_markup(shortened(text)), drawing::escape_markup(example.target),
                       predictions[i] == example.target ? "good" : "wrong", drawing::escape_markup(predictions[i]));
  }
  return out + "</table></div>\n";
}

train::RunFiles run_files(TextTrainer& trainer, const TextTrainRequest& request) {
  TextOptions shown = trainer.setup().options;
  const std::string_view task = name(shown.task);
  train::RunFiles files = run_files(request);
  files.announcement = fmt::format(
      "{}=== Training: {} ===\n{} parameters, vocabulary of {}, {} examples, {} epochs of {} steps, seed {}",
      shown.data.empty() ? "no --data was given: training on 200 invented records\n" : "", task,
      nn::count_parameters(trainer.model()), trainer.setup().vocabulary.size(), trainer.corpus()[Part::train].size(),
      shown.num_epochs, trainer.loop().steps_per_epoch(), shown.seed);
  const bool words = shown.task == TextTask::summarize;
  files.report = {.title = fmt::format("{} task", task),
                  .about = fmt::format("Seed {}.", shown.seed),
                  .loss = fmt::format("Loss (mean over the {})", words ? "tokens" : "examples"),
                  .accuracy = fmt::format("Accuracy (share of the {})", words ? "tokens" : "examples"),
                  .rate = fmt::format("Learning rate ({})", shown.schedule),
                  .settings = report_settings(fields_of(shown)),
                  .sections = [&trainer](const train::Metrics&) { return sections(trainer); }};
  files.save_model = [&trainer](const std::string& path) {
    save_text_model(path, trainer.model(), trainer.setup(), trainer.loop().steps());
  };
  return files;
}

}  // namespace

int train_text(TextTrainRequest request) {
  const std::string_view task = name(request.options.task);
  if (request.out.empty()) request.out = default_folder(task).string();
  check_limits(fields_of<RunRequest>(request));
  request.check();
  check_limits(fields_of(request.options));
  // A run that is resumed is locked before its checkpoint is read. Otherwise everything that may be rejected is read
  // before the folder is touched.
  const distributed::World world;
  std::unique_ptr<train::RunFolder> folder;
  if (has_checkpoint(request)) folder = take_out(request.out, world);
  std::optional<train::Checkpoint> saved = saved_run(request);
  const TextOptions options = saved ? settings_of_run(*saved, request) : request.options;
  if (!saved) resolve(request.options);
  options.check_processes(world);
  require_memory("train", kModelAndBatch, training_bytes(options, world.size()));
  TextData data = load_text_data(options, saved ? &*saved : nullptr);
  if (!folder) folder = take_out(request.out, world);
  TextTrainer trainer(options, std::move(data), world);
  run_to_end(trainer.loop(), run_files(trainer, request), *folder, std::move(saved));
  if (world.rank() == 0) remember_last_run(task, folder->now());
  return 0;
}

}  // namespace tapegrad::tasks
