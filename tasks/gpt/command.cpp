// The options of `generate gpt`, `test gpt` and `chat`.
#include <fmt/format.h>
#include <tapegrad/autograd/weight_format.h>
#include <tapegrad/tasks/gpt/verbs.h>

#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {
namespace {

void add_adapter(Fields& f, std::string& adapter) {
  Options add(f);
  add("adapter", "folder of an adapter (PEFT's LoRA) for the model", adapter).type("DIR");
}

// "...; bfloat16: half; int8: a quarter"
std::string help_of_formats() {
  std::string help = "type of the model's matrices, and the memory of one next to float32";
  for (const WeightFormat* format : weight_formats().subspan(1))
    help += fmt::format("; {}: {}", format->name, format->memory);
  return help;
}

void add_dtype(Fields& f, std::string& dtype) {
  Options add(f);
  static const std::string help = help_of_formats();
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const WeightFormat* format : weight_formats()) all.push_back(format->name);
    return all;
  }();
  add("dtype", help, dtype).choices(names);
}

}  // namespace

void GPTModelRequest::list(Fields& f) {
  Options add(f);
  add("model", "model.safetensors of a run, its folder, or a Hugging Face folder with GPT-2 or Llama", model)
      .type("FILE_OR_DIR")
      .otherwise("the last run's");
  add_adapter(f, adapter);
}

void GPTGenerateRequest::list(Fields& f) {
  Options add(f);
  GPTModelRequest::list(f);
  add("prompt", "text to continue", prompt).type("TEXT");
  add("prompt_ids", "token ids to continue: 15496,11", prompt_ids).type("IDS");
  add("prompt_file", "text file with one prompt per line; all of them are continued together", prompt_file)
      .type("FILE");
  add("ids", "print token ids instead of text", ids);
  SamplingOptions::list(f);
  BeamOptions::list(f);
  add("num_samples", "number of continuations to sample for each prompt; more than one needs a --temperature above 0",
      num_samples, {.least = 1, .most = 1000});
  add("stop", "stop after the token that completes this text", stop).type("TEXT");
  add("seed", "random seed of the samples", seed);
  add_changes(f, asked());
  add_dtype(f, dtype);
}

void GPTTestRequest::list(Fields& f) {
  Options add(f);
  GPTModelRequest::list(f);
  add("text", "text or token file to test on", text).type("FILE");
  add("max_tokens", "test on the first N tokens only", max_tokens, kNotNegative).special("0: all");
  add_dtype(f, dtype);
  add_json(f, json);
}

ChatRequest::ChatRequest() : SamplingOptions{.max_new_tokens = 512, .temperature = 0.7, .top_p = 0.95} {}

void ChatRequest::list(Fields& f) {
  Options add(f);
  add("model", "a run's folder or model, or a Hugging Face folder", model)
      .type("RUN_OR_FOLDER")
      .otherwise("the last run's")
      .positional();
  add_adapter(f, adapter);
  add("system", "system message, which precedes the conversation", system).type("TEXT");
  add("template",
      "form of the conversation: plain, chatml, llama2, llama3, zephyr, or a text with {message} and "
      "{answer}",
      chat_template)
      .type("NAME_OR_TEXT")
      .otherwise("the template of the model's folder, or plain");
  SamplingOptions::list(f);
  f["max_new_tokens"].help = "most tokens of an answer";
  add("seed", "random seed of the answers", seed);
  add_dtype(f, dtype);
}

}  // namespace tapegrad::tasks
