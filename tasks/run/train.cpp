// The verb `train`, for every kind of run, and its options.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/internal/checksum.h>
#include <tapegrad/nn/lora.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/run/command.h>
#include <tapegrad/tasks/run/train.h>
#include <tapegrad/tasks/settings/output.h>
#include <tapegrad/tasks/settings/training.h>
#include <tapegrad/train/drawing/svg.h>
#include <tapegrad/train/drawing/terminal.h>
#include <tapegrad/train/internal/profile.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <span>

namespace tapegrad::tasks {
namespace {

constexpr std::size_t kWidestCall = 48;  // leaves room for a remark in 80 columns

// The first of several processes takes the folder; the others read it.
std::unique_ptr<train::RunFolder> take_out(const RunRequest& request, const distributed::World& world) {
  return take_folder(request.out, "--out",
                     world.rank() == 0 ? train::RunFolder::Use::writes : train::RunFolder::Use::reads);
}

std::string checkpoint_of(const RunRequest& request) { return fs::path(request.out) / train::kCheckpointFile; }

std::string settings_json(const train::Checkpoint& checkpoint) { return checkpoint.get<std::string>("options"); }

void require_run_of(std::string_view task, const train::Checkpoint& checkpoint, const std::string& out) {
  const std::string found = task_of_json("checkpoint", settings_json(checkpoint));
  require(found.empty() || found == task, "train --resume", "{} holds a run of the task {}, not of {}", out, found,
          task);
}

bool has_checkpoint(const RunRequest& request) {
  return request.resume && as_bad_request("--out", [&] { return is_there(checkpoint_of(request)); });
}

// An interrupted run is an Error that says how the command continues it.
void run_to_end(train::Loop& loop, const train::RunFiles& files, const train::RunFolder& folder,
                std::optional<train::Checkpoint> saved) {
  try {
    loop.run(files, folder, std::move(saved));
  } catch (const train::Interrupted& e) {
    const std::string_view text = e.what();  // "[train] message"
    fail("train", "{} (use --resume --out {})", text.substr(text.find("] ") + 2), folder.now().string());
  }
}

// "0: no limit" in the language of the environment.
std::string special_text(std::string_view special) {
  constexpr std::string_view kColon = ": ";
  const std::size_t colon = special.find(kColon);
  if (colon == special.npos) return std::string(special);
  return fmt::format("{}{}{}", special.substr(0, colon), kColon, shown(special.substr(colon + kColon.size())));
}

std::vector<train::ReportText::Setting> report_settings(const Fields& fields, const Fields& defaults) {
  std::vector<train::ReportText::Setting> rows;
  for (Field field : fields) {
    constexpr std::string_view kAlwaysShown[] = {"optimizer", "lr", "batch-size", "num-epochs", "seed"};
    const bool folds = std::ranges::find(kAlwaysShown, field.setting.name) == std::end(kAlwaysShown);
    const bool is_default = folds && std::ranges::any_of(defaults, [&](const Field& one) {
                              return one.setting.name == field.setting.name && one.text() == field.text();
                            });
    const std::string help = said_help(field.setting.help);
    field.setting.help = help;
    const std::string special = special_text(field.setting.special);
    field.setting.special = special;
    if (field.used) rows.push_back({field.setting.option(), field.text(), field.report_text(), is_default});
  }
  return rows;
}

train::LoopOptions loop_options(Recipe& recipe, const distributed::World& world) {
  const TrainingSettings& s = recipe.training();
  const int64_t steps_per_epoch = (recipe.batches_per_epoch() + s.accumulate - 1) / s.accumulate;
  return {.epochs = s.num_epochs,
          .max_steps = s.max_steps,
          .accumulate = s.accumulate,
          .transforms = s.transforms(),
          .dtype = s.dtype,
          .schedule = recipe.schedule(s.limited(s.num_epochs * steps_per_epoch)),
          .evaluate = [&recipe] { return recipe.evaluate(); },
          .evaluate_every = recipe.evaluate_every(),
          .patience = recipe.patience(),
          .save =
              [&recipe](train::Checkpoint& out) {
                out.set("options", recipe.json());
                recipe.save(out);
              },
          .world = &world,
          .wire = s.wire};
}

nn::AnyModel made(Recipe& recipe) {
  default_generator().set_mask_stream(recipe.training().mask_stream);
  manual_seed(recipe.training().seed);
  recipe.make();
  return recipe.model();
}

// Commands that lead on from a run, and what they do.
std::vector<NextCall> next_calls(Recipe& recipe, const fs::path& folder) {
  std::vector<NextCall> calls = recipe.next();
  if (calls.size() < 2) calls.emplace_back("plot " + shell_word(folder.string()), said("plot its curves"));
  for (auto& [call, what] : calls) call = shell_word(program_invocation_name) + " " + call;  // as this one was typed
  return calls;
}

// The same at the end of the report.
std::string next_html(Recipe& recipe, const fs::path& folder) {
  std::string out = fmt::format("<h2>{}</h2>\n<ul>\n", said("What to do next"));
  for (const auto& [call, what] : next_calls(recipe, folder))
    out += fmt::format("<li>{}: <code>{}</code></li>\n", drawing::escape_markup(what), drawing::escape_markup(call));
  return out + "</ul>\n";
}

std::string next_text(Recipe& recipe, const fs::path& folder) {
  std::vector<NextCall> calls = next_calls(recipe, folder);
  calls.emplace_back("xdg-open " + shell_word((folder / train::kReportFile).string()), said("read its report"));
  std::size_t width = 0;
  for (const auto& [call, what] : calls) width = std::max(width, call.size());
  std::string text = said("\nNext:\n");
  for (const auto& [call, what] : calls)
    text += width > kWidestCall ? fmt::format("  {}\n", call) : fmt::format("  {:<{}}  # {}\n", call, width, what);
  return text;
}

train::RunFiles files_of(Recipe& recipe, Recipe& defaults, const RunRequest& request, train::Loop& loop) {
  const bool results = recipe.prints_results();
  train::RunFiles files{.folder = request.out,
                        .resume = request.resume,
                        .checkpoint_every = request.checkpoint_every,
                        .keep_best = recipe.keep_best(),
                        .progress = !request.no_progress,
                        .trap_nan = request.trap_nan,
                        .tensorboard = request.tensorboard,
                        .profile_steps = request.profile ? request.profile_steps : 0,
                        .messages = results || request.json ? stderr : stdout,
                        .announcement = recipe.announcement(loop),
                        .report = recipe.report()};
  files.report.rate = said("Learning rate ({})", recipe.training().schedule);
  files.report.language = code_of(language_of_locale());
  files.report.words = shown;
  files.report.sections = [&recipe, folder = fs::path(request.out),
                           sections = std::move(files.report.sections)](const train::Metrics& metrics) {
    return (sections ? sections(metrics) : "") + next_html(recipe, folder);
  };
  files.report.settings = report_settings(fields_of(recipe), fields_of(defaults));
  const auto show = [results, json = request.json](const std::string& text, train::Progress& progress) {
    if (!text.empty()) results && !json ? progress.result(text) : progress.line(text);
  };
  files.evaluated = [&recipe, &loop, show](const train::StepMetrics& m, train::Progress& progress) {
    // The lines of a tutorial's run are those of every n-th step.
    if ((m.step - 1) % recipe.evaluate_every() == 0) return show(recipe.evaluation_text(m, loop), progress);
    progress.line(train::evaluation_text(m));
  };
  files.ended_epoch = [&recipe, &loop, show](train::EpochMetrics& epoch, const train::StepMetrics& last,
                                             train::Progress& progress) {
    show(recipe.epoch_text(epoch, last, loop), progress);
  };
  files.ended = [&recipe, &request](const train::StepMetrics& last) {
    // Where this cannot be written, the run still gets its files: the command fails at its end.
    std::FILE* const to = request.json ? stderr : stdout;
    if (!request.no_progress) std::fputs(drawing::painted_page(recipe.end_text(last), to).c_str(), to);
  };
  if (request.json) {
    files.profiled = [](const ProfileReport& report, train::Progress& progress) {
      progress.result(train::profile_json(report));
    };
  }
  files.save_model = [&recipe, &loop](const std::string& path) { recipe.write_model(path, loop.steps()); };
  return files;
}

}  // namespace

Training::Training(Recipe& recipe, const distributed::World& world)
    : model_(made(recipe)),
      optimizer_(make_optimizer(recipe.training().optimizer, nn::trainable_parameters(model_), recipe.optimizer())) {
  train::LoopOptions options = loop_options(recipe, world);
  options.begin_step = [this, &recipe] { recipe.begin_step(loop_->steps()); };
  loop_ = recipe.loop(*optimizer_, std::move(options));
}

Fields request_fields(RunRequest& request, Recipe& recipe) {
  Fields fields = fields_of(request);
  recipe.list_request(fields);
  return fields;
}

void read_settings(Recipe& recipe, const train::Checkpoint& saved) {
  recipe.read_json("checkpoint", settings_json(saved));
  recipe.resolve();
}

std::unique_ptr<Recipe> continued(const MakeRecipe& make, const train::Checkpoint& saved, Recipe& asked,
                                  const Given& given, const std::string& out) {
  require_run_of(asked.name(), saved, out);
  std::unique_ptr<Recipe> run = make(), other = make();
  read_settings(*run, saved);
  read_settings(*other, saved);
  override_with(fields_of(*other), fields_of(asked), given);
  other->fill_in();
  require_same(fields_of(*run), fields_of(*other), given, out);
  Fields request, theirs;
  run->list_request(request), asked.list_request(theirs);
  for (const Field& field : theirs) override_with(request, theirs, {std::string(field.setting.name)});
  return run;
}

namespace {

distributed::WorldOptions patience_of(const RunRequest& request) {
  distributed::WorldOptions patience{.timeout_s = request.rank_timeout};
  if (patience.timeout_s > 0) patience.warning_s = std::min(patience.warning_s, patience.timeout_s / 5);
  return patience;
}

// All processes have the seed of rank 0.
void share_seed(const distributed::World& world, uint64_t& seed) {
  const Tensor own = scalar(std::bit_cast<int64_t>(seed), kInt64);
  seed = std::bit_cast<uint64_t>(world.broadcast(own).item<int64_t>());
}

// Names of files may differ between machines: their contents are compared. What is printed may differ, too.
void require_same_options(const distributed::World& world, const Fields& request, const Fields& settings) {
  std::string lines;
  const auto add = [&](const Field& field) { lines += fmt::format("--{} {}\n", field.setting.name, field.text()); };
  for (const std::string_view name : {"resume", "checkpoint-every", "trap-nan"}) add(*request.find(name));
  for (const Field& field : settings)
    if (!field.setting.type.starts_with("FILE") && !field.setting.type.starts_with("DIR")) add(field);
  world.require_equal("train", "options", lines);
}

void require_same_data(const distributed::World& world, Recipe& recipe) {
  train::Checkpoint data;
  recipe.save(data);
  std::string lines;
  for (const auto& [name, text] : data.fields)
    lines += fmt::format("{} of checksum {:016x}\n", name, checksum(std::as_bytes(std::span(text))));
  world.require_equal("train", "data", lines);
}

}  // namespace

int train(const MakeRecipe& make, std::unique_ptr<Recipe> recipe, RunRequest request, const Given& given) {
  if (request.out.empty()) request.out = default_folder(recipe->name()).string();
  check_limits(request_fields(request, *recipe));
  request.check();
  check_limits(fields_of(*recipe));
  // A run that is resumed is locked before its checkpoint is read, since another process may be writing it. Otherwise
  // everything that may be rejected is read before the folder is touched.
  const distributed::World world(patience_of(request));
  std::unique_ptr<train::RunFolder> folder;
  if (has_checkpoint(request)) folder = take_out(request, world);
  std::optional<train::Checkpoint> saved;
  if (has_checkpoint(request)) saved = train::Checkpoint::open(checkpoint_of(request));
  if (saved) {
    std::unique_ptr<Recipe> run = continued(make, *saved, *recipe, given, request.out);
    recipe = std::move(run);
  } else {
    recipe->adapt(given);
    recipe->resolve();
  }
  share_seed(world, recipe->training().seed);
  require_same_options(world, request_fields(request, *recipe), fields_of(*recipe));
  const int64_t batches = recipe->training().accumulate;
  require(batches % world.size() == 0, "--accumulate", "expected a multiple of the number of processes, {}, got {}",
          world.size(), batches);
  recipe->open(saved ? &*saved : nullptr);
  require_same_data(world, *recipe);
  require_memory("train", kModelAndBatch, recipe->bytes(world.size()));
  Training training(*recipe, world);
  recipe->prepare(request, world);
  if (!folder) folder = take_out(request, world);
  if (!saved) {
    const std::string first = recipe->before_first_step();
    if (world.rank() == 0) std::fputs(first.c_str(), request.json ? stderr : stdout);
    std::fflush(stdout);
  }
  const std::unique_ptr<Recipe> defaults = make();
  defaults->fill_in();
  run_to_end(training.loop(), files_of(*recipe, *defaults, request, training.loop()), *folder, std::move(saved));
  recipe->finish();
  if (world.rank() > 0) return 0;
  remember_last_run(recipe->name(), folder->now());
  const bool messages = recipe->prints_results() || request.json;
  if (!request.no_progress)
    std::fputs(printable(next_text(*recipe, folder->now()), "\n").c_str(), messages ? stderr : stdout);
  return 0;
}

void add_train(CLI::App* app, const Kind& kind, Run& run) {
  struct Asked {
    std::unique_ptr<Recipe> recipe;
    RunRequest request;
  };
  const auto asked = std::make_shared<Asked>(Asked{kind.make(), {}});
  asked->request.out = default_folder(kind.name).string();
  add_options(app, fields_of(*asked->recipe));
  add_options(app, request_fields(asked->request, *asked->recipe));
  on_parsed(app, [app, asked, make = kind.make, &run] {
    run = [app, asked, make] {
      const Given given = given_on(app, fields_of(*asked->recipe));
      return train(make, std::move(asked->recipe), asked->request, given);
    };
  });
}

}  // namespace tapegrad::tasks
