// Encodes and predicts, texts of similar length together.
#include <tapegrad/autograd/tape.h>
#include <tapegrad/tasks/text/predict.h>

#include <algorithm>
#include <numeric>

namespace tapegrad::tasks {
namespace {

constexpr int64_t kTogether = 32;  // examples per batch of predictions

void cut(std::vector<int64_t>& ids, int64_t most) {
  if (static_cast<int64_t>(ids.size()) > most) ids.resize(static_cast<std::size_t>(most));
}

}  // namespace

EncodedExamples encode(const TextOptions& o, std::span<const TextExample> examples, const TextCode& code,
                       bool complete) {
  std::vector<EncodedExample> all;
  all.reserve(examples.size());
  for (const TextExample& example : examples) {
    EncodedExample one;
    if (o.task->asks) {
      one.text = code.vocabulary.encode(example.question);
      one.text.push_back(TextVocabulary::kEnd);
      one.asked = static_cast<int64_t>(one.text.size());
    }
    const std::vector<int64_t> text = code.vocabulary.encode(example.text);
    one.text.insert(one.text.end(), text.begin(), text.end());
    cut(one.text, o.config.context);
    one.asked = std::min(one.asked, static_cast<int64_t>(one.text.size()));
    if (one.text.empty()) one.text.push_back(TextVocabulary::kEnd);
    if (o.task->encode_target(o, example, code, one) || !complete) all.push_back(std::move(one));
  }
  return EncodedExamples(std::move(all));
}

std::vector<std::string> predict(const TextModel& model, const TextOptions& options, const TextCode& code,
                                 std::span<const TextExample> examples, int64_t beams) {
  const PauseRecording pause;
  const EncodedExamples encoded = encode(options, examples, code, false);
  const std::vector<int64_t> lengths = encoded.lengths();
  std::vector<int64_t> order(lengths.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return lengths[static_cast<std::size_t>(a)] < lengths[static_cast<std::size_t>(b)];
  });
  std::vector<std::string> predictions(examples.size());
  for (std::size_t at = 0; at < order.size(); at += kTogether) {
    const auto indices = std::span(order).subspan(at, std::min<std::size_t>(kTogether, order.size() - at));
    TextQuery query{.batch = encoded.batch(indices), .examples = {}, .encoded = {}, .beams = beams};
    for (const int64_t i : indices) {
      query.examples.push_back(&examples[static_cast<std::size_t>(i)]);
      query.encoded.push_back(&encoded[i]);
    }
    const std::vector<std::string> texts = model.predict(query, code);
    for (std::size_t row = 0; row < indices.size(); ++row)
      predictions[static_cast<std::size_t>(indices[row])] = texts[row];
  }
  return predictions;
}

}  // namespace tapegrad::tasks
