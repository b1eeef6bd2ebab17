// Your own layer, with parameters, a buffer and an initialiser: blocks of docs/modules.md, which are read from the page
// (tests/comments/blocks.py).
#include <comments/blocks.h>
#include <tapegrad/nn/gradcheck.h>
#include <tapegrad/tapegrad.h>

#include <cstdio>
#include <iostream>

namespace tg = tapegrad;
namespace nn = tg::nn;

namespace {

#include "comments/docs/modules_3.inc"

void used() {
#include "comments/docs/modules_4.inc"
}

#include "comments/docs/modules_5.inc"

void nested() {
#include "comments/docs/modules_6.inc"
}

}  // namespace

int main() {
  used();
  std::cout << std::flush;
  nested();
}
