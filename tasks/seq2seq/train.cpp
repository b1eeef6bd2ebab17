// The verb `train`: a run from its first or its last saved step to its end, with all its files.
#include <fmt/format.h>
#include <tapegrad/tasks/drawing/tables.h>
#include <tapegrad/tasks/seq2seq/report.h>
#include <tapegrad/tasks/seq2seq/trainer.h>
#include <tapegrad/tasks/seq2seq/verbs.h>
#include <tapegrad/tasks/train/interrupts.h>
#include <tapegrad/tasks/train/progress.h>

#include <algorithm>
#include <cstdio>

namespace tapegrad::tasks {
namespace {

// The run's own settings; what was named on the command line must agree with them.
RunOptions settings_of_run(const train::Checkpoint& checkpoint, TrainRequest& request) {
  const TaskInfo& task = *request.options.info;
  require_run_of(task.name, Trainer::settings_json(checkpoint), request.out);
  RunOptions run = Trainer::options_of(checkpoint, task);
  require_same(fields_of(run), fields_of(request.options), request.given, request.out);
  resolve(run);
  return run;
}

// What a run leaves in its folder beside the metrics, which grow by a line a step.
int64_t bytes_of_run(Trainer& trainer) {
  const int64_t parameters = nn::count_parameters(trainer.model());
  return 2 * 3 * 4 * parameters + 4 * parameters + 160 * trainer.options().total_steps() + (int64_t{4} << 20);
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

void run_to_end(Trainer& trainer, const fs::path& folder, const TrainRequest& request) {
  const RunOptions& options = trainer.options();
  train::MetricsFile metrics(folder / train::kMetricsFile, trainer.steps(), options.steps_per_epoch);
  const auto save = [&] {
    metrics.sync();
    trainer.checkpoint().save(folder / train::kCheckpointFile);
  };
  train::Progress progress(request.no_progress ? train::Progress::Style::kSilent : train::Progress::style_here(),
                           trainer.steps(), options.total_steps());
  const train::CatchInterrupts catching;
  train::StepMetrics last;
  int64_t saved = trainer.steps() > 0 ? trainer.steps() : -1;
  while (!trainer.finished() && !train::CatchInterrupts::interrupted()) {
    const train::StepMetrics step = last = trainer.step();
    metrics.add(step);
    if (const auto epoch = trainer.ended_epoch()) {
      metrics.add(*epoch);
      progress.line(fmt::format("Epoch {}, Average Loss: {:.4f}, Final Accuracy: {:.4f}, Learning Rate: {:.6f}",
                                epoch->epoch, epoch->loss, epoch->accuracy, step.lr));
      if (!request.no_progress && (epoch->epoch % kSamplesEvery == 0 || trainer.finished())) {
        std::string samples = trainer.task().samples_text(
            answers_of(trainer.task(), trainer.last_batch(), trainer.last_predicted(), kShownRows));
        if (!samples.empty()) samples.pop_back(), progress.line(samples);
      }
    }
    progress.step(step);
    if (step.step % request.checkpoint_every == 0 && !trainer.finished()) {
      save();
      saved = step.step;
    }
  }
  progress.finish();
  if (trainer.finished() && last.step > 0 && !request.no_progress) fmt::print("{}", loss_details(trainer, last));
  if (saved != trainer.steps()) save();
  if (!trainer.finished())
    fail("train", fmt::format("interrupted after step {} of {}; continue with --resume --out {}", trainer.steps(),
                              options.total_steps(), folder.string()));
}

}  // namespace

int train(TrainRequest request) {
  if (request.out.empty()) request.out = default_folder(request.options.info->name).string();
  check_limits(fields_of<RunRequest>(request));
  resolve(request.options);

  const std::unique_ptr<train::RunFolder> taken = take_folder(request.out);
  const train::RunFolder& folder = *taken;
  const fs::path checkpoint_file = folder.path() / train::kCheckpointFile;
  std::optional<train::Checkpoint> checkpoint;
  if (request.resume && fs::exists(checkpoint_file)) checkpoint = train::Checkpoint::load(checkpoint_file);
  Trainer trainer(checkpoint ? settings_of_run(*checkpoint, request) : request.options);
  folder.reserve(bytes_of_run(trainer));
  const RunOptions& options = trainer.options();

  if (checkpoint) {
    trainer.restore(*checkpoint);
    checkpoint.reset();
    fmt::print("Resuming {} after step {} of {}\n", request.out, trainer.steps(), options.total_steps());
  } else {
    put_earlier_run_aside(folder, request.out, request.resume);
    fmt::print("{}", drawing::wrapped(
                         fmt::format("=== Training: {} ===\n{} parameters, {} epochs of {} steps, {} sequences a "
                                     "step, seed {}",
                                     options.info->name, nn::count_parameters(trainer.model()), options.num_epochs,
                                     options.steps_per_epoch, options.batch_size, options.seed)));
  }
  std::fflush(stdout);

  run_to_end(trainer, folder.path(), request);
  save_model(folder.path() / train::kModelFile, trainer);
  remember_last_run(options.info->name, folder.path());
  train::replace_file(
      folder.path() / train::kReportFile,
      report_html(trainer.task(), options, trainer.model(), train::read_metrics(folder.path() / train::kMetricsFile)));
  fmt::print("Model saved to {}\nReport: {}\n", (folder.path() / train::kModelFile).string(),
             (folder.path() / train::kReportFile).string());
  return 0;
}

}  // namespace tapegrad::tasks
