// Runs with all files, from the first or the last saved step to the end.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/machine.h>
#include <tapegrad/autograd/io/bits.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/optim/internal/share.h>
#include <tapegrad/train/drawing/tables.h>
#include <tapegrad/train/drawing/terminal.h>
#include <tapegrad/train/events.h>
#include <tapegrad/train/files.h>
#include <tapegrad/train/files/internal/checked_file.h>
#include <tapegrad/train/files/internal/shards.h>
#include <tapegrad/train/internal/shard_writer.h>
#include <tapegrad/train/interrupts.h>
#include <tapegrad/train/loop.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>

namespace tapegrad::train {
namespace {

constexpr std::string_view kBestFile = "best.safetensors";
constexpr std::string_view kTraceFile = "trace.json";

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
  const std::string_view names[] = {kCheckpointFile, kModelFile,     kMetricsFile, kReportFile, kBestFile,
                                    kTraceFile,      kAdapterFolder, kEventFile,   kShardFolder};
  const fs::path aside = folder.put_aside(names);
  if (!aside.empty())
    print_to(stderr, fmt::format("note: the earlier run in {} is now in {}\n", files.folder, aside.string()));
}

// What the files of a run need beyond those that are there: at most two checkpoints at once, each with the parameters
// and two moments, the best model, and the lines of metrics.
void need_space(const RunFolder& folder, const RunFiles& files, const NamedTensors& model, bool resumed,
                int64_t steps) {
  int64_t bytes = 0;
  for (const NamedTensor& entry : model) bytes += entry.tensor.numel() * item_size(entry.tensor.dtype());
  const int64_t models = (resumed ? 3 : 6) + (files.keep_best ? 2 : 1);
  constexpr int64_t kLine = 220, kMostLines = 1'000'000, kOther = int64_t{8} << 20;
  const int64_t line = files.tensorboard ? 2 * kLine : kLine;
  const int64_t all = models * bytes + line * std::min(steps, kMostLines) + kOther;
  try {
    folder.reserve(all);
  } catch (const Error& error) {
    fail("run", "the files of this run may need {} bytes in {}, which cannot be reserved: {}", all, files.folder,
         error.what());
  }
}

// Where the metrics of a run are. A run goes on without the lines of its first `steps` steps.
Destination metrics_file(const RunFolder& folder, int64_t steps) {
  Destination file = folder.file(kMetricsFile);
  if (steps > 0 && !is_there(file.path()))
    print_to(stderr, fmt::format("note: {} is missing; a new one begins after step {}\n", file.path(), steps));
  return file;
}

// The command of this process, where Linux has it.
std::string command_line() {
  std::ifstream file("/proc/self/cmdline");
  std::string out;
  for (std::string word; std::getline(file, word, '\0');) {
    if (out.empty()) word = fs::path(word).filename().string();
    out += (out.empty() ? "" : " ") + drawing::shell_word(word);
  }
  return out;
}

ReportText::Made made_now(std::chrono::steady_clock::time_point begin, bool resumed) {
  const auto took = std::chrono::steady_clock::now() - begin;
  return {.date = fmt::format("{:%F}", fmt::gmtime(std::time(nullptr))),
          .seconds = std::chrono::duration_cast<std::chrono::seconds>(took).count(),
          .resumed = resumed,
          .machine = fmt::format("{}, {}, {} threads", processor_name(), kernels_in_use(), num_threads()),
          .command = command_line()};
}

// The text of a Markdown cell.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

// What a run writes after its steps and epochs: metrics.jsonl, and the event file.
class RunLines {
 public:
  RunLines(const RunFiles& files, const RunFolder& folder, int64_t steps, int64_t steps_per_epoch)
      : metrics_(metrics_file(folder, steps), steps, steps_per_epoch), step_(steps) {
    const Destination events = folder.file(kEventFile);
    const bool there = is_there(events.path());
    if (!files.tensorboard && !(files.resume && there)) return;
    events_.emplace(events, steps > 0 ? steps : -1);  // a run that starts again may have other settings
    if (steps == 0 || !there) add_settings(files.report.settings);
  }

