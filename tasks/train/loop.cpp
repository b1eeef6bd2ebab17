// Trains step by step, and runs with all files from the first or the last saved step to the end.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/optim/clip.h>
#include <tapegrad/tasks/drawing/tables.h>
#include <tapegrad/tasks/train/checked_file.h>
#include <tapegrad/tasks/train/files.h>
#include <tapegrad/tasks/train/interrupts.h>
#include <tapegrad/tasks/train/loop.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace tapegrad::train {
namespace {

constexpr std::string_view kBestFile = "best.safetensors";

void say(std::FILE* to, std::string_view lines) {
  fmt::print(to, "{}", drawing::wrapped(lines));
  std::fflush(to);
}

// Moves the files of an earlier run aside. With `resume`, only those of a finished run: a run that was killed before
// its first checkpoint starts again.
void put_earlier_run_aside(const RunFolder& folder, const RunFiles& files) {
  if (files.resume)
    fmt::print(stderr, "note: {} has no checkpoint yet; the run starts at its first step\n", files.folder);
  if (files.resume && !fs::exists(folder.path() / kModelFile)) return;
  const std::string_view names[] = {kCheckpointFile, kModelFile, kMetricsFile, kReportFile, kBestFile};
  const fs::path aside = folder.put_aside(names);
  if (!aside.empty()) fmt::print(stderr, "note: the earlier run in {} is now in {}\n", files.folder, aside.string());
}

std::string evaluation_text(const StepMetrics& m) {
  const std::string training = m.train_loss ? fmt::format("training loss {:.4f}, ", *m.train_loss) : "";
  return fmt::format("step {}: {}validation loss {:.4f}", m.step, training, *m.validation_loss);
}

std::string epoch_text(const EpochMetrics& m, const StepMetrics& last) {
  const std::string accuracy = std::isnan(m.accuracy) ? "" : fmt::format("accuracy {:.4f}, ", m.accuracy);
  return fmt::format("epoch {}: loss {:.4f}, {}learning rate {:.3g}", m.epoch, m.loss, accuracy, last.lr);
}

}  // namespace

int64_t Loop::steps_per_epoch() const { return (source_.size() + options_.accumulate - 1) / options_.accumulate; }

int64_t Loop::total_steps() const {
  const int64_t all = options_.epochs * steps_per_epoch();
  return options_.max_steps > 0 ? std::min(all, options_.max_steps) : all;
}

// The mean over the step's batches.
Gradients Loop::gradients(StepMetrics& metrics) {
  const int64_t batches = std::min(options_.accumulate, source_.size() - batch_);
  const double share = 1 / static_cast<double>(batches);
  metrics.accuracy = 0;
  Gradients sum;
  for (int64_t i = 0; i < batches; ++i) {
    Tape tape;
    const BatchLoss found = source_.next_loss();
    ++batch_;
    const double loss = found.loss.item();
    if (!std::isfinite(loss))
      fail("train", fmt::format("the loss of step {} is not finite (a smaller learning rate may help)", metrics.step));
    metrics.loss += share * loss;
    metrics.accuracy += share * found.accuracy;
    metrics.tokens += found.tokens;
    Gradients grads = batches == 1 ? tape.backward(found.loss) : tape.backward(found.loss * share);
    sum += std::move(grads);
  }
  return sum;
}

StepMetrics Loop::step() {
  const auto start = std::chrono::steady_clock::now();
  if (batch_ == 0) loss_sum_ = accuracy_sum_ = 0;
  StepMetrics metrics;
  metrics.step = steps_ + 1;
  if (options_.schedule) optimizer_.set_lr((*options_.schedule)(metrics.step));
  metrics.lr = optimizer_.lr();
  {
    Gradients grads = gradients(metrics);
    if (options_.clip_grad_norm > 0) optim::clip_grad_norm(grads, options_.clip_grad_norm);
    optimizer_.step(grads);
  }
  ++steps_;
  loss_sum_ += metrics.loss;
  accuracy_sum_ += metrics.accuracy;
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  metrics.tokens_per_s = static_cast<double>(metrics.tokens) / std::max(spent.count(), 1e-9);
  if (options_.evaluate_every > 0 && (steps_ - 1) % options_.evaluate_every == 0) evaluate_into(metrics);
  if (batch_ == source_.size()) batch_ = 0;
  return metrics;
}

Evaluation Loop::evaluate() const {
  model_.set_mode(false);
  const Evaluation found = options_.evaluate();
  model_.set_mode(true);
  return found;
}

void Loop::evaluate_into(StepMetrics& metrics) {
  const Evaluation found = evaluate();
  if (!std::isfinite(found.validation) || !std::isfinite(found.training.value_or(0)))
    fail("train", fmt::format("the losses after step {} are not finite (a smaller learning rate may help)", steps_));
  metrics.validation_loss = found.validation;
  metrics.train_loss = found.training;
  ++stale_;
  if (found.validation < best_.validation) {
    best_ = found;
    stale_ = 0;
  }
}

