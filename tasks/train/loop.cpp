// Trains step by step, and runs with all files from the first or the last saved step to the end.
#include <fmt/format.h>
#include <tapegrad/autograd/autocast.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/tasks/drawing/tables.h>
#include <tapegrad/tasks/train/checked_file.h>
#include <tapegrad/tasks/train/files.h>
#include <tapegrad/tasks/train/interrupts.h>
#include <tapegrad/tasks/train/loop.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

namespace tapegrad::train {
namespace {

constexpr std::string_view kBestFile = "best.safetensors";
constexpr std::string_view kTraceFile = "trace.json";

// In eval mode as long as it lives.
class EvalMode {
 public:
  explicit EvalMode(const std::function<void(bool)>& set_mode) : set_mode_(set_mode) { set_mode_(false); }
  ~EvalMode() { set_mode_(true); }
  EvalMode(const EvalMode&) = delete;
  EvalMode& operator=(const EvalMode&) = delete;

 private:
  const std::function<void(bool)>& set_mode_;
};

// A message that cannot be written does not end a run.
void print_to(std::FILE* to, const std::string& text) {
  std::fputs(printable(text, "\n\t").c_str(), to);  // folders have names
  std::fflush(to);
}

void say(std::FILE* to, std::string_view lines) { print_to(to, drawing::wrapped(lines)); }

// Moves the files of an earlier run aside. With `resume`, only those of a finished run: a run that was killed before
// its first checkpoint starts again.
void put_earlier_run_aside(const RunFolder& folder, const RunFiles& files) {
  if (files.resume)
    print_to(stderr, fmt::format("note: {} has no checkpoint yet; the run starts at its first step\n", files.folder));
  if (files.resume && !is_there((folder.path() / kModelFile).string())) return;
  const std::string_view names[] = {kCheckpointFile, kModelFile, kMetricsFile,  kReportFile,
                                    kBestFile,       kTraceFile, kAdapterFolder};
  const fs::path aside = folder.put_aside(names);
  if (!aside.empty())
    print_to(stderr, fmt::format("note: the earlier run in {} is now in {}\n", files.folder, aside.string()));
}

bool same_names_and_shapes(const NamedTensors& a, const NamedTensors& b) {
  std::map<std::string_view, Shape> shapes;
  for (const NamedTensor& entry : a) shapes.emplace(entry.name, entry.tensor.shape());
  return a.size() == b.size() && std::all_of(b.begin(), b.end(), [&](const NamedTensor& entry) {
           const auto found = shapes.find(entry.name);
           return found != shapes.end() && found->second == entry.tensor.shape();
         });
}

// Adds what the program saves. Error for a name of the loop's.
void add_own(Checkpoint& to, Checkpoint own) {
  const auto check = [](std::string_view name, bool taken) {
    for (const std::string_view prefix : {kModelPrefix, kAdamPrefix, std::string_view("epoch.")})
      taken = taken || name.starts_with(prefix);
    if (taken || name == "best_training" || name == kGeneratorName)
      fail("checkpoint", fmt::format("expected a name other than the training loop's, got \"{}\"", name));
  };
  for (NamedTensor& entry : own.tensors) {
    check(entry.name, false);
    to.tensors.push_back(std::move(entry));
  }
  for (auto& [name, bytes] : own.bytes) {
    check(name, to.bytes.contains(name));
    to.bytes.emplace(name, std::move(bytes));
  }
  for (auto& [name, text] : own.fields) {
    check(name, to.fields.contains(name));
    to.fields.emplace(name, std::move(text));
  }
}

// What the files of a run need beyond those that are there: at most two checkpoints at once, each with the parameters
// and two moments, the best model, and the lines of metrics.
void need_space(const RunFolder& folder, const RunFiles& files, const NamedTensors& model, bool resumed,
                int64_t steps) {
  int64_t bytes = 0;
  for (const NamedTensor& entry : model) bytes += entry.tensor.numel() * item_size(entry.tensor.dtype());
  const int64_t models = (resumed ? 3 : 6) + (files.keep_best ? 2 : 1);
  constexpr int64_t kLine = 220, kMostLines = 1'000'000, kOther = int64_t{8} << 20;
  const int64_t all = models * bytes + kLine * std::min(steps, kMostLines) + kOther;
  try {
    folder.reserve(all);
  } catch (const Error& error) {
    fail("run", fmt::format("the files of this run may need {} bytes in {}, which cannot be reserved: {}", all,
                            files.folder, error.what()));
  }
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

void Loop::check_options() const {
  const LoopOptions& o = options_;
  const auto at_least = [](std::string_view name, int64_t value, int64_t least) {
    if (value < least) fail("loop", fmt::format("{} must be at least {}, got {}", name, least, value));
  };
  at_least("epochs", o.epochs, 0);
  at_least("max_steps", o.max_steps, 0);
  at_least("accumulate", o.accumulate, 1);
  at_least("evaluate_every", o.evaluate_every, 0);
  at_least("patience", o.patience, 0);
  if (!(o.clip_grad_norm >= 0))
    fail("loop", fmt::format("clip_grad_norm must be at least 0 (no clipping), got {}", o.clip_grad_norm));
  if (o.evaluate_every > 0 && !o.evaluate) fail("loop", "evaluate_every is set, but evaluate is not");
  if (o.patience > 0 && o.evaluate_every == 0) fail("loop", "patience counts evaluations, but evaluate_every is 0");
  if (source_.size() < 1) fail("loop", "the source has no batches (is batch_size larger than the data?)");
}

int64_t Loop::steps_per_epoch() const {
  const int64_t batches = source_.size();
  return batches / options_.accumulate + (batches % options_.accumulate != 0 ? 1 : 0);
}

int64_t Loop::total_steps() const {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const int64_t each = steps_per_epoch();
  const int64_t all = options_.epochs > kMost / each ? kMost : options_.epochs * each;
  return options_.max_steps > 0 ? std::min(all, options_.max_steps) : all;
}

namespace {

distributed::DataParallelOptions steps_of(int64_t accumulate, double clip_grad_norm, DType wire = kFloat32) {
  return {.accumulate = accumulate, .clip_grad_norm = clip_grad_norm, .wire = wire, .update_in_backward = true};
}

}  // namespace

int64_t gradients_at_once(int64_t accumulate, double clip_grad_norm, int64_t processes) {
  return distributed::gradients_at_once(steps_of(accumulate, clip_grad_norm), processes);
}

void Loop::begin() {
  const distributed::World& world = options_.world ? *options_.world : distributed::World::alone();
  parallel_ = std::make_unique<distributed::DataParallel>(
      world, optimizer_, steps_of(options_.accumulate, options_.clip_grad_norm, options_.wire));
}

// Every process reads all batches of the step, so that all draw the same numbers, and computes its own.
void Loop::backward(StepMetrics& metrics) {
  const int64_t batches = std::min(options_.accumulate, source_.size() - batch_);
  parallel_->begin_step(batches);
  std::vector<Figures> figures(static_cast<std::size_t>(batches));
  for (int64_t i = 0; i < batches; ++i) {
    source_.next();
    ++batch_;
    if (i == 0 && options_.begin_step) options_.begin_step();
    if (!parallel_->is_mine(i)) continue;
    std::optional<distributed::BatchDraws> draws;
    if (options_.accumulate > 1) draws.emplace(steps_, i);
    Tape tape;
    if (trap_nan_) tape.trap_nan();
    const BatchLoss found = [&] {
      const Autocast autocast(options_.dtype);
      return source_.loss();
    }();
    const double loss = found.loss.item();
    if (!std::isfinite(loss))
      fail("train", fmt::format("the loss of step {} is not finite (a smaller learning rate may help)", metrics.step));
    figures[static_cast<std::size_t>(i)] = {loss, found.accuracy, static_cast<double>(found.tokens)};
    parallel_->backward(tape, found.loss);
  }
  if (parallel_->world().size() > 1) exchange(figures, metrics.step);
  const double share = 1 / static_cast<double>(batches);
  metrics.accuracy = 0;
  for (const Figures& one : figures) {
    metrics.loss += share * one.loss;
    metrics.accuracy += share * one.accuracy;
    metrics.tokens += static_cast<int64_t>(one.tokens);
  }
}

// Every process receives the figures of all batches, and hears whether one was interrupted. Error if their generators
// differ: then they would not train on the same data.
void Loop::exchange(std::vector<Figures>& figures, int64_t step) {
  const distributed::World& world = parallel_->world();
  uint64_t hash = 0;
  for (const std::byte byte : default_generator().state()) hash = (hash ^ static_cast<uint64_t>(byte)) * 0x100000001b3;
  std::vector<double> own{static_cast<double>(hash >> 11), CatchInterrupts::interrupted() ? 1.0 : 0.0};
  for (const Figures& one : figures) own.insert(own.end(), {one.loss, one.accuracy, one.tokens});
  const auto row = static_cast<int64_t>(own.size());
  const std::vector<double> all = world.all_gather(tensor(own, {row})).to_vector<double>();
  interrupted_ = false;
  for (int r = 0; r < world.size(); ++r) {
    const double* const theirs = all.data() + r * row;
    if (theirs[0] != all[0])
      fail("train",
           fmt::format("expected the same random numbers in every process, but the default generators of ranks "
                       "0 and {} differ in step {} (seed all alike, or draw from a generator of your own)",
                       r, step));
    interrupted_ = interrupted_ || theirs[1] != 0;
    for (std::size_t i = 0; i < figures.size(); ++i) {
      const double* const one = theirs + 2 + 3 * i;
      if (parallel_->owner(static_cast<int64_t>(i)) == r) figures[i] = {one[0], one[1], one[2]};
    }
  }
}

// Waits until all processes have read the checkpoint.
void Loop::require_same_start(const std::string& folder) const {
  const distributed::World& world = parallel_->world();
  const auto steps = world.all_gather(tensor(std::vector<int64_t>{steps_}, {1})).to_vector<int64_t>();
  for (std::size_t r = 1; r < steps.size(); ++r)
    if (steps[r] != steps[0])
      fail("run", fmt::format("expected the same checkpoint of {} in every process, got step {} on rank 0, step {} on "
                              "rank {} (all machines must see one folder)",
                              folder, steps[0], steps[r], r));
}

StepMetrics Loop::step() {
  const auto start = std::chrono::steady_clock::now();
  if (failed_) fail("train", "an earlier step of this loop failed (restore a checkpoint, or make the loop anew)");
  failed_ = true;
  if (batch_ == 0) loss_sum_ = accuracy_sum_ = 0;
  StepMetrics metrics;
  metrics.step = steps_ + 1;
  if (options_.schedule) optimizer_.set_lr((*options_.schedule)(metrics.step));
  metrics.lr = optimizer_.lr();
  backward(metrics);
  parallel_->update();
  ++steps_;
  loss_sum_ += metrics.loss;
  accuracy_sum_ += metrics.accuracy;
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  metrics.tokens_per_s = static_cast<double>(metrics.tokens) / std::max(spent.count(), 1e-9);
  if (options_.evaluate_every > 0 && (steps_ - 1) % options_.evaluate_every == 0) evaluate_into(metrics);
  if (batch_ == source_.size()) batch_ = 0;
  failed_ = false;
  return metrics;
}

Evaluation Loop::evaluate() const {
  if (!options_.evaluate) fail("loop", "expected the option evaluate, got none");
  const EvalMode eval(model_.set_mode);
  const ProfileScope scope(ProfilePhase::evaluation);
  return options_.evaluate();
}

void Loop::evaluate_into(StepMetrics& metrics) {
  Evaluation found = evaluate();
  const distributed::World& world = parallel_->world();
  if (world.size() > 1) {  // other processors may round otherwise: the first process decides when all of them stop
    const std::vector<double> own{found.validation, found.training.value_or(0)};
    const std::vector<double> first = world.broadcast(tensor(own, {2})).to_vector<double>();
    found.validation = first[0];
    if (found.training) found.training = first[1];
  }
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
  out.add(kAdamPrefix, parallel_->state());
  out.add(kGeneratorName, default_generator());
  out.set("steps", steps_);
  out.set("steps_per_epoch", steps_per_epoch());
  out.set("batch", batch_);
  out.set("loss_sum", loss_sum_);
  out.set("accuracy_sum", accuracy_sum_);
  out.set("best", best_.validation);
  if (best_.training) out.set("best_training", *best_.training);
  out.set("stale", stale_);
  source_.save(out);
  if (options_.save) {
    Checkpoint own;
    options_.save(own);
    add_own(out, std::move(own));
  }
  return out;
}

// First all that may throw and changes nothing, the model's values last.
void Loop::restore(const Checkpoint& in) {
  const NamedTensors values = in.with_prefix(kModelPrefix);
  if (!same_names_and_shapes(values, model_.state())) model_.load(values);  // throws what does not fit
  const auto steps = in.get<int64_t>("steps"), each = in.get<int64_t>("steps_per_epoch");
  if (each != steps_per_epoch())
    fail("train", fmt::format("expected a checkpoint with {} steps per epoch, got {} (the data, the batch size and "
                              "accumulate must be those of the run that wrote it)",
                              steps_per_epoch(), each));
  const auto batch = in.get<int64_t>("batch"), stale = in.get<int64_t>("stale");
  const auto loss_sum = in.get<double>("loss_sum"), accuracy_sum = in.get<double>("accuracy_sum");
  Evaluation best{.validation = in.get<double>("best")};
  if (in.has("best_training")) best.training = in.get<double>("best_training");
  Generator generator;
  in.restore(kGeneratorName, generator);
  if (options_.load) options_.load(in);
  source_.load(in);
  parallel_->load_state(in.with_prefix(kAdamPrefix));
  model_.load(values);
  default_generator().set_state(generator.state());
  steps_ = steps, batch_ = batch, stale_ = stale;
  loss_sum_ = loss_sum, accuracy_sum_ = accuracy_sum;
  best_ = best;
  failed_ = false;
}

// --- runs ---

void Loop::run(const RunFiles& files) {
  const RunFolder folder(files.folder, is_first() ? RunFolder::Use::writes : RunFolder::Use::reads);
  const fs::path file = folder.path() / kCheckpointFile;
  std::optional<Checkpoint> saved;
  if (files.resume && is_there(file.string())) saved = Checkpoint::load(file.string());
  run(files, folder, std::move(saved));
}

void Loop::run(const RunFiles& files, const RunFolder& folder, std::optional<Checkpoint> saved) {
  if (files.checkpoint_every < 1)
    fail("run", fmt::format("expected checkpoint_every of at least 1, got {}", files.checkpoint_every));
  if (!saved && steps_ > 0)
    fail("run", fmt::format("expected a loop before its first step, or a checkpoint, got one after step {}", steps_));
  const bool resumed = saved.has_value();
  if (resumed) restore(*saved);
  saved.reset();
  require_same_start(files.folder);
  if (is_first()) {
    need_space(folder, files, model_.state(), resumed, total_steps() - steps_);
    if (resumed) {
      for (const std::string_view name : {kCheckpointFile, kModelFile, kBestFile, kTraceFile, kReportFile})
        check_replaceable(folder.path() / name);
      say(files.messages, fmt::format("Resuming {} after step {} of {}", files.folder, steps_, total_steps()));
    } else {
      put_earlier_run_aside(folder, files);
      if (!files.announcement.empty()) say(files.messages, files.announcement);
    }
  }
  train_to_end(files, folder.path().string());
  if (is_first()) write_results(files, folder.path().string());
  parallel_->world().barrier();
}

void Loop::train_to_end(const RunFiles& files, const std::string& folder) {
  trap_nan_ = files.trap_nan;
  interrupted_ = false;
  const bool first = is_first();
  std::optional<MetricsFile> metrics;
  if (first) metrics.emplace(fs::path(folder) / kMetricsFile, steps_, steps_per_epoch());
  Progress progress(files.progress && first ? Progress::style_here() : Progress::Style::kSilent, steps_, total_steps(),
                    files.report.unit, files.messages);
  const CatchInterrupts catching;
  const auto interrupted = [this] {  // all processes stop after the same step
    return parallel_->world().size() > 1 ? interrupted_ : CatchInterrupts::interrupted();
  };
  int64_t saved = steps_ > 0 ? steps_ : -1;
  const auto save = [&] {
    const Checkpoint now = checkpoint();
    if (first) {
      metrics->sync();
      now.save((fs::path(folder) / kCheckpointFile).string());
    }
    saved = steps_;
  };
  StepMetrics m;
  std::optional<Profiler> profiler;
  if (files.profile_steps > 0 && !finished() && first) profiler.emplace();
  const int64_t profiled = steps_ + files.profile_steps;
  while (!finished() && !interrupted()) {
    m = step();
    auto epoch = ended_epoch();
    if (first) {
      metrics->add(m);
      if (m.validation_loss) {
        if (files.keep_best && stale_ == 0) save_model(files, fs::path(folder) / kBestFile);
        files.evaluated ? files.evaluated(m, progress) : progress.line(evaluation_text(m));
      }
      if (epoch) {
        if (files.ended_epoch) files.ended_epoch(*epoch, m, progress);
        metrics->add(*epoch);
        if (!files.ended_epoch) progress.line(epoch_text(*epoch, m));
      }
      progress.step(m);
    }
    if (m.validation_loss || epoch) parallel_->share_draws();  // the first process called the program's functions
    if (profiler && (steps_ == profiled || finished() || interrupted())) {
      end_profile(*profiler, files, folder, progress);
      profiler.reset();
    }
    if (steps_ % files.checkpoint_every == 0 && !finished()) save();
  }
  progress.finish();
  if (saved != steps_) save();
  if (finished() && m.step > 0 && files.ended && first) files.ended(m);
  if (!finished()) {
    parallel_->world().barrier();  // until the first process has written: the launcher ends all when one ends
    throw Interrupted(
        error_text("train", fmt::format("interrupted after step {} of {}; the checkpoint in {} continues the run",
                                        steps_, total_steps(), files.folder)));
  }
}

void Loop::end_profile(Profiler& profiler, const RunFiles& files, const std::string& folder, Progress& progress) {
  profiler.stop();
  const fs::path trace = fs::path(folder) / kTraceFile;
  profiler.write_trace(trace.string());
  const ProfileReport report = profiler.report();
  files.profiled ? files.profiled(report, progress) : progress.result(fmt::format("\n{}", str(report)));
  progress.line(fmt::format("Trace: {} (opens in ui.perfetto.dev and chrome://tracing)", printable(trace.string())));
}

void Loop::save_model(const RunFiles& files, const fs::path& path) {
  if (files.save_model) {
    files.save_model(path.string());
  } else {
    save_checked(path.string(), model_.state(), {{"format", "pt"}, {"steps", std::to_string(steps_)}});
  }
}

void Loop::write_results(const RunFiles& files, const std::string& folder) {
  const fs::path model = fs::path(folder) / kModelFile, report = fs::path(folder) / kReportFile;
  save_model(files, model);
  {
    const EvalMode eval(model_.set_mode);
    replace_file(report, report_html(files.report, read_metrics(fs::path(folder) / kMetricsFile), steps_per_epoch(),
                                     model_.parameters()));
  }
  say(files.messages, fmt::format("Model saved to {}\nReport: {}", model.string(), report.string()));
}

}  // namespace tapegrad::train
