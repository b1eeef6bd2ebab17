// Options that several verbs have.
#pragma once

#include <tapegrad/tasks/language/language.h>
#include <tapegrad/tasks/settings/settings.h>

#include <cstdint>
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
tutorial::Language language_named(std::string_view code);
/// The option --json.
void add_json(Fields& fields, bool& json);

}  // namespace tapegrad::tasks