  void add(const StepMetrics& m, const nn::AnyModel& model) {
    metrics_.add(m);
    step_ = m.step;
    if (!events_) return;
    std::vector<Figure> values{{"train/loss", m.loss}};
    if (std::isfinite(m.accuracy)) values.push_back({"train/accuracy", m.accuracy});
    values.push_back({"train/lr", m.lr});
    values.push_back({"train/tokens_per_s", m.tokens_per_s});
    if (m.train_loss) values.push_back({"evaluation/train_loss", *m.train_loss});
    if (m.validation_loss) values.push_back({"evaluation/validation_loss", *m.validation_loss});
    for (const Figure& one : m.figures)
      if (std::isfinite(one.value)) values.push_back({"figures/" + one.name, one.value});
    events_->add_scalars(values, m.step);
    if (!m.validation_loss) return;
    for (const NamedTensor& entry : nn::state_dict(model))
      if (is_floating(entry.tensor.dtype())) events_->add_histogram("model/" + entry.name, entry.tensor, m.step);
  }

  // Of an epoch that ended with the last step.
  void add(const EpochMetrics& m) {
    metrics_.add(m);
    if (!events_) return;
    std::vector<Figure> values{{"epoch/loss", m.loss}};
    if (std::isfinite(m.accuracy)) values.push_back({"epoch/accuracy", m.accuracy});
    events_->add_scalars(values, step_);
    if (m.sample) events_->add_text("sample", *m.sample, step_);
  }

  void add_bits(std::string_view bits) { metrics_.add_bits(bits); }
  void sync() {
    metrics_.sync();
    if (events_) events_->sync();
  }

 private:
  void add_settings(const std::vector<ReportText::Setting>& settings) {
    std::string table = "| setting | value | |\n|---|---|---|\n";
    for (const ReportText::Setting& one : settings)
      table += fmt::format("| {} | {} | {} |\n", cell(one.name), cell(one.value), cell(one.help));
    if (!settings.empty()) events_->add_text("settings", table, step_);
  }

  MetricsFile metrics_;
  std::optional<EventWriter> events_;
  int64_t step_;
};

}  // namespace

// Waits until all processes have read the checkpoint.
void Loop::require_same_start(const std::string& folder) const {
  const distributed::World& world = parallel_->world();
  const auto steps = world.all_gather(tensor(std::vector<int64_t>{steps_}, {1})).to_vector<int64_t>();
  for (std::size_t r = 1; r < steps.size(); ++r)
    if (steps[r] != steps[0])
      fail("run",
           "expected the same checkpoint of {} in every process, got step {} on rank 0, step {} on rank {} (all "
           "machines must access the same folder)",
           folder, steps[0], steps[r], r);
}

void Loop::run(const RunFiles& files) {
  const RunFolder folder(files.folder, is_first() ? RunFolder::Use::writes : RunFolder::Use::reads);
  const fs::path file = folder.path() / kCheckpointFile;
  std::optional<Checkpoint> saved;
  if (files.resume && is_there(file.string())) saved = Checkpoint::open(file.string());
  run(files, folder, std::move(saved));
}

