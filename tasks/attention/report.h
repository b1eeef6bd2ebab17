// What the verb `attention` writes and prints, for every kind of model.
#pragma once

#include <tapegrad/tasks/attention/decoding.h>
#include <tapegrad/tasks/settings/verb_options.h>

#include <filesystem>
#include <string>
#include <vector>

namespace tapegrad::tasks {

/// A model's heads while it reads an example, and what is said about them.
struct AttentionReport {
  std::string task, model;
  nlohmann::ordered_json json;  ///< task, model and example: what --json prints before the analysis
  std::vector<HeadMap> heads;
  std::vector<HeadMap> drawn;  ///< of these as much as a page can hold
  Decoding decoding;
  std::string title, heading;  ///< of the page
  std::string maps;            ///< its last section, HTML
  std::string example;         ///< for the terminal; whole lines
  std::string shaded, about;   ///< as of heads_text
};

/// Writes attention.svg and attention.html, and analysis.svg if asked, into the folder that the request names, or the
/// model's; prints the heads or JSON. Returns the exit code 0.
int report_attention(const AttentionReport& report, const AttentionOutput& request,
                     const std::filesystem::path& model_folder);

}  // namespace tapegrad::tasks
