// The verb `train gpt`.
#include <fmt/format.h>
#include <tapegrad/tasks/drawing/svg.h>
#include <tapegrad/tasks/gpt/llama.h>
#include <tapegrad/tasks/gpt/start_from.h>
#include <tapegrad/tasks/gpt/trainer.h>
#include <tapegrad/tasks/gpt/verbs.h>

#include <algorithm>
#include <cstdio>

namespace tapegrad::tasks {
namespace {

// The settings of the run; those given on the command line must be the same.
GPTOptions settings_of_run(const train::Checkpoint& checkpoint, GPTTrainRequest& request) {
  require_run_of(kGPTTask, checkpoint, request.out);
  GPTOptions run = GPTTrainer::options_of(checkpoint), asked = run;
  override_with(fields_of(asked), fields_of(request.options), request.given);
  fill_in(asked);
  require_same(fields_of(run), fields_of(asked), request.given, request.out);
  return run;
}

GPTOptions settings_of_request(const GPTTrainRequest& request, const TrainedGPT* start) {
  GPTOptions options = start != nullptr ? start_with(*start, request.options, request.given)
                                        : with_preset(request.options, request.given);
  resolve(options);
  return options;
}

// The folder of --save-hugging-face, created before anything is computed; nullptr without that option.
std::unique_ptr<train::RunFolder> take_hugging_face_folder(const GPTTrainRequest& request, const GPTOptions& options,
                                                           std::string_view run, const distributed::World& world) {
  constexpr std::string_view kOption = "--save-hugging-face";
  if (request.hugging_face.empty() || world.rank() != 0) return nullptr;
  if (options.llama() == nullptr && options.positions != "learned")
    bad_request(kOption, fmt::format("GPT-2's positions are learned, this run's are {}", options.positions));
  if (options.llama() == nullptr && options.attention.kind != "full")
    bad_request(kOption, fmt::format("expected full attention, as GPT-2 has, got {}", options.attention.kind));
  std::error_code code;
  if (fs::weakly_canonical(request.hugging_face, code) == fs::weakly_canonical(request.out, code))
    bad_request(kOption,
                fmt::format("{} is also --out: both would have a {}", request.hugging_face, train::kModelFile));
  const std::string there = as_bad_request(kOption, [&] { return other_model_in(request.hugging_face, run); });
  if (!there.empty())
    bad_request(kOption, fmt::format("expected a folder without a model, got one that has a {} (choose another folder, "
                                     "or move its files away)",
                                     there));
  std::unique_ptr<train::RunFolder> folder = take_folder(request.hugging_face, kOption);
  as_bad_request(kOption, [&] { check_folder_files(folder->path()); });
  return folder;
}

std::string announcement(GPTTrainer& trainer) {
  const GPTOptions& o = trainer.options();
  const std::string note =
      o.text.empty()
          ? "no --text was given: training on sums in words that are generated here (\"two plus five is seven.\")\n"
          : "";
  const int64_t parameters = nn::count_parameters(trainer.model()),
                trained = nn::count_trainable_parameters(trainer.model());
  return fmt::format(
      "{}=== Training: gpt ({}) ===\n{} parameters{}, vocabulary of {}, {} epochs of {} steps, {} windows of {} tokens "
      "per step, seed {}",
      note, o.from.empty() ? o.preset : "from " + o.from, parameters,
      trained == parameters ? "" : fmt::format(" ({} are trained)", trained), trainer.model()->vocab_size(),
      o.num_epochs, trainer.loop().steps_per_epoch(),
      o.batch_size * std::min(o.accumulate, trainer.batches_per_epoch()), o.seq_length, o.seed);
}

void save_hugging_face(const fs::path& folder, const GPTTrainer& trainer, std::string_view run) {
  const nn::AnyDecoder& model = trainer.model();
  if (const auto* gpt = model.as<nn::GPTModel>()) return save_gpt_folder(folder, *gpt, trainer.tokenizer(), run);
  save_llama_folder(folder, *model.as<nn::LlamaModel>(), trainer.tokenizer(), trainer.options().llama()->ends, run);
}

std::string samples_html(const train::Metrics& metrics) {
  std::string out = "<h2>Samples</h2>\n";
  for (const train::EpochMetrics& epoch : metrics.epochs)
    if (epoch.sample)
      out += fmt::format("<p>After epoch {}:</p>\n<div class=\"card\">{}</div>\n", epoch.epoch + 1,
                         drawing::escape_markup(*epoch.sample));
  return out;
}

// The attention of every head to the start context and its greedy continuation.
std::string maps_html(GPTTrainer& trainer) {
  constexpr int64_t kTokens = 24;
  std::vector<int64_t> ids = trainer.continued(kTokens);
  ids.resize(std::min<std::size_t>(static_cast<std::size_t>(std::min(kTokens, trainer.options().sizes().context)),
                                   ids.size()));
  bool cut = false;
  return "<h2>Attention</h2>\n<p>The start context and its greedy continuation. Each row has the attention weights of "
         "one token, which add up to 1.</p>\n" +
         heads_html(drawable(trainer.heads(ids), cut));
}

// The losses of evaluations and the samples go to standard output, in the format of chapter 5; everything else goes to
// standard error.
train::RunFiles run_files(GPTTrainer& trainer, const GPTTrainRequest& request) {
  GPTOptions shown = trainer.options();
  train::RunFiles files = run_files(request);
  files.messages = stderr;
  files.announcement = announcement(trainer);
  files.report = {
      .title = "GPT",
      .about = fmt::format("Seed {}.", shown.seed),
      .loss = "Loss (mean over the tokens)",
      .accuracy = "Accuracy (share of the tokens)",
      .rate = fmt::format("Learning rate ({})", shown.schedule),
      .settings = report_settings(fields_of(shown)),
      .sections = [&trainer](const train::Metrics& metrics) { return samples_html(metrics) + maps_html(trainer); }};
  files.keep_best = request.keep_best;
  const auto show = [json = request.json](train::Progress& progress, const std::string& text) {
    json ? progress.line(text) : progress.result(text);
  };
  files.evaluated = [&trainer, show](const train::StepMetrics& m, train::Progress& progress) {
    show(progress, fmt::format("Ep {} (Step {:06}): Train loss {:.3f}, Val loss {:.3f}", trainer.loop().epoch() + 1,
                               m.step - 1, *m.train_loss, *m.validation_loss));
  };
  files.ended_epoch = [&trainer, show](train::EpochMetrics& epoch, const train::StepMetrics&,
                                       train::Progress& progress) {
    if (trainer.options().sample_tokens == 0) return;
    epoch.sample = trainer.sample();
    show(progress, printable(*epoch.sample, "\n\t"));
  };
  files.save_model = [&](const std::string& path) {
    save_gpt(path, trainer.model(), trainer.options(), trainer.tokenizer(), trainer.steps(), request.with_masks);
    if (trainer.options().lora_rank > 0 && fs::path(path).filename() == train::kModelFile)
      save_gpt_adapter(fs::path(path).parent_path() / train::kAdapterFolder, trainer.model(), trainer.options());
  };
  return files;
}

}  // namespace

void GPTTrainRequest::list(Fields& f) {
  RunRequest::list(f);
  f.add({.name = "save-hugging-face",
         .help = "also write the trained model into this folder as Hugging Face's GPT-2 or Llama",
         .group = Group::run,
         .type = "DIR"},
        hugging_face);
  f.add({"keep-best", "also write best.safetensors, the model with the lowest validation loss", Group::run}, keep_best);
  f.add(
      {"with-masks", "also save the causal masks, att.mask, which tutorial 000's code expects in a model", Group::run},
      with_masks);
  f.add({"untrained-losses", "print the losses before the first step, over all batches", Group::run}, untrained_losses);
}

int train_gpt(GPTTrainRequest request) {
  if (request.out.empty()) request.out = default_folder(kGPTTask).string();
  check_limits(fields_of(request));
  request.check();
  check_limits(fields_of(request.options));
  // A run that is resumed is locked before its checkpoint is read, since another process may be writing it. Otherwise
  // everything that may be rejected is read before the folder is touched.
  const distributed::World world;
  std::unique_ptr<train::RunFolder> folder;
  if (has_checkpoint(request)) folder = take_out(request.out, world);
  std::optional<train::Checkpoint> saved = saved_run(request);
  check_given(request.options, request.given);
  std::optional<TrainedGPT> start;
  if (!saved && !request.options.from.empty()) start = load_start(request.options, request.given);
  const GPTOptions options =
      saved ? settings_of_run(*saved, request) : settings_of_request(request, start ? &*start : nullptr);
  options.check_processes(world);
  require(options.llama() == nullptr || !request.with_masks, "--with-masks", "expected a GPT, got a Llama");
  GPTData data = saved ? load_gpt_data(options, GPTTrainer::tokenizer_of(*saved), GPTTrainer::text_of(*saved))
                       : load_gpt_data(options, start ? take_tokenizer(*start, options, request.given) : nullptr);
  require_memory("train", kModelAndBatch, training_bytes(options, data.tokenizer->size(), world.size()));
  const std::string run = run_name(options, *data.tokenizer, data.checksum);
  const bool names_parameters = !options.freeze.empty() || options.lora_rank > 0;  // which may be rejected
  std::optional<GPTTrainer> trained;
  const auto make_trainer = [&] { trained.emplace(options, std::move(data), start ? &start->model : nullptr, world); };
  if (names_parameters) make_trainer();
  const std::unique_ptr<train::RunFolder> hugging_face = take_hugging_face_folder(request, options, run, world);
  if (!folder) folder = take_out(request.out, world);
  if (!names_parameters) make_trainer();
  start.reset();
  GPTTrainer& trainer = *trained;
  if (hugging_face) hugging_face->reserve(4 * nn::count_parameters(trainer.model()));
  if (request.untrained_losses && !saved) {
    const train::Evaluation found = trainer.untrained_losses();
    const std::string losses =
        fmt::format("Untrained: Train loss {:.5f}, Val loss {:.5f}\n", *found.training, found.validation);
    // Where this cannot be written, the run goes on: the command fails at its end.
    if (world.rank() == 0) std::fputs(losses.c_str(), request.json ? stderr : stdout);
    std::fflush(stdout);
  }
  run_to_end(trainer.loop(), run_files(trainer, request), *folder, std::move(saved));
  if (hugging_face) save_hugging_face(hugging_face->now(), trainer, run);
  if (world.rank() == 0) remember_last_run(kGPTTask, folder->now());
  return 0;
}

}  // namespace tapegrad::tasks