void Loop::run(const RunFiles& files, const RunFolder& folder, std::optional<Checkpoint> saved) {
  if (files.checkpoint_every < 1)
    fail("run", "expected checkpoint_every of at least 1, got {}", files.checkpoint_every);
  if (!saved && steps_ > 0)
    fail("run", "expected a loop before its first step, or a checkpoint, got one after step {}", steps_);
  const bool resumed = saved.has_value();
  const auto begin = std::chrono::steady_clock::now();
  if (resumed) restore(*saved);
  saved.reset();
  require_same_start(files.folder);
  if (is_first()) {
    need_space(folder, files, nn::state_dict(model_), resumed, total_steps() - steps_);
    if (resumed) {
      for (const std::string_view name : {kCheckpointFile, kModelFile, kBestFile, kTraceFile, kReportFile})
        check_replaceable(folder.file(name));
      if (fs::is_symlink(folder.path() / kAdapterFolder)) check_replaceable(folder.file(kAdapterFolder));
      say(files.messages, fmt::format("Resuming {} after step {} of {}", files.folder, steps_, total_steps()));
    } else {
      put_earlier_run_aside(folder, files);
      if (!files.announcement.empty()) say(files.messages, files.announcement);
    }
  }
  train_to_end(files, folder);
  if (is_first()) write_results(files, folder.now(), made_now(begin, resumed));
  parallel_->world().barrier();
}

// Nothing is saved that an update has spoiled: the last good checkpoint must not be replaced. A buffer may hold
// infinities, as masks do.
void Loop::require_finite() const {
  const auto check = [this](const NamedTensor& entry, bool finite) {
    if (!finite)
      fail("train",
           "\"{}\" is not finite after step {}, so nothing was saved; earlier files are kept (a smaller learning rate "
           "may help)",
           entry.name, steps_);
  };
  for (const optim::Optimizer* optimizer : optimizers_)
    for (const NamedTensor& p : optimizer->parameters()) check(p, p.tensor.is_frozen() || all_finite(p.tensor));
  if (!is_first()) return;
  for (const NamedTensor& entry : nn::state_dict(model_))
    check(entry, all_finite(entry.tensor) || !any(isnan(entry.tensor)));
}

// Model and optimiser: each process has the whole model, and copies its share.
std::vector<distributed::DividedTensor> Loop::divided_state() const {
  const NamedTensors model = nn::state_dict(model_);
  const distributed::World& world = parallel_->world();
  int64_t total = 0, first = 0;
  for (const NamedTensor& entry : model) total += entry.tensor.numel();
  std::vector<distributed::DividedTensor> out;
  for (const auto& [name, whole] : model) {
    out.push_back({std::string(kModelPrefix) + name, whole.shape(), whole.dtype(),
                   detail::divided_evenly(first, whole.numel(), total, world.size())});
    for (const auto& [rank, begin, end] : out.back().parts)
      if (rank == world.rank()) out.back().own = whole.detach().flatten().slice(0, begin, end).clone();
    first += whole.numel();
  }
  for (distributed::DividedTensor& one : parallel_->divided_state()) {
    one.name.insert(0, kAdamPrefix);
    out.push_back(std::move(one));
  }
  return out;
}

// Writes a checkpoint; with `shards`, begins to. `before`: called before the first process replaces the earlier one.
void Loop::save(const RunFolder& folder, detail::ShardWriter* shards, std::function<void()> before) const {
  require_finite();
  if (shards) {
    Checkpoint rest;
    rest.add(kAdamPrefix, optim::UpdateShare(*optimizers_.front()).state_counts());
    add_rest(rest);
    return shards->begin(steps_, divided_state(), std::move(rest), std::move(before));
  }
  const Checkpoint now = checkpoint();
  if (!is_first()) return;
  before();
  now.save(folder.file(kCheckpointFile));
  detail::remove_shards(folder.now() / kShardFolder);  // of an earlier checkpoint
}

