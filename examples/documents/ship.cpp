// The models of `tapegrad train gpt` and `tapegrad train copy` in a program of its own: the blocks of docs/ship.md,
// which are read from the page (tests/comments/blocks.py).
// command: train gpt --max-steps 200 --no-progress --out gpt
// command: train copy --seq-length 4 --vocab-size 8 --max-steps 500 --no-progress --out copy
#include <comments/blocks.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/train.h>

#include <iostream>

namespace tg = tapegrad;

int main() {
#include "comments/docs/ship_1.inc"

#include "comments/docs/ship_2.inc"

  try {
    gpt.transformer();
  } catch (const tg::Error& error) {
    std::cout << error.what() << "\n";
  }
}
