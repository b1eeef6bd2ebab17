// Declares the options that several verbs have.
#include <fmt/format.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/tasks/settings/verb_options.h>

namespace tapegrad::tasks {

void SamplingOptions::list(Fields& f) {
  f.add({.name = "max_new_tokens", .help = "number of tokens to generate", .limits = {.least = 1}}, max_new_tokens);
  f.add({.name = "temperature",
         .help = "0 takes the most likely token; larger values sample",
         .limits = kNotNegative,
         .type = "T"},
        temperature);
  f.add({.name = "top_k",
         .help = "sample from the K most likely tokens only; 0: from all",
         .limits = kNotNegative,
         .type = "K"},
        top_k);
  f.add({.name = "top_p",
         .help = "sample from the smallest set of tokens whose probability reaches P",
         .limits = {.least = 0, .most = 1, .open_below = true},
         .type = "P"},
        top_p);
}

void BeamOptions::list(Fields& f) {
  f.add({.name = "beams", .help = "beam-search width; 1: no beam search", .limits = kBeams, .type = "B"}, beams);
  f.add({.name = "length_penalty",
         .help = "beam search divides log-probabilities by ((5 + length) / 6)^A; larger values favour longer texts",
         .limits = kNotNegative,
         .type = "A"},
        length_penalty);
}

void BeamOptions::check() const {
  require(length_penalty == 0 || beams > 1, "--length-penalty", "expected --beams above 1, got 1");
}

void AttentionOutput::list(Fields& f) {
  f.add(
      {.name = "out", .help = "folder for attention.svg and attention.html", .type = "DIR", .otherwise = "the model's"},
      out);
  f.add({.name = "quiet", .help = "write the files, and print nothing in the terminal"}, quiet);
  f.add({.name = "analyze",
         .help = "also compute singular values, entropy, frequencies and energy of every head, and check the "
                 "tutorial's claims"},
        analyze);
  f.add({.name = "json", .help = "print the metrics of --analyze as one JSON object"}, json);
  f.add({.name = "only",
         .help = "plot in attention.svg only the heads whose name contains this, as \"layer 1\"",
         .type = "TEXT"},
        only);
}

void AttentionOutput::check() const {
  require(!json || analyze, "--json", "expected --analyze, whose metrics it prints");
}

void add_changes(Fields& f, const Fields& settings, std::string_view otherwise) {
  for (Field field : settings) {
    field.setting.otherwise = otherwise;
    f.add(field);
  }
}

void add_model(Fields& f, std::string& model) {
  f.add({.name = "model",
         .help = "model.safetensors of a run, or its folder",
         .type = "FILE_OR_DIR",
         .otherwise = "the last run's"},
        model);
}

tutorial::Language language_named(std::string_view code) {
  if (code.empty()) return tutorial::language_of_locale();
  if (code == "ko") return tutorial::Language::ko;
  if (code == "en") return tutorial::Language::en;
  bad_request("--lang", fmt::format("expected one of ko, en, got \"{}\"", code));
}

void add_json(Fields& f, bool& json) { f.add({.name = "json", .help = "print one JSON object"}, json); }

}  // namespace tapegrad::tasks
