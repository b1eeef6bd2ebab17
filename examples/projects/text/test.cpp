// Trains, saves and reloads the model in the folder that the argument names: does it predict the end of the text?
#include "check.h"
#include "model.h"

#include <cmath>

int main(int, char** argv) {
  const std::string folder = fresh_folder(argv[1]);
  Trained trained = train(folder);
  const double guessing = std::log(static_cast<double>(trained.model.tokenizer->size()));
  std::printf("loss %.2f per character of the end of the text; guessing has %.2f\n", trained.loss, guessing);
  check(trained.loss < guessing / 2, "the model predicts characters that it has not seen");

  Model loaded = load(folder);
  const std::string prompt = tg::train::read_file(kText).substr(0, 1);
  check(continuation(loaded, prompt, 60) == continuation(trained.model, prompt, 60),
        "the saved model continues a prompt in the same way");
  check(loaded.tokenizer->decode(loaded.tokenizer->encode(prompt)) == prompt, "its tokenizer keeps the text");
}
