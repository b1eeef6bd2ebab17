// Training runs of a small GPT on a short text.
#pragma once

#include <tapegrad/tasks/gpt/recipe.h>
#include <tapegrad/tests/support/command_runner.h>
#include <tapegrad/tests/support/in_training.h>
#include <tapegrad/tests/support/runs/tiny_run.h>

#include <string>
#include <vector>

namespace tapegrad::tests {

using GPTTrainer = InTraining<tasks::GPTRecipe>;

inline const std::string kGPTText = [] {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "나는 학교에 간다. The cat sat on the mat, again and again.\n";
  return text;
}();

// Eight steps per epoch, two epochs, over kGPTText, which is written into the folder.
inline tasks::GPTOptions small_gpt_options(const TemporaryFolder& folder) {
  tasks::GPTOptions o = tasks::gpt_options(tasks::kGPTDefaultPreset);
  o.text = folder / "text.txt";
  spill(o.text, kGPTText);
  o.gpt().emb_dim = 16;
  o.gpt().n_heads = 2;
  o.gpt().n_layers = 1;
  o.gpt().context_length = 16;
  o.num_epochs = 2;
  o.eval_interval = 5;
  o.sample_tokens = 8;
  o.start_context = "The";
  return o;
}

// `tapegrad train gpt --out OUT` with these settings and a checkpoint every three steps. Options in `more` replace them
// or are added.
inline Arguments small_gpt_run(const TemporaryFolder& folder, const std::string& out, const Arguments& more = {}) {
  tasks::GPTOptions own = small_gpt_options(folder), usual = tasks::gpt_options(tasks::kGPTDefaultPreset);
  const Arguments settings =
      joined(as_arguments(tasks::fields_of(own), tasks::fields_of(usual)), {"--checkpoint-every", "3"});
  return with_options({"train", "gpt", "--out", folder / out}, settings, more);
}

// What that run prints. It must succeed.
inline Ran train_small_gpt(const TemporaryFolder& folder, const std::string& out, const Arguments& more = {},
                           const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return successful(run_command(small_gpt_run(folder, out, more)), file, line);
}

// A run of two steps by the command, of GPT or a task of sequences; returns its folder.
inline std::string trained(const TemporaryFolder& folder, const std::string& task, const Arguments& more = {}) {
  const Arguments usual = joined({"--max-steps", "2", "--no-progress"}, more);
  task == tasks::kGPTTask ? train_small_gpt(folder, task, usual) : train_tiny(folder, task, task, usual);
  return folder / task;
}

}  // namespace tapegrad::tests
