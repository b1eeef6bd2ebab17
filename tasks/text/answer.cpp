// The task answer: the part of a text that answers a question, which in the datasets is the value of a field of a
// package's record.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/tasks/text/corpus/corpus.h>
#include <tapegrad/tasks/text/models.h>
#include <tapegrad/tasks/text/options.h>
#include <tapegrad/tasks/text/task.h>
#include <tapegrad/train/metrics/spans.h>

#include <algorithm>

namespace tapegrad::tasks {
namespace {

constexpr int64_t kLongestSpan = 64;  // tokens
constexpr std::string_view kEncoders[] = {"flat", "window"};

// The fields that questions are about. Persons are left out.
constexpr std::string_view kAsked[] = {"Version",  "Architecture", "Installed-Size", "Priority",
                                       "Section",  "Depends",      "Recommends",     "Suggests",
                                       "Homepage", "Multi-Arch",   "Provides",       "Breaks"};

// bool [B, T]: the tokens of the texts, without those of the questions before them.
Tensor answerable(const EncodedBatch& batch) {
  const Tensor after = arange(batch.text.size(1)).unsqueeze(0) >= batch.asked.unsqueeze(1);
  return logical_and(after, batch.text != 0.0);
}

class AnswerModel final : public TextModel {
 public:
  explicit AnswerModel(const TextModelConfig& config) : model_(config) {}
  void walk(nn::Visitor& visitor) override { visitor("finder", model_); }

  train::BatchLoss loss(const EncodedBatch& batch) const override {
    const Tensor logits = model_(batch.text, answerable(batch));  // [B, 2, T]
    const Tensor loss = cross_entropy(logits, batch.target);
    const PauseRecording pause;
    return {.loss = loss,
            .accuracy = mean(all(argmax(logits, -1) == batch.target, 1).to(kFloat64)).item(),
            .tokens = batch.text.numel(),
            .terms = static_cast<double>(batch.target.size(0))};
  }

  std::vector<std::string> predict(const TextQuery& query, const TextCode& code) const override {
    std::vector<std::string> texts;
    const Tensor logits = model_(query.batch.text, answerable(query.batch));
    for (std::size_t row = 0; row < query.examples.size(); ++row) {
      const auto [first, last] = best_span(logits.select(0, static_cast<int64_t>(row)), kLongestSpan);
      texts.push_back(text_between(*query.examples[row], *query.encoded[row], code.vocabulary, first, last));
    }
    return texts;
  }

 private:
  AnswerFinder model_;
};

class AnswerTask final : public TextTask {
 public:
  AnswerTask()
      : TextTask({.name = "answer",
                  .help = "find the part of a text that answers a question",
                  .target = "answer",
                  .target_help = "minimum exact-match rate; below it the exit status is 1",
                  .baseline = translatable("first line")}) {
    asks = true;
  }

  // The record as lines, in an order that its name decides, and one field of it, which the name decides, too.
  TextExample example_of(const Package& p) const override {
    std::vector<std::pair<std::string, std::string>> fields;
    for (const auto& [key, value] : p.fields)
      if (std::ranges::find(kAsked, key) != std::end(kAsked) && value.size() <= kLongestTarget)
        fields.emplace_back(key, value);
    fields.emplace_back("Package", p.name);
    fields.emplace_back("Description", p.synopsis);
    std::ranges::sort(fields, {}, [&](const auto& field) { return text_hash(field.first + ' ' + p.name); });
    const std::size_t chosen = text_hash(p.name) % fields.size();
    TextExample example{.question = fields[chosen].first};
    for (std::size_t i = 0; i < fields.size(); ++i) {
      example.text += fields[i].first + ": ";
      if (i == chosen) example.start = static_cast<int64_t>(example.text.size()), example.target = fields[i].second;
      example.text += fields[i].second + '\n';
    }
    return example;
  }

  // Answers beyond the context cannot be learned.
  bool encode_target(const TextOptions&, const TextExample& example, const TextCode& code,
                     EncodedExample& encoded) const override {
    const int64_t size = std::max<int64_t>(1, static_cast<int64_t>(example.target.size()));
    const int64_t first = token_at(encoded, code.vocabulary, example.start);
    const int64_t last = token_at(encoded, code.vocabulary, example.start + size - 1);
    encoded.target = {std::max<int64_t>(first, 0), std::max<int64_t>(last, 0)};
    return last >= 0;
  }

  void list(TextOptions& o, Fields& f) const override {
    Options{f, Group::model}.named("encoder", "flat: attention to the whole text; window: to nearby tokens",
                                   o.config.encoder, kTextEncoderNames, kEncoders);
    list_window(o, f);
  }

  std::unique_ptr<TextModel> model(const TextModelConfig& config) const override {
    return std::make_unique<AnswerModel>(config);
  }

  TextScores score(std::span<const TextExample> examples, std::span<const std::string> predictions,
                   const std::vector<std::string>&) const override {
    double exact = 0, f1 = 0;
    for (std::size_t i = 0; i < examples.size(); ++i) {
      exact += metrics::exact_answer(predictions[i], examples[i].target) ? 1 : 0;
      f1 += metrics::answer_f1(predictions[i], examples[i].target);
    }
    const double count = std::max<double>(1, static_cast<double>(examples.size()));
    return {.examples = static_cast<int64_t>(examples.size()),
            .values = {{"exact_match", exact / count}, {"f1", f1 / count}}};
  }

  // The value on the record's first line.
  std::string guess(const TextExample& example) const override {
    const std::string_view line = std::string_view(example.text).substr(0, example.text.find('\n'));
    const std::size_t colon = line.find(": ");
    return std::string(colon == std::string_view::npos ? line : line.substr(colon + 2));
  }
};

}  // namespace

const TextTask& answer_task() {
  static const AnswerTask task;
  return task;
}

}  // namespace tapegrad::tasks
