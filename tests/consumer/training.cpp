// A user's program that trains with tapegrad::train: a tokenizer, a loader of text windows and a drawing.
#include <tapegrad/tapegrad.h>
#include <tapegrad/train.h>

#include <cstdio>
#include <filesystem>
#include <string>

namespace tg = tapegrad;

int main() {
  const std::string text = "the cat sat on the mat, and the rat sat on the cat; the end of the text";
  const auto tokenizer = tg::data::train_byte_pairs(text, 270);
  if (tokenizer->decode(tokenizer->encode(text)) != text) return 1;

  const tg::data::TextLoader loader(tg::data::Windows(tg::data::Tokens(tokenizer->encode(text)), 4, 2),
                                    {.batch_size = 3, .shuffle = true});
  tg::Generator generator(1);
  auto batches = loader.begin(generator);
  int64_t tokens = 0;
  for (tg::data::TextBatch batch; batches.next(batch);) tokens += batch.inputs.numel();

  tg::drawing::LineChart chart{.title = "a line", .series = {{.name = "y", .x = {0, 1, 2}, .y = {0, 1, 4}}}};
  const std::string file = (std::filesystem::temp_directory_path() / "tapegrad-consumer.svg").string();
  tg::train::replace_file(file, tg::drawing::svg_file(tg::drawing::draw(chart)));
  const bool whole = tg::train::read_file(file).ends_with("</svg>\n");
  std::filesystem::remove(file);
  std::printf("%lld tokens in batches\n", static_cast<long long>(tokens));
  return tokens > 0 && whole ? 0 : 1;
}
