// Models to draw: that of the copy task, and those of trained models in files.
#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/tasks/architecture/architecture.h>
#include <tapegrad/tasks/gpt/model.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/run/model_file.h>
#include <tapegrad/tasks/seq2seq/recipe.h>
#include <tapegrad/tasks/seq2seq/tasks.h>
#include <tapegrad/tasks/settings/bad_request.h>

namespace tapegrad::tasks::architecture {

Architecture architecture_of_copy() {
  manual_seed(0);
  auto options = task_named("copy").defaults();
  resolve(options);
  nn::Transformer model(options.model());
  return architecture_of(model, said("Transformer of the copy task"));
}

Architecture architecture_of_file(const std::string& path) {
  const FoundModel found = find_model("--model", path);
  const std::string task = found.source == ModelSource::run ? task_of_model(found.path) : kGPTTask;
  if (task == kGPTTask) {
    TrainedGPT trained = load_gpt(path, {.with_tokenizer = false});
    return architecture_of(trained.model);
  }
  for (const TaskInfo* info : all_tasks()) {
    if (info->name != task) continue;
    Seq2SeqRecipe trained(*info);
    load_model(trained, found.path);
    return architecture_of(trained.transformer(), said("Transformer of the {} task", task));
  }
  bad_request("--model", fmt::format("expected a model of copy, addition, parser or gpt, got one of {}", task));
}

}  // namespace tapegrad::tasks::architecture
