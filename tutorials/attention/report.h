// The verb `attention`: what a trained model looks at while it reads an example.
#pragma once

#include <tapegrad/tasks/gpt/verbs.h>
#include <tapegrad/tasks/seq2seq/verbs.h>
#include <tapegrad/tutorials/attention/decoding.h>

#include <filesystem>
#include <string>
#include <vector>

namespace tapegrad::tasks {

/// The files and figures of `attention`.
struct AttentionOutput {
  std::string out;     // folder; empty: the model's
  bool quiet = false;  // files only
  bool analyze = false;
  bool json = false;  // the figures of `analyze` as one JSON object
  std::string only;   // heads whose name contains this

  void list(Fields& fields);
  /// BadRequest for JSON without figures.
  void check() const;
};

struct AttentionRequest : ExampleRequest, AttentionOutput {
  using ExampleRequest::ExampleRequest;
  std::string model;  // file, or folder of a run; empty: the last run's
  uint64_t seed = 1;

  void list(Fields& fields);
};
int attention(const AttentionRequest& request);

struct GPTAttentionRequest : GPTModelRequest, AttentionOutput {
  std::string prompt, prompt_ids;  // as those of GPTGenerateRequest
  int64_t max_new_tokens = 0;      // that the model adds to the prompt first, greedily

  void list(Fields& fields);
};
int attention_gpt(const GPTAttentionRequest& request);

/// Those whose name or label contains `only`. BadRequest, with the names there are, if none does.
std::vector<HeadMap> heads_named(std::vector<HeadMap> heads, std::string_view only);

/// A model's heads while it reads an example, and what is said about them.
struct AttentionReport {
  std::string task, model;
  Json json;  ///< task, model and example: what --json prints before the analysis
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
