// Trains a model on a folder of images, and predicts the class of other images.
#include "model.h"

#include <cstdio>
#include <string_view>

int main(int argc, char** argv) try {
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb == "train") {
    train("out", argc > 2 && argv[2] == std::string_view("--resume"));
  } else if (verb == "predict" && argc > 2) {
    const Model model = load("out/model.safetensors");
    for (int i = 2; i < argc; ++i) {
      const tg::Tensor image = kReading.load(argv[i]);
      const int64_t label = predict(model, image.unsqueeze(0)).at(0);
      std::printf("%s: %s\n", argv[i], model.classes[static_cast<std::size_t>(label)].c_str());
    }
  } else {
    std::fprintf(stderr, "usage: %s train [--resume] | predict IMAGE...\n", argv[0]);
    return 2;
  }
  return 0;
} catch (const tg::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
