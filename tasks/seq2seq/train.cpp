// The verb `train`.
#include <fmt/format.h>
#include <tapegrad/tasks/drawing/tables.h>
#include <tapegrad/tasks/seq2seq/model_file.h>
#include <tapegrad/tasks/seq2seq/report.h>
#include <tapegrad/tasks/seq2seq/trainer.h>
#include <tapegrad/tasks/seq2seq/verbs.h>

#include <algorithm>

namespace tapegrad::tasks {
namespace {

// The settings of the run; those given on the command line must be the same.
RunOptions settings_of_run(const train::Checkpoint& checkpoint, TrainRequest& request) {
  const TaskInfo& task = *request.options.info;
  require_run_of(task.name, checkpoint, request.out);
  RunOptions run = Trainer::options_of(checkpoint, task), asked = run;
  override_with(fields_of(asked), fields_of(request.options), request.given);
  fill_in(asked);
  require_same(fields_of(run), fields_of(asked), request.given, request.out);
  resolve(run);
  return run;
}

constexpr int64_t kSamplesEvery = 5;  // epochs, as the tutorial does
constexpr int64_t kShownRows = 10;

// The last step's loss as the tutorial shows it.
std::string loss_details(const Trainer& trainer, const train::StepMetrics& step) {
  std::string out = fmt::format("\n=== Loss calculation details (step {}) ===\n", step.step);
  std::size_t widest = std::string_view("predicted").size();
  const Task& task = trainer.task();
  const std::vector<Answer> rows = answers_of(task, trainer.last_batch(), trainer.last_predicted(), kShownRows);
  for (const Answer& row : rows)
    widest = std::max({widest, show_tokens(task, row.output).size(), show_tokens(task, row.target).size()});
  const std::string heading = fmt::format("exact match (first {} of the batch)", rows.size());
  const bool side_by_side = 2 * widest + 4 + heading.size() <= drawing::kTerminalWidth;
  out += side_by_side ? fmt::format("{:<{}}  {:<{}}  {}\n", "predicted", widest, "target", widest, heading)
                      : fmt::format("predicted, below it the target; {}\n", heading);
  for (const Answer& row : rows) {
    const std::string predicted = show_tokens(task, row.output), target = show_tokens(task, row.target);
    const char* const right = row.right() ? "1." : "0.";
    out += side_by_side ? fmt::format("{:<{}}  {:<{}}  {}\n", predicted, widest, target, widest, right)
                        : drawing::wrapped(fmt::format("{}  {}\n    {}\n", right, predicted, target));
  }
  return out + fmt::format("Calculated loss: {:.4f}\nCalculated accuracy: {:.4f}\n", step.loss, step.accuracy);
}

// The line of an epoch, and every fifth epoch some examples of its last batch.
void show_epoch(const Trainer& trainer, const train::EpochMetrics& epoch, double lr, train::Progress& progress) {
  progress.line(fmt::format("Epoch {}, Average Loss: {:.4f}, Final Accuracy: {:.4f}, Learning Rate: {:.6f}",
                            epoch.epoch, epoch.loss, epoch.accuracy, lr));
  if (epoch.epoch % kSamplesEvery != 0 && !trainer.finished()) return;
  std::string samples = trainer.task().samples_text(
      answers_of(trainer.task(), trainer.last_batch(), trainer.last_predicted(), kShownRows));
  if (!samples.empty()) samples.pop_back(), progress.line(samples);
}

train::RunFiles run_files(Trainer& trainer, const TrainRequest& request) {
  const RunOptions& o = trainer.options();
  RunOptions shown = o;
  train::RunFiles files = run_files(request);
  files.announcement = fmt::format(
      "=== Training: {} ===\n{} parameters, {} epochs of {} steps, {} sequences per step, seed {}", o.info->name,
      nn::count_parameters(trainer.model()), o.num_epochs, o.steps_per_epoch, o.batch_size * o.accumulate, o.seed);
  files.report = {.title = fmt::format("{} task", o.info->name),
                  .about = fmt::format("A Transformer with encoder and decoder, seed {}.", o.seed),
                  .loss = "Loss (sum over the tokens, mean over the sequences of a batch)",
                  .accuracy = "Accuracy (share of sequences that are an exact match)",
                  .rate = fmt::format("Learning rate ({})", o.schedule),
                  .unit = "target tokens",
                  .log_loss = true,
                  .settings = report_settings(fields_of(shown)),
                  .sections = [&trainer](const train::Metrics&) {
                    return report_sections(trainer.task(), trainer.options(), trainer.model());
                  }};
  files.ended_epoch = [&](train::EpochMetrics& epoch, const train::StepMetrics& last, train::Progress& progress) {
    if (!request.no_progress) show_epoch(trainer, epoch, last.lr, progress);
  };
  files.ended = [&](const train::StepMetrics& last) {
    // Where this cannot be written, the run still gets its files: the command fails at its end.
    if (!request.no_progress) std::fputs(loss_details(trainer, last).c_str(), request.json ? stderr : stdout);
  };
  files.save_model = [&trainer](const std::string& path) { save_model(path, trainer); };
  return files;
}

}  // namespace

int train(TrainRequest request) {
  const std::string_view task = request.options.info->name;
  if (request.out.empty()) request.out = default_folder(task).string();
  check_limits(fields_of<RunRequest>(request));
  request.check();
  check_limits(fields_of(request.options));
  if (!has_checkpoint(request)) resolve(request.options);

  const distributed::World world;
  const std::unique_ptr<train::RunFolder> folder = take_out(request.out, world);
  std::optional<train::Checkpoint> saved = saved_run(request);
  const RunOptions options = saved ? settings_of_run(*saved, request) : request.options;
  options.check_processes(world);
  require_memory("train", kModelAndBatch, training_bytes(options, world.size()));
  Trainer trainer(options, world);
  run_to_end(trainer.loop(), run_files(trainer, request), *folder, std::move(saved));
  if (world.rank() == 0) remember_last_run(task, folder->now());
  return 0;
}

}  // namespace tapegrad::tasks
