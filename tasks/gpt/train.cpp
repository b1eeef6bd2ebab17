// The verb `train gpt`: a run from its first or its last saved step to its end, with all its files.
#include <fmt/format.h>
#include <tapegrad/tasks/drawing/tables.h>
#include <tapegrad/tasks/gpt/model.h>
#include <tapegrad/tasks/gpt/report.h>
#include <tapegrad/tasks/gpt/trainer.h>
#include <tapegrad/tasks/gpt/verbs.h>
#include <tapegrad/tasks/train/interrupts.h>
#include <tapegrad/tasks/train/progress.h>

#include <cstdio>

namespace tapegrad::tasks {
namespace {

// The run's own settings; what was named on the command line must agree with them.
GPTOptions settings_of_run(const train::Checkpoint& checkpoint, GPTTrainRequest& request) {
  require_run_of(kGPTTask, GPTTrainer::settings_json(checkpoint), request.out);
  GPTOptions run = GPTTrainer::options_of(checkpoint);
  require_same(fields_of(run), fields_of(request.options), request.given, request.out);
  return run;
}

// What a run leaves in its folder beside the metrics, which grow by a line a step and a sample an epoch.
int64_t bytes_of_run(const GPTTrainer& trainer) {
  const int64_t parameters = nn::count_parameters(trainer.model());
  const int64_t samples = trainer.options().num_epochs * trainer.options().sample_tokens;
  return 2 * 3 * 4 * parameters + 4 * parameters + 220 * trainer.total_steps() + 16 * samples + (int64_t{8} << 20);
}

// The folder of --save-hugging-face, tried before anything is computed; nullptr where none is asked for.
std::unique_ptr<train::RunFolder> take_hugging_face_folder(const GPTTrainRequest& request, const GPTOptions& options) {
  constexpr std::string_view kOption = "--save-hugging-face";
  if (request.hugging_face.empty()) return nullptr;
  if (options.positions != "learned")
    bad_request(kOption, fmt::format("GPT-2's positions are learned, this run's are {}", options.positions));
  std::error_code code;
  if (fs::weakly_canonical(request.hugging_face, code) == fs::weakly_canonical(request.out, code))
    bad_request(kOption,
                fmt::format("{} is --out, too: both would hold a {}", request.hugging_face, train::kModelFile));
  return take_folder(request.hugging_face, kOption);
}

void tell(std::string_view lines) {
  fmt::print(stderr, "{}", drawing::wrapped(lines));
  std::fflush(stderr);
}

void run_to_end(GPTTrainer& trainer, const fs::path& folder, const GPTTrainRequest& request) {
  train::MetricsFile metrics(folder / train::kMetricsFile, trainer.steps(), trainer.steps_per_epoch());
  const auto save = [&] {
    metrics.sync();
    trainer.checkpoint().save(folder / train::kCheckpointFile);
  };
  train::Progress progress(request.no_progress ? train::Progress::Style::kSilent : train::Progress::style_here(),
                           trainer.steps(), trainer.total_steps(), stderr);
  const train::CatchInterrupts catching;
  int64_t saved = trainer.steps() > 0 ? trainer.steps() : -1;
  while (!trainer.finished() && !train::CatchInterrupts::interrupted()) {
    const train::StepMetrics step = trainer.step();
    metrics.add(step);
    if (step.train_loss) {
      progress.result(fmt::format("Ep {} (Step {:06}): Train loss {:.3f}, Val loss {:.3f}", trainer.epoch() + 1,
                                  step.step - 1, *step.train_loss, *step.validation_loss));
    }
    if (auto epoch = trainer.ended_epoch()) {
      if (trainer.options().sample_tokens > 0) epoch->sample = trainer.sample();
      metrics.add(*epoch);
      if (epoch->sample) progress.result(*epoch->sample);
    }
    progress.step(step);
    if (step.step % request.checkpoint_every == 0 && !trainer.finished()) {
      save();
      saved = step.step;
    }
  }
  progress.finish();
  if (saved != trainer.steps()) save();
  if (!trainer.finished())
    fail("train", fmt::format("interrupted after step {} of {}; continue with --resume --out {}", trainer.steps(),
                              trainer.total_steps(), folder.string()));
}

void announce(const GPTTrainer& trainer) {
  const GPTOptions& o = trainer.options();
  if (o.text.empty())
    tell("no --text was named: training on sums in words that are made here (\"two plus five is seven.\")");
  tell(fmt::format(
      "=== Training: gpt ({}) ===\n{} parameters, vocabulary of {}, {} epochs of {} steps, {} windows of {} "
      "tokens a step, seed {}",
      o.preset, nn::count_parameters(trainer.model()), trainer.tokenizer().size(), o.num_epochs,
      trainer.steps_per_epoch(), o.batch_size * o.accumulate, o.context_length, o.seed));
}

}  // namespace

void GPTTrainRequest::list(Fields& f) {
  RunRequest::list(f);
  f.add({.name = "save-hugging-face",
         .help = "also write the trained model into this folder as Hugging Face's GPT-2",
         .group = Group::run,
         .type = "DIR"},
        hugging_face);
  f.add({"untrained-losses", "print the losses before the first step, over all batches", Group::run}, untrained_losses);
}

int train_gpt(GPTTrainRequest request) {
  if (request.out.empty()) request.out = default_folder(kGPTTask).string();
  check_limits(fields_of(request));
  GPTOptions options = with_preset(request.options, request.given);
  resolve(options);
  const fs::path checkpoint_file = fs::path(request.out) / train::kCheckpointFile;
  std::optional<train::Checkpoint> checkpoint;
  if (request.resume && fs::exists(checkpoint_file)) {
    checkpoint = train::Checkpoint::load(checkpoint_file);
    options = settings_of_run(*checkpoint, request);
  }
  // Everything that may be refused is read before the folder is touched.
  GPTData data = load_gpt_data(options, checkpoint ? GPTTrainer::tokenizer_of(*checkpoint) : nullptr);
  require_memory("train", kModelAndBatch, training_bytes(options, data.tokenizer->size()));
  const std::unique_ptr<train::RunFolder> hugging_face = take_hugging_face_folder(request, options);
  const std::unique_ptr<train::RunFolder> taken = take_folder(request.out);
  const train::RunFolder& folder = *taken;
  GPTTrainer trainer(options, std::move(data));
  folder.reserve(bytes_of_run(trainer));
  if (hugging_face) hugging_face->reserve(4 * nn::count_parameters(trainer.model()));

  if (checkpoint) {
    trainer.restore(*checkpoint);
    checkpoint.reset();
    tell(fmt::format("Resuming {} after step {} of {}", request.out, trainer.steps(), trainer.total_steps()));
  } else {
    put_earlier_run_aside(folder, request.out, request.resume);
    announce(trainer);
    if (request.untrained_losses) {
      const GPTLosses found = trainer.untrained_losses();
      fmt::print("Untrained: Train loss {:.5f}, Val loss {:.5f}\n", found.train, found.validation);
      std::fflush(stdout);
    }
  }

  run_to_end(trainer, folder.path(), request);
  save_gpt(folder.path() / train::kModelFile, trainer.model(), trainer.options(), trainer.tokenizer(), trainer.steps());
  if (!request.hugging_face.empty()) save_gpt_folder(request.hugging_face, trainer.model(), trainer.tokenizer());
  remember_last_run(kGPTTask, folder.path());
  train::replace_file(folder.path() / train::kReportFile,
                      gpt_report(trainer.options(), nn::count_parameters(trainer.model()),
                                 train::read_metrics(folder.path() / train::kMetricsFile)));
  tell(fmt::format("Model saved to {}\nReport: {}", (folder.path() / train::kModelFile).string(),
                   (folder.path() / train::kReportFile).string()));
  return 0;
}

}  // namespace tapegrad::tasks
