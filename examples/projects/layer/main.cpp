// Trains a model with your own layer, and evaluates it.
#include "model.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

int main(int argc, char** argv) try {
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb == "train") {
    train("out", argc > 2 && argv[2] == std::string_view("--resume"));
  } else if (verb == "predict" && argc == 3) {
    const Net net = load("out/model.safetensors");
    const tg::Tensor x = tg::full({1, 1}, std::atof(argv[2]));
    std::printf("model %.3f, curve %.3f\n", net(x).item(), curve(x).item());
  } else {
    std::fprintf(stderr, "usage: %s train [--resume] | predict X\n", argv[0]);
    return 2;
  }
  return 0;
} catch (const tg::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
