// The task summarize: the summary of a text, which in the datasets is the synopsis of a package.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/generate.h>
#include <tapegrad/tasks/text/corpus/corpus.h>
#include <tapegrad/tasks/text/models.h>
#include <tapegrad/tasks/text/options.h>
#include <tapegrad/tasks/text/task.h>
#include <tapegrad/train/data/utf8.h>
#include <tapegrad/train/metrics/bleu.h>
#include <tapegrad/train/metrics/rouge.h>

namespace tapegrad::tasks {
namespace {

class SummaryModel final : public TextModel {
 public:
  explicit SummaryModel(const TextModelConfig& config) : model_(config), longest_(config.summary_context) {}
  void walk(nn::Visitor& visitor) override { visitor("summarizer", model_); }

  // The model reads a begin token and the summary but for its last token.
  train::BatchLoss loss(const EncodedBatch& batch) const override {
    const Tensor begin = full({batch.target.size(0), 1}, TextVocabulary::kBegin, kInt64);
    const Tensor read = cat({begin, narrow(batch.target, 1, 0, batch.target.size(1) - 1)}, 1);
    const Tensor found = model_(batch.text, read);
    const Tensor loss = nll_loss(found, batch.target, {.ignore_index = TextVocabulary::kPadding});
    const PauseRecording pause;
    const Tensor counted = batch.target != static_cast<double>(TextVocabulary::kPadding);
    const Tensor right = logical_and(argmax(found, -1) == batch.target, counted);
    const double terms = sum(counted.to(kFloat64)).item();
    return {.loss = loss,
            .accuracy = sum(right.to(kFloat64)).item() / terms,
            .tokens = batch.text.numel() + batch.target.numel(),
            .terms = terms};
  }

  std::vector<std::string> predict(const TextQuery& query, const TextCode& code) const override {
    SummarizerNext next(model_, query.batch.text);
    const int64_t rows = query.batch.text.size(0);
    const nn::Generated found = nn::generate(next, full({rows, 1}, TextVocabulary::kBegin, kInt64),
                                             {.max_new_tokens = longest_,
                                              .end_token = TextVocabulary::kEnd,
                                              .pad_token = TextVocabulary::kPadding,
                                              .beams = query.beams});
    std::vector<std::string> texts;
    for (int64_t row = 0; row < rows; ++row) {
      const std::vector<int64_t> ids = found.tokens.select(0, row).contiguous().to_vector<int64_t>();
      const auto length = static_cast<std::size_t>(found.lengths[static_cast<std::size_t>(row)]);
      texts.push_back(data::valid_utf8(code.vocabulary.decode(std::span(ids).first(length))));
    }
    return texts;
  }

 private:
  Summarizer model_;
  int64_t longest_;  // tokens of a summary
};

class SummarizeTask final : public TextTask {
 public:
  SummarizeTask()
      : TextTask({.name = "summarize",
                  .help = "summarise a text, with words copied from it",
                  .target = "summary",
                  .target_help = "minimum F1 of ROUGE-L; below it the exit status is 1",
                  .baseline = translatable("first sentence"),
                  .terms = translatable("tokens")}) {
    generates = true;
  }

  TextExample example_of(const Package& p) const override { return {.text = p.description, .target = p.synopsis}; }

  bool encode_target(const TextOptions& o, const TextExample& example, const TextCode& code,
                     EncodedExample& encoded) const override {
    encoded.target = code.vocabulary.encode(example.target);
    const auto most = static_cast<std::size_t>(o.config.summary_context - 1);
    if (encoded.target.size() > most) encoded.target.resize(most);
    encoded.target.push_back(TextVocabulary::kEnd);
    return true;
  }

  void list(TextOptions& o, Fields& f) const override {
    Options in_model(f, Group::model);
    in_model("summary-length", "maximum number of tokens of a summary", o.config.summary_context, kCount);
    in_model("no-copy", "generate all words from the vocabulary, and copy none from the text", o.config.no_copy);
  }

  std::unique_ptr<TextModel> model(const TextModelConfig& config) const override {
    return std::make_unique<SummaryModel>(config);
  }

  // F1 of ROUGE, and BLEU (0 to 100).
  TextScores score(std::span<const TextExample> examples, std::span<const std::string> predictions,
                   const std::vector<std::string>&) const override {
    std::vector<metrics::TextPair> pairs;
    for (std::size_t i = 0; i < examples.size(); ++i) pairs.emplace_back(predictions[i], examples[i].target);
    const metrics::Rouge rouge = metrics::mean_rouge(pairs);
    return {.examples = static_cast<int64_t>(pairs.size()),
            .values = {{"rouge_l", rouge.rouge_l.f1},
                       {"rouge1", rouge.rouge1.f1},
                       {"rouge2", rouge.rouge2.f1},
                       {"bleu", metrics::bleu(pairs).score}}};
  }

  // Up to the first full stop before a space, or the end of the line.
  std::string guess(const TextExample& example) const override {
    const std::string_view line = std::string_view(example.text).substr(0, example.text.find('\n'));
    return std::string(line.substr(0, line.find(". ")));
  }
};

}  // namespace

const TextTask& summarize_task() {
  static const SummarizeTask task;
  return task;
}

}  // namespace tapegrad::tasks