void Loop::train_to_end(const RunFiles& files, const RunFolder& folder) {
  trap_nan_ = files.trap_nan;
  interrupted_ = false;
  const bool first = is_first();
  std::optional<RunLines> lines;
  if (first) lines.emplace(files, folder, steps_, steps_per_epoch());
  Progress progress(files.progress && first ? Progress::style_here() : Progress::Style::kSilent, steps_, total_steps(),
                    files.report.unit, files.messages);
  const CatchInterrupts catching;
  const auto interrupted = [this] {  // all processes stop after the same step
    return parallel_->world().size() > 1 ? interrupted_ : CatchInterrupts::interrupted();
  };
  int64_t saved = steps_ > 0 ? steps_ : -1;
  const auto shards = finished() ? nullptr : detail::ShardWriter::make(parallel_->world(), folder);
  const auto save_now = [&] {
    save(folder, shards.get(), [&] { lines->sync(); });
    saved = steps_;
  };
  StepMetrics m;
  std::optional<Profiler> profiler;
  if (files.profile_steps > 0 && !finished() && first) profiler.emplace();
  const int64_t profiled = steps_ + files.profile_steps;
  while (!finished() && !interrupted()) {
    is_writing_ = shards && shards->is_writing();
    m = step();
    if (shards && !is_writing_) shards->advance();
    auto epoch = ended_epoch();
    if (first) {
      lines->add(m, model_);
      if (m.validation_loss) {
        if (files.keep_best && is_best_) save_model(files, folder.now() / kBestFile);
        files.evaluated ? files.evaluated(m, progress) : progress.line(evaluation_text(m));
      }
      if (epoch) {
        if (files.ended_epoch) files.ended_epoch(*epoch, m, progress);
        lines->add(*epoch);
        if (!files.ended_epoch) progress.line(epoch_text(*epoch, m));
      }
      progress.step(m);
    }
    if (m.validation_loss || epoch) parallel_->share_draws();  // the first process called the program's functions
    if (profiler && (steps_ == profiled || finished() || interrupted())) {
      end_profile(*profiler, files, folder.now(), progress);
      profiler.reset();
    }
    if (steps_ % files.checkpoint_every == 0 && !finished()) save_now();
  }
  progress.finish();
  if (saved != steps_) save_now();
  if (shards) shards->finish();
  if (finished() && first) lines->add_bits(bits_of(nn::state_dict(model_)));
  if (finished() && m.step > 0 && files.ended && first) files.ended(m);
  if (!finished()) {
    parallel_->world().barrier();  // until the first process has written: the launcher ends all when one ends
    throw Interrupted(
        error_text("train", fmt::format("interrupted after step {} of {}; the checkpoint in {} continues the run",
                                        steps_, total_steps(), first ? folder.now().string() : files.folder)));
  }
}

void Loop::end_profile(Profiler& profiler, const RunFiles& files, const fs::path& folder, Progress& progress) {
  profiler.stop();
  const fs::path trace = folder / kTraceFile;
  profiler.write_trace({folder, kTraceFile});
  const ProfileReport report = profiler.report();
  files.profiled ? files.profiled(report, progress) : progress.result(fmt::format("\n{}", str(report)));
  progress.line(fmt::format("Trace: {} (opens in ui.perfetto.dev and chrome://tracing)", printable(trace.string())));
}

void Loop::save_model(const RunFiles& files, const fs::path& path) {
  require_finite();
  if (files.save_model) {
    check_replaceable(in_its_folder(path));
    files.save_model(path.string());
  } else {
    save_checked(in_its_folder(path), nn::state_dict(model_), {{"format", "pt"}, {"steps", std::to_string(steps_)}});
  }
}

void Loop::write_results(const RunFiles& files, const fs::path& folder, ReportText::Made made) {
  const fs::path model = folder / kModelFile, report = folder / kReportFile;
  save_model(files, model);
  const Metrics metrics = read_metrics(folder / kMetricsFile);
  {
    const nn::EvalMode eval(model_);
    ReportText text = files.report;
    text.made = std::move(made);
    replace_file(in_its_folder(report), report_html(text, metrics, steps_per_epoch(), nn::count_parameters(model_)));
  }
  say(files.messages,
      fmt::format("Model saved to {}\nReport: {}\nFingerprint of the model (same fingerprint = same model):\nbits {}",
                  model.string(), report.string(), metrics.bits));
}

}  // namespace tapegrad::train
