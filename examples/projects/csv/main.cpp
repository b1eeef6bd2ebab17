// Trains a model on a table, and predicts the class of other rows.
#include "model.h"

#include <cstdio>
#include <string_view>

int main(int argc, char** argv) try {
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb == "train") {
    train("out", argc > 2 && argv[2] == std::string_view("--resume"));
  } else if (verb == "predict" && argc == 3) {
    const Model model = load("out/model.safetensors");
    const data::Csv rows(argv[2], model.features.inputs());
    for (const int64_t plant : predict(model, rows))
      std::printf("%s\n", model.features.classes()[static_cast<std::size_t>(plant)].c_str());
  } else {
    std::fprintf(stderr, "usage: %s train [--resume] | predict FILE.csv\n", argv[0]);
    return 2;
  }
  return 0;
} catch (const tg::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
