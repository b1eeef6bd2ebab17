// The options that every `train` verb has in addition to its settings, the folders of runs, and which run was the last.
#pragma once

#include <tapegrad/tasks/settings/settings.h>
#include <tapegrad/tasks/train/files.h>
#include <tapegrad/tasks/train/loop.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

namespace fs = std::filesystem;

struct RunRequest {
  std::string out;  // folder; empty: out/<task>
  bool resume = false;
  int64_t checkpoint_every = 100;
  bool no_progress = false;
  bool trap_nan = false;
  bool profile = false;
  int64_t profile_steps = 20;
  bool json = false;  // print the profile as JSON, and nothing else on standard output

  void list(Fields& fields);
  /// BadRequest for options that need another one.
  void check() const;
};

/// Takes the folder that `option` names. BadRequest about that option where it cannot be written to.
std::unique_ptr<train::RunFolder> take_folder(const std::string& folder, std::string_view option = "--out",
                                              train::RunFolder::Use use = train::RunFolder::Use::writes);
/// The folder --out of a run, which the first of several processes takes.
std::unique_ptr<train::RunFolder> take_out(const std::string& folder, const distributed::World& world);
/// BadRequest about `option` unless `path` is a file that can be read in any order: not a folder, a device or a pipe.
void require_file(std::string_view option, const std::string& path);
/// The settings of the run that a checkpoint belongs to, as JSON.
std::string settings_json(const train::Checkpoint& checkpoint);
/// BadRequest about --resume unless the checkpoint in the folder `out` has the settings of this task.
void require_run_of(std::string_view task, const train::Checkpoint& checkpoint, const std::string& out);
/// Whether --resume is given and the folder has a checkpoint.
bool has_checkpoint(const RunRequest& request);
/// The checkpoint to continue from, if --resume is given and the folder has one.
std::optional<train::Checkpoint> saved_run(const RunRequest& request);
/// The request as the loop's options.
train::RunFiles run_files(const RunRequest& request);
/// Runs the loop to its end. An interrupted run is an Error that says how the command continues it.
void run_to_end(train::Loop& loop, const train::RunFiles& files, const train::RunFolder& folder,
                std::optional<train::Checkpoint> saved);
/// The settings as a report shows them.
std::vector<train::ReportText::Setting> report_settings(const Fields& fields);

/// out/<task>, where runs are unless --out names a folder.
fs::path default_folder(std::string_view task);
/// Where the last run of a task, started in this folder, has its files. out/<task>.last names it where it is not
/// out/<task>.
fs::path last_run(std::string_view task);
void remember_last_run(std::string_view task, const fs::path& folder);
/// `model`, a file or the folder of a run; the last run's if it is empty. BadRequest if there is no such file.
fs::path model_file(std::string_view where, std::string_view task, const std::string& model);

}  // namespace tapegrad::tasks
