// Shifts the ids of a byte-pair tokenizer to make room for three tokens.
#include <tapegrad/tasks/text/corpus/vocabulary.h>
#include <tapegrad/train/data/byte_pair_train.h>

#include <algorithm>

namespace tapegrad::tasks {

TextVocabulary TextVocabulary::train(std::span<const TextExample> examples, int64_t size) {
  constexpr std::size_t kBytes = 2'000'000;
  std::size_t bytes = 0;
  for (const TextExample& example : examples) bytes += example.text.size() + example.target.size();
  const std::size_t step = std::max<std::size_t>(1, bytes / kBytes);
  std::string text;
  for (std::size_t i = 0; i < examples.size(); i += step)
    text += examples[i].text + '\n' + examples[i].question + '\n' + examples[i].target + '\n';
  return TextVocabulary(data::train_byte_pairs(text, size - kFirst));
}

std::vector<int64_t> TextVocabulary::encode(std::string_view text) const {
  std::vector<int64_t> ids = tokenizer_->encode(text);
  for (int64_t& id : ids) id += kFirst;
  return ids;
}

std::string TextVocabulary::decode(std::span<const int64_t> ids) const {
  std::string text;
  for (const int64_t id : ids)
    if (id >= kFirst) text += tokenizer_->bytes(id - kFirst);
  return text;
}

int64_t TextVocabulary::bytes(int64_t id) const {
  return id < kFirst ? 0 : static_cast<int64_t>(tokenizer_->bytes(id - kFirst).size());
}

}  // namespace tapegrad::tasks
