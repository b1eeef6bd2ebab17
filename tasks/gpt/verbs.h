// The verbs of a GPT: generate, test, chat. Each returns the exit code: 0 done, 1 failed; a
// BadRequest thrown is 2, any other Error 1.
#pragma once

#include <tapegrad/tasks/gpt/options.h>
#include <tapegrad/tasks/settings/verb_options.h>

#include <string>

namespace tapegrad::tasks {

/// The model of a verb.
struct GPTModelRequest {
  std::string model;    // file or folder; empty: the last run's
  std::string adapter;  // folder of an adapter for the model; empty: none

  void list(Fields& fields);
};

struct GPTGenerateRequest : GPTModelRequest, SamplingOptions, BeamOptions {
  ReachSettings reach;  // of the model, for inputs longer than those of training
  Given given;          // those named on the command line
  std::string prompt;
  std::string prompt_ids;   // "15496,11" instead
  std::string prompt_file;  // or a text with one prompt per line
  bool ids = false;         // print token ids
  int64_t num_samples = 1;  // continuations of each prompt; the i-th of all draws with seed + i
  std::string stop;         // text after which generation ends; empty: none
  uint64_t seed = 123;
  std::string dtype = "float32";  // a WeightFormat

  void list(Fields& fields);
  Fields asked() { return fields_of(reach); }
};
int generate_gpt(const GPTGenerateRequest& request);

struct GPTTestRequest : GPTModelRequest {
  std::string text;               // file, a text or tokens
  int64_t max_tokens = 0;         // of the text; 0: all
  std::string dtype = "float32";  // a WeightFormat
  bool json = false;

  void list(Fields& fields);
};
int test_gpt(const GPTTestRequest& request);

struct ChatRequest : GPTModelRequest, SamplingOptions {
  ChatRequest();
  std::string system;         // system message, which precedes the conversation; empty: nothing
  std::string chat_template;  // a name, or a text with {message} and {answer}; empty: the model's
  uint64_t seed = 123;
  std::string dtype = "float32";  // a WeightFormat

  void list(Fields& fields);
};
// Answers the lines of standard input until it ends.
int chat(const ChatRequest& request);

}  // namespace tapegrad::tasks
