// Training runs of a small GPT on a short text.
#pragma once

#include <tapegrad/tasks/gpt/recipe.h>
#include <tapegrad/tests/support/command_runner.h>
#include <tapegrad/tests/support/in_training.h>
#include <tapegrad/tests/support/runs/tiny_run.h>

#include <algorithm>
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
  Arguments all{"train", "gpt", "--out", folder / out};
  for (std::size_t i = 0; i + 1 < settings.size(); i += 2)  // an option and its value
    if (std::find(more.begin(), more.end(), settings[i]) == more.end())
      all.insert(all.end(), {settings[i], settings[i + 1]});
  return joined(std::move(all), more);
}

// A run of two steps by the command, of GPT or a task of sequences; returns its folder.
inline std::string trained(const TemporaryFolder& folder, const std::string& task, const Arguments& more = {}) {
  const std::string run = folder / task;
  const Arguments usual = joined({"--max-steps", "2", "--no-progress"}, more);
  successful(task == tasks::kGPTTask ? run_command(small_gpt_run(folder, task, usual))
                                     : run_command(tiny_run(task, run, usual), {.folder = folder.path()}));
  return run;
}

}  // namespace tapegrad::tests
