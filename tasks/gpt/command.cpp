// The options of `generate gpt`, `attention gpt`, `test gpt` and `chat`.
#include <fmt/format.h>
#include <tapegrad/autograd/weight_format.h>
#include <tapegrad/tasks/gpt/command.h>
#include <tapegrad/tasks/gpt/verbs.h>
#include <tapegrad/tasks/settings/command_line.h>
#include <tapegrad/tasks/settings/option_types.h>
#include <tapegrad/tasks/train/files.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

namespace tapegrad::tasks {
namespace {

void add_model_options(CLI::App* app, std::string& model, std::string& adapter) {
  app->add_option(
         "--model", model,
         fmt::format("{} of a run, its folder, or a folder of Hugging Face's GPT-2 or Llama (default: the last "
                     "run's)",
                     train::kModelFile))
      ->type_name("FILE_OR_DIR");
  app->add_option("--adapter", adapter, "folder of an adapter (PEFT's LoRA) for the model")->type_name("DIR");
}

void add_prompt(CLI::App* app, std::string& prompt, std::string& ids, const char* help, const char* help_of_ids,
                std::string* file = nullptr) {
  auto* text = app->add_option("--prompt", prompt, help)->type_name("TEXT");
  auto* numbers = app->add_option("--prompt-ids", ids, help_of_ids)->type_name("IDS")->excludes(text);
  if (file == nullptr) return;
  app->add_option("--prompt-file", *file, "text file with one prompt per line; all of them are continued together")
      ->type_name("FILE")
      ->excludes(text)
      ->excludes(numbers);
}

void add_dtype(CLI::App* app, std::string& dtype) {
  std::string help;  // "bfloat16 takes half the memory of float32, int8 a quarter"
  for (const WeightFormat* format : weight_formats().subspan(1))
    help += help.empty() ? fmt::format("{} takes {} the memory of float32", format->name, format->memory)
                         : fmt::format(", {} {}", format->name, format->memory);
  choose_from(app->add_option("--dtype", dtype, "type of the model's matrices; " + help), weight_format_names())
      ->capture_default_str();
}

}  // namespace

void add_gpt_generate(CLI::App* app, std::function<int()>& run) {
  const auto r = std::make_shared<GPTGenerateRequest>();
  add_model_options(app, r->model, r->adapter);
  add_prompt(app, r->prompt, r->prompt_ids, "text to continue", "token ids to continue: 15496,11", &r->prompt_file);
  app->add_flag("--ids", r->ids, "print token ids instead of text");
  app->add_option("--max-new-tokens", r->max_new_tokens, "number of tokens to generate")
      ->capture_default_str()
      ->type_name("N");
  app->add_option("--temperature", r->temperature, "0 takes the most likely token; larger values sample")
      ->capture_default_str()
      ->type_name("T");
  app->add_option("--top-k", r->top_k, "sample from the K most likely tokens only; 0: from all")
      ->capture_default_str()
      ->type_name("K");
  app->add_option("--top-p", r->top_p, "sample from the smallest set of tokens whose probability reaches P")
      ->capture_default_str()
      ->type_name("P");
  app->add_option("--beams", r->beams, "beam-search width; 1: no beam search")->capture_default_str()->type_name("B");
  app->add_option("--length-penalty", r->length_penalty,
                  "beam search divides log-probabilities by ((5 + length) / 6)^A; larger values favour longer texts")
      ->capture_default_str()
      ->type_name("A");
  app->add_option("--num-samples", r->num_samples,
                  "number of continuations to draw for each prompt; more than one needs a --temperature above 0")
      ->capture_default_str()
      ->type_name("N");
  app->add_option("--stop", r->stop, "stop after the token that completes this text")->type_name("TEXT");
  app->add_option("--seed", r->seed, "random seed of the samples")->capture_default_str()->type_name("SEED");
  add_options(app, fields_of(r->reach), "the run's");
  add_dtype(app, r->dtype);
  app->callback([app, r, &run] {
    run = [app, r] {
      r->given = given_on(app, fields_of(r->reach));
      return generate_gpt(*r);
    };
  });
}

void add_gpt_attention(CLI::App* app, std::function<int()>& run) {
  const auto r = std::make_shared<GPTAttentionRequest>();
  add_model_options(app, r->model, r->adapter);
  add_prompt(app, r->prompt, r->prompt_ids, "text to read", "token ids to read: 15496,11");
  app->add_option("--max-new-tokens", r->max_new_tokens, "number of tokens to generate greedily and to include")
      ->capture_default_str()
      ->type_name("N");
  app->add_option("--out", r->out, "folder for attention.svg and attention.html (default: the model's)")
      ->type_name("DIR");
  app->add_flag("--quiet", r->quiet, "write the files, and draw nothing in the terminal");
  app->add_flag(
      "--analyze", r->analyze,
      "also compute singular values, entropy, frequencies and energy of every head, and check the tutorial's claims");
  app->add_flag("--json", r->json, "print the figures of --analyze as one JSON object");
  app->callback([r, &run] { run = [r] { return attention_gpt(*r); }; });
}

void add_gpt_test(CLI::App* app, std::function<int()>& run) {
  const auto r = std::make_shared<GPTTestRequest>();
  add_model_options(app, r->model, r->adapter);
  app->add_option("--text", r->text, "text or token file to test on")->type_name("FILE");
  app->add_option("--max-tokens", r->max_tokens, "test on the first N tokens only (default: 0, all)")->type_name("N");
  add_dtype(app, r->dtype);
  app->add_flag("--json", r->json, "print one JSON object");
  app->callback([r, &run] { run = [r] { return test_gpt(*r); }; });
}

void add_chat(CLI::App* app, std::function<int()>& run) {
  const auto r = std::make_shared<ChatRequest>();
  app->add_option("model", r->model, "a run's folder or model, or a folder of Hugging Face's (default: the last run's)")
      ->type_name("RUN_OR_FOLDER");
  app->add_option("--adapter", r->adapter, "folder of an adapter (PEFT's LoRA) for the model")->type_name("DIR");
  app->add_option("--system", r->system, "what the model is told first")->type_name("TEXT");
  app->add_option("--template", r->chat_template,
                  "form of the conversation: plain, chatml, llama2, llama3, zephyr, or a text with {message} and "
                  "{answer} (default: that of the model's folder, or plain)")
      ->type_name("NAME_OR_TEXT");
  app->add_option("--max-new-tokens", r->max_new_tokens, "longest answer")->capture_default_str()->type_name("N");
  app->add_option("--temperature", r->temperature, "0 takes the most likely token; larger values sample")
      ->capture_default_str()
      ->type_name("T");
  app->add_option("--top-k", r->top_k, "sample from the K most likely tokens only; 0: from all")
      ->capture_default_str()
      ->type_name("K");
  app->add_option("--top-p", r->top_p, "sample from the smallest set of tokens whose probability reaches P")
      ->capture_default_str()
      ->type_name("P");
  app->add_option("--seed", r->seed, "random seed of the answers")->capture_default_str()->type_name("SEED");
  add_dtype(app, r->dtype);
  app->callback([r, &run] { run = [r] { return chat(*r); }; });
}

}  // namespace tapegrad::tasks
