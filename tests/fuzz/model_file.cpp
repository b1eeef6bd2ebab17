// Model files of the copy task and of a GPT: unchanged, and again with correct checksums.
#include <tapegrad/tasks/gpt/model.h>
#include <tapegrad/tasks/run/model_file.h>
#include <tapegrad/tasks/seq2seq/recipe.h>
#include <tapegrad/tasks/seq2seq/task.h>
#include <tapegrad/tests/fuzz/fuzz.h>

using namespace tapegrad::fuzz;

void fuzz(std::string_view input) {
  static const MemoryFile file;
  static const std::string sealed = new_folder() + "/model.safetensors";
  static const tapegrad::tasks::TaskInfo& copy = tapegrad::tasks::task_named("copy");
  file.fill(as_safetensors(input));
  const auto load = [](const std::string& path) {
    tapegrad::tasks::Seq2SeqRecipe trained(copy);
    tapegrad::tasks::load_model(trained, path);
  };
  reads_or_throws([&] { load(file.path()); });
  reads_or_throws([&] {
    seal(file.path(), sealed, {});
    reads_or_throws([&] { load(sealed); });
    reads_or_throws([&] { tapegrad::tasks::load_gpt(sealed); });
  });
}
