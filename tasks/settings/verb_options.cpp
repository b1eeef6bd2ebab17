// Declares the options that several verbs have.
#include <fmt/format.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/tasks/settings/verb_options.h>

namespace tapegrad::tasks {

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
  Options add(f);
  add("model", "model.safetensors of a run, or its folder", model).type("FILE_OR_DIR").otherwise("the last run's");
}

tutorial::Language language_named(std::string_view code) {
  Options add(f);
  if (code.empty()) return tutorial::language_of_locale();
  if (code == "ko") return tutorial::Language::ko;
  if (code == "en") return tutorial::Language::en;
  bad_request("--lang", fmt::format("expected one of ko, en, got \"{}\"", code));
}

void add_json(Fields& f, bool& json) { add("json", "print one JSON object", json); }

}  // namespace tapegrad::tasks
