// The options of `train gpt`, `generate gpt` and `test gpt`.
#include <fmt/format.h>
#include <tapegrad/tasks/gpt/command.h>
#include <tapegrad/tasks/gpt/verbs.h>
#include <tapegrad/tasks/settings/command_line.h>
#include <tapegrad/tasks/settings/option_types.h>
#include <tapegrad/tasks/train/files.h>

#include <CLI/CLI.hpp>
#include <memory>

namespace tapegrad::tasks {
namespace {

void add_gpt_option(CLI::App* app, std::string& model) {
  app->add_option("--model", model,
                  fmt::format("{} of a run, its folder, or a folder of Hugging Face's GPT-2 (default: the last run's)",
                              train::kModelFile))
      ->type_name("FILE_OR_DIR");
}

void add_dtype(CLI::App* app, DType& dtype) {
  const auto set = [&dtype](const std::string& name) { dtype = name == "bfloat16" ? kBFloat16 : kFloat32; };
  choose_from(app->add_option_function<std::string>("--dtype", set,
                                                    "type of the model's matrices; bfloat16 takes half the memory"),
              {"float32", "bfloat16"})
      ->default_str("float32");
}

}  // namespace

void add_gpt_train(CLI::App* app, std::function<int()>& run) {
  const auto r = std::make_shared<GPTTrainRequest>();
  r->out = default_folder(kGPTTask).string();
  add_options(app, fields_of(r->options));
  add_options(app, fields_of(*r));
  app->callback([app, r, &run] {
    run = [app, r] {
      r->given = given_on(app, fields_of(r->options));
      return train_gpt(*r);
    };
  });
}

void add_gpt_generate(CLI::App* app, std::function<int()>& run) {
  const auto r = std::make_shared<GPTGenerateRequest>();
  add_gpt_option(app, r->model);
  auto* prompt = app->add_option("--prompt", r->prompt, "text to continue")->type_name("TEXT");
  app->add_option("--prompt-ids", r->prompt_ids, "token ids to continue: 15496,11")->type_name("IDS")->excludes(prompt);
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
  app->add_option("--beams", r->beams, "width of the beam search; 1 is no search")
      ->capture_default_str()
      ->type_name("B");
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

void add_gpt_test(CLI::App* app, std::function<int()>& run) {
  const auto r = std::make_shared<GPTTestRequest>();
  add_gpt_option(app, r->model);
  app->add_option("--text", r->text, "text or token file to test on")->type_name("FILE");
  add_dtype(app, r->dtype);
  app->add_flag("--json", r->json, "print one JSON object");
  app->callback([r, &run] { run = [r] { return test_gpt(*r); }; });
}

}  // namespace tapegrad::tasks
