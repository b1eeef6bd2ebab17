// The models of `tapegrad train gpt` and `tapegrad train copy` in a program of its own: docs/ship.md.
// command: train gpt --max-steps 200 --no-progress --out gpt
// command: train copy --seq-length 4 --vocab-size 8 --max-steps 500 --no-progress --out copy
#include <tapegrad/tapegrad.h>
#include <tapegrad/train.h>

#include <iostream>

namespace tg = tapegrad;

int main() {
  // [text]
  const tg::train::TrainedRun gpt = tg::train::load_run("gpt");
  for (const char* prompt : {"one plus", "three"})
    std::cout << prompt << "|" << gpt.generate(prompt, {.max_new_tokens = 12}) << "\n";
  // [/text]

  // [sequences]
  const tg::train::TrainedRun copy = tg::train::load_run("copy");
  const tg::Tensor source = tg::tensor({{7, 1, 5, 2}, {3, 3, 6, 4}});  // [B, S]
  std::cout << copy.answers(source, /*length=*/4) << "\n";
  // [/sequences]

  try {
    gpt.transformer();
  } catch (const tg::Error& error) {
    std::cout << error.what() << "\n";
  }
}