std::optional<EpochMetrics> Loop::ended_epoch() const {
  if (steps_ == 0 || batch_ != 0) return {};
  const auto steps = static_cast<double>(steps_per_epoch());
  return EpochMetrics{epoch(), loss_sum_ / steps, accuracy_sum_ / steps};
}

// --- checkpoints ---

Checkpoint Loop::checkpoint() const {
  Checkpoint out;
  out.add(kModelPrefix, model_.state());
  out.add(kAdamPrefix, optimizer_.state());
  out.add(kGeneratorName, default_generator());
  out.set("steps", steps_);
  out.set("batch", batch_);
  out.set("loss_sum", loss_sum_);
  out.set("accuracy_sum", accuracy_sum_);
  out.set("best", best_.validation);
  out.set("stale", stale_);
  source_.save(out);
  if (options_.save) options_.save(out);
  return out;
}

void Loop::restore(const Checkpoint& in) {
  model_.load(in.with_prefix(kModelPrefix));
  optimizer_.load_state(in.with_prefix(kAdamPrefix));
  in.restore(kGeneratorName, default_generator());
  steps_ = in.get<int64_t>("steps");
  batch_ = in.get<int64_t>("batch");
  loss_sum_ = in.get<double>("loss_sum");
  accuracy_sum_ = in.get<double>("accuracy_sum");
  best_.validation = in.get<double>("best");
  stale_ = in.get<int64_t>("stale");
  source_.load(in);
  if (options_.load) options_.load(in);
}

// --- runs ---

void Loop::run(const RunFiles& files) {
  const RunFolder folder(files.folder);
  const fs::path file = folder.path() / kCheckpointFile;
  std::optional<Checkpoint> saved;
  if (files.resume && fs::exists(file)) saved = Checkpoint::load(file.string());
  run(files, folder, std::move(saved));
}

void Loop::run(const RunFiles& files, const RunFolder& folder, std::optional<Checkpoint> saved) {
  if (files.checkpoint_every < 1)
    fail("run", fmt::format("expected checkpoint_every of at least 1, got {}", files.checkpoint_every));
  const int64_t parameters = model_.parameters();  // two checkpoints with two moments each, models, lines of metrics
  folder.reserve((2 * 3 + (files.keep_best ? 2 : 1)) * 4 * parameters + 220 * total_steps() + (int64_t{8} << 20));
  if (saved) {
    restore(*saved);
    saved.reset();
    say(files.messages, fmt::format("Resuming {} after step {} of {}", files.folder, steps_, total_steps()));
  } else {
    put_earlier_run_aside(folder, files);
    if (!files.announcement.empty()) say(files.messages, files.announcement);
  }
  train_to_end(files, folder.path().string());
  write_results(files, folder.path().string());
}

void Loop::train_to_end(const RunFiles& files, const std::string& folder) {
  MetricsFile metrics(fs::path(folder) / kMetricsFile, steps_, steps_per_epoch());
  Progress progress(files.progress ? Progress::style_here() : Progress::Style::kSilent, steps_, total_steps(),
                    files.messages);
  const CatchInterrupts catching;
  int64_t saved = steps_ > 0 ? steps_ : -1;
  const auto save = [&] {
    metrics.sync();
    checkpoint().save((fs::path(folder) / kCheckpointFile).string());
    saved = steps_;
  };
  StepMetrics m;
  while (!finished() && !CatchInterrupts::interrupted()) {
    m = step();
    metrics.add(m);
    if (m.validation_loss) {
      if (files.keep_best && stale_ == 0)
        save_checked((fs::path(folder) / kBestFile).string(), model_.state(), {{"format", "pt"}});
      files.evaluated ? files.evaluated(m, progress) : progress.line(evaluation_text(m));
    }
    if (auto epoch = ended_epoch()) {
      if (files.ended_epoch) files.ended_epoch(*epoch, m, progress);
      metrics.add(*epoch);
      if (!files.ended_epoch) progress.line(epoch_text(*epoch, m));
    }
    progress.step(m);
    if (steps_ % files.checkpoint_every == 0 && !finished()) save();
  }
  progress.finish();
  if (saved != steps_) save();
  if (finished() && m.step > 0 && files.ended) files.ended(m);
  if (!finished())
    throw Interrupted(fmt::format("[train] interrupted after step {} of {}; the checkpoint in {} continues the run",
                                  steps_, total_steps(), files.folder));
}

void Loop::write_results(const RunFiles& files, const std::string& folder) {
  const fs::path model = fs::path(folder) / kModelFile, report = fs::path(folder) / kReportFile;
  if (files.save_model) {
    files.save_model(model.string());
  } else {
    save_checked(model.string(), model_.state(), {{"format", "pt"}, {"steps", std::to_string(steps_)}});
  }
  model_.set_mode(false);
  replace_file(report, report_html(files.report, read_metrics(fs::path(folder) / kMetricsFile), steps_per_epoch(),
                                   model_.parameters()));
  model_.set_mode(true);
  say(files.messages, fmt::format("Model saved to {}\nReport: {}", model.string(), report.string()));
}

}  // namespace tapegrad::train
