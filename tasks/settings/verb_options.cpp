// Declares the options that several verbs have; finds, takes and remembers the folders of runs.
#include <fmt/format.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/tasks/settings/verb_options.h>

namespace tapegrad::tasks {
namespace {

fs::path note(std::string_view task) { return fs::path("out") / fmt::format("{}.last", task); }

}  // namespace

void SamplingOptions::list(Fields& f) {
  Options add(f);
  add("max_new_tokens", "number of tokens to generate", max_new_tokens, {.least = 1});
  add("temperature", "0 takes the most likely token; larger values sample", temperature, kNotNegative).type("T");
  add("top_k", "sample from the K most likely tokens only; 0: from all", top_k, kNotNegative).type("K");
  add("top_p", "sample from the smallest set of tokens whose probability reaches P", top_p,
      {.least = 0, .most = 1, .open_below = true})
      .type("P");
}

void BeamOptions::list(Fields& f) {
  Options add(f);
  add("beams", "beam-search width; 1: no beam search", beams, kBeams).type("B");
  add("length_penalty",
      "beam search divides log-probabilities by ((5 + length) / 6)^A; larger values favour longer texts",
      length_penalty, kNotNegative)
      .type("A");
}

void BeamOptions::check() const {
  require(length_penalty == 0 || beams > 1, "--length-penalty", "expected --beams above 1, got 1");
}

void add_changes(Fields& f, const Fields& settings, std::string_view otherwise) {
  for (Field field : settings) {
    field.setting.otherwise = otherwise;
    f.add(field);
  }
}

void add_model(Fields& f, std::string& model) {
  Options{f}("model", "model.safetensors of a run, or its folder", model)
      .type("FILE_OR_DIR")
      .otherwise("the last run's");
}

Language language_named(std::string_view code) {
  if (code.empty()) return language_of_locale();
  if (code == "ko") return Language::ko;
  if (code == "en") return Language::en;
  bad_request("--lang", "expected one of ko, en, got \"{}\"", code);
}

void add_json(Fields& f, bool& json) { Options{f}("json", "print one JSON object", json); }

// --- runs ---

void RunRequest::list(Fields& f) {
  Options in_run(f, Group::run);
  in_run("out", "folder for the run's files", out).type("DIR");
  in_run("resume", "continue from the checkpoint in --out, with the settings of that run", resume);
  in_run("checkpoint-every", "steps between two checkpoints", checkpoint_every, {.least = 1, .most = kMost});
  in_run("no-progress", "print results only: no progress bar, no lines about epochs", no_progress);
  in_run("trap-nan", "stop at the first value or gradient that is not finite, and name its operation (slower)",
         trap_nan);
  in_run("profile", "time the first steps, print where their time went, and write trace.json; the run then continues",
         profile);
  in_run("profile-steps", "steps that --profile times", profile_steps, {.least = 1, .most = kMost});
  in_run("tensorboard", "also write losses, rates, samples, settings and histograms of parameters for TensorBoard",
         tensorboard);
  in_run("json", "print the profile as one JSON object, and everything else to standard error", json);
  in_run("rank-timeout", "end the run if a process of mpirun has been waiting for another one for so long",
         rank_timeout, {.least = 0, .most = kMost})
      .type("SECONDS")
      .special("0: no limit");
}

void RunRequest::check() const {
  require(profile || profile_steps == RunRequest().profile_steps, "--profile-steps",
          "sets the steps of --profile, which is missing");
  require(profile || !json, "--json", "prints the metrics of --profile, which is missing");
}

fs::path default_folder(std::string_view task) { return fs::path("out") / task; }

std::unique_ptr<train::RunFolder> take_folder(const std::string& folder, std::string_view option,
                                              train::RunFolder::Use use) {
  return as_bad_request(option, [&] { return std::make_unique<train::RunFolder>(folder, use); });
}

void require_file(std::string_view option, const std::string& path) {
  const FileKind kind = as_bad_request(option, [&] { return kind_of_file(path); });
  require(kind != FileKind::none, option, "there is no file {}", path);
  require(kind != FileKind::folder, option, "expected a file, got the folder {}", path);
  require(kind == FileKind::file, option, "expected a regular file, got the device or pipe {}", path);
}

fs::path last_run(std::string_view task) {
  if (!is_there(note(task))) return default_folder(task);
  std::string folder = train::read_file(note(task));
  while (!folder.empty() && folder.back() == '\n') folder.pop_back();
  return folder.empty() ? default_folder(task) : fs::path(folder);
}

void remember_last_run(std::string_view task, const fs::path& folder) {
  try {
    if (folder.lexically_normal() == default_folder(task)) {
      if (kind_of_file(note(task)) == FileKind::file) fs::remove(note(task));
    } else {
      fs::create_directories("out");
      train::replace_file(train::in_its_folder(note(task)), folder.string() + "\n");
    }
  } catch (const std::exception&) {
    // The folder cannot be written to: --model names the run then.
  }
}

fs::path model_file(std::string_view where, std::string_view task, const std::string& model) {
  fs::path file = model.empty() ? last_run(task) / train::kModelFile : fs::path(model);
  const auto kind = [](const fs::path& path) { return as_bad_request("--model", [&] { return kind_of_file(path); }); };
  if (kind(file) == FileKind::folder) {
    require(kind(file / train::kModelFile) != FileKind::none, "--model", "{} has no {}", file.string(),
            train::kModelFile);
    file /= train::kModelFile;
  }
  if (kind(file) == FileKind::none) {
    bad_request(where, "there is no file {}{}", file.string(),
                model.empty() ? fmt::format(" (train first: tapegrad train {}; or name a --model)", task) : "");
  }
  return file;
}

}  // namespace tapegrad::tasks
