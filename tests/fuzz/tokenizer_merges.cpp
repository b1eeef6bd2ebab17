// encoder.json and vocab.bpe: the input is the first, a zero byte, and the second.
#include <tapegrad/tests/fuzz/fuzz.h>
#include <tapegrad/train/data/tokenizer_files.h>

#include <fstream>

using namespace tapegrad::fuzz;

void fuzz(std::string_view all) {
  static const std::string folder = new_folder();
  const std::size_t cut = std::min(all.find('\0'), all.size());
  std::ofstream(folder + "/encoder.json", std::ios::binary) << all.substr(0, cut);
  std::ofstream(folder + "/vocab.bpe", std::ios::binary) << all.substr(std::min(cut + 1, all.size()));
  reads_or_throws([&] {
    const auto tokenizer = tapegrad::data::load_tokenizer(folder);
    reads_or_throws([&] { tokenizer->decode(tokenizer->encode("the sum of 1 and 2\n")); });
  });
}
