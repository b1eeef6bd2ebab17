// Texts as batches of token ids: docs/data.md.
#include <tapegrad/train.h>

#include <cstdio>

namespace tg = tapegrad;

// Sentences of different lengths with a label each.
struct Reviews {
  std::vector<std::vector<int64_t>> ids;
  std::vector<int64_t> labels;
  int64_t size() const { return static_cast<int64_t>(ids.size()); }
  std::pair<std::vector<int64_t>, int64_t> operator[](int64_t i) const { return {ids[i], labels[i]}; }
};

int main() {
  const std::string text = "a good film; a bad film; not a good film; good; not a bad film at all";
  const auto tokenizer = tg::data::train_byte_pairs(text, 280);  // or load_tokenizer("gpt2")

  // A language model's batches: windows of 8 tokens, and for each token the next one.
  const tg::data::Tokens tokens(tokenizer->encode(text));
  const tg::data::TextLoader windows({tokens, 8, 4}, {.batch_size = 2, .shuffle = true});
  auto epoch = windows.begin();
  while (const auto batch = epoch.next()) std::printf("inputs %s\n", str(batch->inputs.shape()).c_str());

  // A dataset of your own: padded batches of similar lengths, made while the step before them runs.
  Reviews reviews;
  std::vector<int64_t> lengths;
  for (const char* line : {"a good film", "a bad film", "not a good film", "good", "not a bad film at all"}) {
    reviews.ids.push_back(tokenizer->encode(line));
    reviews.labels.push_back(line[0] == 'n');
    lengths.push_back(static_cast<int64_t>(reviews.ids.back().size()));
  }
  const tg::data::DataLoader loader(
      reviews, {.batch_size = 2, .sampler = tg::data::by_length(lengths, 2), .prefetch = 2}, tg::data::Pad{0});
  for (const auto& [sentences, labels] : loader.epoch()) {  // sentences.values, .mask and .lengths
    std::printf("sentences %s, labels %s\n", str(sentences.values.shape()).c_str(), str(labels).c_str());
  }
}
