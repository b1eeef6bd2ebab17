// Trains a language model on a text, and continues a prompt.
#include "model.h"

#include <cstdio>
#include <string_view>

int main(int argc, char** argv) try {
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb == "train") {
    train("out", argc > 2 && argv[2] == std::string_view("--resume"));
  } else if (verb == "generate" && argc == 3) {
    Model model = load("out");
    std::printf("%s%s\n", argv[2], continuation(model, argv[2], 200, 0.5).c_str());
  } else {
    std::fprintf(stderr, "usage: %s train [--resume] | generate PROMPT\n", argv[0]);
    return 2;
  }
  return 0;
} catch (const tg::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
