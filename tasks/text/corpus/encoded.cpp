// Turns examples into token ids and batches.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tasks/data/collate.h>
#include <tapegrad/tasks/text/corpus/encoded.h>

#include <algorithm>

namespace tapegrad::tasks {
namespace {

void cut(std::vector<int64_t>& ids, int64_t most) {
  if (static_cast<int64_t>(ids.size()) > most) ids.resize(static_cast<std::size_t>(most));
}

// The number of the token of encoded.text, from `asked` on, that has byte `at` of the text; -1 where it was cut off.
int64_t token_at(const EncodedExample& encoded, const TextVocabulary& vocabulary, int64_t at) {
  int64_t end = 0;
  for (std::size_t i = static_cast<std::size_t>(encoded.asked); i < encoded.text.size(); ++i) {
    end += vocabulary.bytes(encoded.text[i]);
    if (at < end) return static_cast<int64_t>(i);
  }
  return -1;
}

// Encodes one example; false where its target cannot be expressed.
bool encode_one(const TextOptions& o, const TextExample& example, const TextVocabulary& vocabulary,
                const std::vector<std::string>& classes, EncodedExample& encoded) {
  std::vector<int64_t> text = vocabulary.encode(example.text);
  if (o.task == TextTask::answer) {
    encoded.text = vocabulary.encode(example.question);
    encoded.text.push_back(TextVocabulary::kEnd);
    encoded.asked = static_cast<int64_t>(encoded.text.size());
  }
  encoded.text.insert(encoded.text.end(), text.begin(), text.end());
  cut(encoded.text, o.config.context);
  encoded.asked = std::min(encoded.asked, static_cast<int64_t>(encoded.text.size()));
  if (encoded.text.empty()) encoded.text.push_back(TextVocabulary::kEnd);
  if (o.task == TextTask::classify) {
    const auto found = std::find(classes.begin(), classes.end(), example.target);
    encoded.target = {found == classes.end() ? 0 : found - classes.begin()};
    return found != classes.end();
  }
  if (o.task == TextTask::summarize) {
    encoded.target = vocabulary.encode(example.target);
    cut(encoded.target, o.config.summary_context - 1);
    encoded.target.push_back(TextVocabulary::kEnd);
    return true;
  }
  const int64_t size = std::max<int64_t>(1, static_cast<int64_t>(example.target.size()));
  const int64_t first = token_at(encoded, vocabulary, example.start);
  const int64_t last = token_at(encoded, vocabulary, example.start + size - 1);
  encoded.target = {std::max<int64_t>(first, 0), std::max<int64_t>(last, 0)};
  return last >= 0;
}

}  // namespace

EncodedBatch EncodedExamples::batch(std::span<const int64_t> indices) const {
  std::vector<std::vector<int64_t>> texts, targets;
  for (const int64_t i : indices) {
    texts.push_back((*this)[i].text);
    targets.push_back((*this)[i].target);
  }
  EncodedBatch batch{data::pad(std::span<const std::vector<int64_t>>(texts)).values,
                     data::pad(std::span<const std::vector<int64_t>>(targets)).values,
                     {}};
  if (task_ == TextTask::classify) batch.target = batch.target.select(1, 0).contiguous();
  if (task_ != TextTask::answer) return batch;
  std::vector<int64_t> asked;
  for (const int64_t i : indices) asked.push_back((*this)[i].asked);
  const int64_t rows = batch.text.size(0), length = batch.text.size(1);
  const Tensor after = arange(length).reshape({1, length}) >= tensor(asked, {rows, 1});
  batch.answerable = logical_and(after, batch.text != 0.0);
  return batch;
}

std::vector<int64_t> EncodedExamples::lengths() const {
  std::vector<int64_t> lengths;
  for (const EncodedExample& example : *examples_) lengths.push_back(static_cast<int64_t>(example.text.size()));
  return lengths;
}

EncodedExamples encode(const TextOptions& options, std::span<const TextExample> examples,
                       const TextVocabulary& vocabulary, const std::vector<std::string>& classes, bool complete) {
  std::vector<EncodedExample> encoded;
  encoded.reserve(examples.size());
  for (const TextExample& example : examples) {
    EncodedExample one;
    if (encode_one(options, example, vocabulary, classes, one) || !complete) encoded.push_back(std::move(one));
  }
  return EncodedExamples(options.task, std::move(encoded));
}

std::string text_between(const TextExample& example, const EncodedExample& encoded, const TextVocabulary& vocabulary,
                         int64_t first, int64_t last) {
  int64_t from = 0, to = 0;
  for (int64_t i = encoded.asked; i <= last; ++i) {
    const int64_t size = vocabulary.bytes(encoded.text[static_cast<std::size_t>(i)]);
    if (i < first) from += size;
    to += size;
  }
  return from < to ? example.text.substr(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from)) : "";
}

}  // namespace tapegrad::tasks
