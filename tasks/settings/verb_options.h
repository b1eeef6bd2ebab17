// Options that several verbs have, the folders of runs, and which run was the last.
#pragma once

#include <tapegrad/tasks/language/language.h>
#include <tapegrad/tasks/settings/settings.h>
#include <tapegrad/train/files.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tapegrad::tasks {

/// How tokens are chosen: `generate` and `chat`.
struct SamplingOptions {
  int64_t max_new_tokens = 50;
  double temperature = 0;
  int64_t top_k = 0;
  double top_p = 1;

  void list(Fields& fields);
};

/// Beam search: `generate` and `test`.
struct BeamOptions {
  int64_t beams = 1;
  double length_penalty = 0;

  void list(Fields& fields);
  /// BadRequest for a penalty without a search.
  void check() const;
};

/// Adds settings of a trained model that a verb may change; help shows the default as `otherwise`.
void add_changes(Fields& fields, const Fields& settings, std::string_view otherwise = "the run's");
/// The option --model of a verb that reads the model of a run.
void add_model(Fields& fields, std::string& model);
/// The language that --lang names; that of the environment for an empty text. BadRequest for another one.
Language language_named(std::string_view code);
/// The option --json.
void add_json(Fields& fields, bool& json);

namespace fs = std::filesystem;

struct RunRequest {
  std::string out;  // folder; empty: out/<task>
  bool resume = false;
  int64_t checkpoint_every = 100;
  bool no_progress = false;
  bool trap_nan = false;
  bool profile = false;
  int64_t profile_steps = 20;
  bool json = false;          // print the profile as JSON, and nothing else on standard output
  bool tensorboard = false;   // write an event file
  double rank_timeout = 300;  // seconds: WorldOptions::timeout_s

  void list(Fields& fields);
  /// BadRequest for options that need another one.
  void check() const;
};

/// Takes the folder that `option` names. BadRequest about that option where it cannot be written to.
std::unique_ptr<train::RunFolder> take_folder(const std::string& folder, std::string_view option = "--out",
                                              train::RunFolder::Use use = train::RunFolder::Use::writes);
/// BadRequest about `option` unless `path` is a file that can be read in any order: not a folder, a device or a pipe.
void require_file(std::string_view option, const std::string& path);

/// out/<task>, where runs are unless --out names a folder.
fs::path default_folder(std::string_view task);
/// Where the last run of a task, started in this folder, has its files. out/<task>.last names it where it is not
/// out/<task>.
fs::path last_run(std::string_view task);
void remember_last_run(std::string_view task, const fs::path& folder);
/// `model`, a file or the folder of a run; the last run's if it is empty. BadRequest if there is no such file.
fs::path model_file(std::string_view where, std::string_view task, const std::string& model);

}  // namespace tapegrad::tasks
