// The folders of runs, and which run was the last: a line in out/<task>.last, for runs that did not use the default
// folder.
#include <fmt/format.h>
#include <tapegrad/autograd/io/detail/json.h>
#include <tapegrad/tasks/seq2seq/verbs.h>
#include <tapegrad/tasks/settings/refusing.h>
#include <tapegrad/tasks/train/checkpoint.h>

#include <nlohmann/json.hpp>

namespace tapegrad::tasks {
namespace {

fs::path default_folder(std::string_view task) { return fs::path("out") / task; }
fs::path note(std::string_view task) { return fs::path("out") / fmt::format("{}.last", task); }

}  // namespace

std::unique_ptr<train::RunFolder> take_folder(const std::string& folder, std::string_view option) {
  return refusing(option, [&] { return std::make_unique<train::RunFolder>(folder); });
}

void need_run_of(std::string_view task, const train::Checkpoint& checkpoint, const std::string& out) {
  const auto damaged = [](const std::string& why) { fail("checkpoint", fmt::format("its field \"options\" {}", why)); };
  const nlohmann::json options = json::parse(checkpoint.get<std::string>("options"), damaged);
  const std::string held = options.is_object() ? options.value("task", std::string(task)) : std::string(task);
  if (held != task) refuse("train --resume", fmt::format("{} holds a run of the task {}, not of {}", out, held, task));
}

void put_earlier_run_aside(const train::RunFolder& folder, const std::string& out, bool resume) {
  if (resume) fmt::print(stderr, "note: {} has no checkpoint yet, the run begins at its first step\n", out);
  if (resume && !fs::exists(folder.path() / train::kModelFile)) return;
  const std::string_view names[] = {train::kCheckpointFile, train::kModelFile, train::kMetricsFile, train::kReportFile};
  const fs::path aside = folder.put_aside(names);
  if (!aside.empty()) fmt::print(stderr, "note: the earlier run in {} now stands in {}\n", out, aside.string());
}

fs::path last_run(std::string_view task) {
  if (!fs::exists(note(task))) return default_folder(task);
  std::string folder = train::read_file(note(task));
  while (!folder.empty() && folder.back() == '\n') folder.pop_back();
  return folder.empty() ? default_folder(task) : fs::path(folder);
}

void remember_last_run(std::string_view task, const fs::path& folder) {
  try {
    if (folder.lexically_normal() == default_folder(task)) {
      fs::remove(note(task));
    } else {
      fs::create_directories("out");
      train::replace_file(note(task), folder.string() + "\n");
    }
  } catch (const std::exception&) {
    // A folder that may not be written to: the run is told by --model then.
  }
}

fs::path model_file(std::string_view where, std::string_view task, const std::string& model) {
  fs::path file = model.empty() ? last_run(task) / train::kModelFile : fs::path(model);
  if (fs::is_directory(file)) {
    if (!fs::exists(file / train::kModelFile))
      refuse("--model", fmt::format("{} has no {}", file.string(), train::kModelFile));
    file /= train::kModelFile;
  }
  if (!fs::exists(file)) {
    refuse(where,
           fmt::format("there is no file {}{}", file.string(),
                       model.empty() ? fmt::format(" (train first: tapegrad train {}; or name a --model)", task) : ""));
  }
  return file;
}

}  // namespace tapegrad::tasks
