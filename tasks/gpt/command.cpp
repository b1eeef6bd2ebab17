// The options of `generate gpt`, `attention gpt`, `test gpt` and `chat`.
#include <fmt/format.h>
#include <tapegrad/autograd/weight_format.h>
#include <tapegrad/tasks/gpt/verbs.h>

#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {
namespace {

void add_adapter(Fields& f, std::string& adapter) {
  f.add({.name = "adapter", .help = "folder of an adapter (PEFT's LoRA) for the model", .type = "DIR"}, adapter);
}

// "...; bfloat16: half; int8: a quarter"
std::string help_of_formats() {
  std::string help = "type of the model's matrices, and the memory of one next to float32";
  for (const WeightFormat* format : weight_formats().subspan(1))
    help += fmt::format("; {}: {}", format->name, format->memory);
  return help;
}

void add_dtype(Fields& f, std::string& dtype) {
  static const std::string help = help_of_formats();
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const WeightFormat* format : weight_formats()) all.push_back(format->name);
    return all;
  }();
  f.add({.name = "dtype", .help = help, .choices = names}, dtype);
}

}  // namespace

void GPTModelRequest::list(Fields& f) {
  f.add({.name = "model",
         .help = "model.safetensors of a run, its folder, or a Hugging Face folder with GPT-2 or Llama",
         .type = "FILE_OR_DIR",
         .otherwise = "the last run's"},
        model);
  add_adapter(f, adapter);
}

void GPTGenerateRequest::list(Fields& f) {
  GPTModelRequest::list(f);
  f.add({.name = "prompt", .help = "text to continue", .type = "TEXT"}, prompt);
  f.add({.name = "prompt_ids", .help = "token ids to continue: 15496,11", .type = "IDS"}, prompt_ids);
  f.add({.name = "prompt_file",
         .help = "text file with one prompt per line; all of them are continued together",
         .type = "FILE"},
        prompt_file);
  f.add({.name = "ids", .help = "print token ids instead of text"}, ids);
  SamplingOptions::list(f);
  BeamOptions::list(f);
  f.add({.name = "num_samples",
         .help = "number of continuations to sample for each prompt; more than one needs a --temperature above 0",
         .limits = {.least = 1, .most = 1000}},
        num_samples);
  f.add({.name = "stop", .help = "stop after the token that completes this text", .type = "TEXT"}, stop);
  f.add({.name = "seed", .help = "random seed of the samples"}, seed);
  add_changes(f, asked());
  add_dtype(f, dtype);
}

void GPTAttentionRequest::list(Fields& f) {
  GPTModelRequest::list(f);
  f.add({.name = "prompt", .help = "text to read", .type = "TEXT"}, prompt);
  f.add({.name = "prompt_ids", .help = "token ids to read: 15496,11", .type = "IDS"}, prompt_ids);
  f.add({.name = "max_new_tokens",
         .help = "number of tokens to generate greedily and to include",
         .limits = kCountOrNone},
        max_new_tokens);
  AttentionOutput::list(f);
}

void GPTTestRequest::list(Fields& f) {
  GPTModelRequest::list(f);
  f.add({.name = "text", .help = "text or token file to test on", .type = "FILE"}, text);
  f.add({.name = "max_tokens", .help = "test on the first N tokens only", .limits = kNotNegative, .special = "0: all"},
        max_tokens);
  add_dtype(f, dtype);
  add_json(f, json);
}

ChatRequest::ChatRequest() : SamplingOptions{.max_new_tokens = 512, .temperature = 0.7, .top_p = 0.95} {}

void ChatRequest::list(Fields& f) {
  f.add({.name = "model",
         .help = "a run's folder or model, or a Hugging Face folder",
         .type = "RUN_OR_FOLDER",
         .otherwise = "the last run's",
         .positional = true},
        model);
  add_adapter(f, adapter);
  f.add({.name = "system", .help = "system message, which precedes the conversation", .type = "TEXT"}, system);
  f.add({.name = "template",
         .help = "form of the conversation: plain, chatml, llama2, llama3, zephyr, or a text with {message} and "
                 "{answer}",
         .type = "NAME_OR_TEXT",
         .otherwise = "the template of the model's folder, or plain"},
        chat_template);
  SamplingOptions::list(f);
  f["max_new_tokens"].help = "most tokens of an answer";
  f.add({.name = "seed", .help = "random seed of the answers"}, seed);
  add_dtype(f, dtype);
}

}  // namespace tapegrad::tasks
