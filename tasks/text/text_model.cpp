// Losses, predictions and files of the text models.
#include <fmt/format.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/tasks/data/tokenizer_files.h>
#include <tapegrad/tasks/data/utf8.h>
#include <tapegrad/tasks/text/text_model.h>
#include <tapegrad/tasks/train/checked_file.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

namespace tapegrad::tasks {
namespace {

constexpr int64_t kTogether = 32;     // examples per batch of predictions
constexpr int64_t kLongestSpan = 64;  // tokens

double share_of(const Tensor& right) { return mean(right.to(kFloat64)).item(); }

train::BatchLoss loss_of_classes(const TextClassifier& model, const EncodedBatch& batch) {
  const Tensor logits = model(batch.text), loss = cross_entropy(logits, batch.target);
  const PauseRecording pause;
  return {.loss = loss,
          .accuracy = share_of(argmax(logits, -1) == batch.target),
          .tokens = batch.text.numel(),
          .terms = static_cast<double>(batch.target.numel())};
}

// The model reads a begin token and the summary but for its last token.
train::BatchLoss loss_of_summaries(const Summarizer& model, const EncodedBatch& batch) {
  const Tensor begin = full({batch.target.size(0), 1}, TextVocabulary::kBegin, kInt64);
  const Tensor read = cat({begin, narrow(batch.target, 1, 0, batch.target.size(1) - 1)}, 1);
  const Tensor found = model(batch.text, read);
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

train::BatchLoss loss_of_answers(const AnswerFinder& model, const EncodedBatch& batch) {
  const Tensor logits = model(batch.text, batch.answerable);  // [B, 2, T]
  const Tensor loss = cross_entropy(logits, batch.target);
  const PauseRecording pause;
  return {.loss = loss,
          .accuracy = share_of(all(argmax(logits, -1) == batch.target, 1)),
          .tokens = batch.text.numel(),
          .terms = static_cast<double>(batch.target.size(0))};
}

std::vector<std::string> summaries(const Summarizer& model, const TextSetup& setup, const EncodedBatch& batch,
                                   int64_t beams) {
  SummarizerNext next(model, batch.text);
  const int64_t rows = batch.text.size(0);
  const nn::Generated found = nn::generate(next, full({rows, 1}, TextVocabulary::kBegin, kInt64),
                                           {.max_new_tokens = setup.options.config.summary_context,
                                            .end_token = TextVocabulary::kEnd,
                                            .pad_token = TextVocabulary::kPadding,
                                            .beams = beams});
  std::vector<std::string> texts;
  for (int64_t row = 0; row < rows; ++row) {
    const std::vector<int64_t> ids = found.tokens.select(0, row).contiguous().to_vector<int64_t>();
    const auto length = static_cast<std::size_t>(found.lengths[static_cast<std::size_t>(row)]);
    texts.push_back(data::valid_utf8(setup.vocabulary.decode(std::span(ids).first(length))));
  }
  return texts;
}

}  // namespace

TextModel::TextModel(TextTask task, const TextModelConfig& config) {
  if (task == TextTask::classify) classifier.emplace(config);
  if (task == TextTask::summarize) summarizer.emplace(config);
  if (task == TextTask::answer) finder.emplace(config);
}

train::BatchLoss loss_of(const TextModel& model, const EncodedBatch& batch) {
  if (model.classifier) return loss_of_classes(*model.classifier, batch);
  return model.summarizer ? loss_of_summaries(*model.summarizer, batch) : loss_of_answers(*model.finder, batch);
}

std::vector<std::string> predict(const TextModel& model, const TextSetup& setup, std::span<const TextExample> examples,
                                 int64_t beams) {
  const PauseRecording pause;
  const EncodedExamples encoded = encode(setup.options, examples, setup.vocabulary, setup.classes, false);
  const std::vector<int64_t> lengths = encoded.lengths();
  std::vector<int64_t> order(lengths.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return lengths[static_cast<std::size_t>(a)] < lengths[static_cast<std::size_t>(b)];
  });
  std::vector<std::string> predictions(examples.size());
  for (int64_t at = 0; at < static_cast<int64_t>(order.size()); at += kTogether) {
    const auto indices = std::span(order).subspan(
        static_cast<std::size_t>(at),
        static_cast<std::size_t>(std::min(kTogether, static_cast<int64_t>(order.size()) - at)));
    const EncodedBatch batch = encoded.batch(indices);
    std::vector<std::string> texts;
    if (model.classifier) {
      for (const int64_t one : argmax((*model.classifier)(batch.text), -1).to_vector<int64_t>())
        texts.push_back(setup.classes[static_cast<std::size_t>(one)]);
    } else if (model.summarizer) {
      texts = summaries(*model.summarizer, setup, batch, beams);
    } else {
      const Tensor logits = (*model.finder)(batch.text, batch.answerable);
      for (std::size_t row = 0; row < indices.size(); ++row) {
        const auto [first, last] = best_span(logits.select(0, static_cast<int64_t>(row)), kLongestSpan);
        texts.push_back(text_between(examples[static_cast<std::size_t>(indices[row])], encoded[indices[row]],
                                     setup.vocabulary, first, last));
      }
    }
    for (std::size_t row = 0; row < indices.size(); ++row)
      predictions[static_cast<std::size_t>(indices[row])] = std::move(texts[row]);
  }
  return predictions;
}

std::string classes_json(const std::vector<std::string>& classes) { return json::text_of(nlohmann::json(classes)); }

std::vector<std::string> classes_from_json(std::string_view where, std::string_view text) {
  const nlohmann::json json =
      json::parse(text, [&](const std::string& why) { fail(where, fmt::format("the list of classes {}", why)); });
  const bool list =
      json.is_array() && std::all_of(json.begin(), json.end(), [](const auto& one) { return one.is_string(); });
  if (!list) fail(where, "the list of classes is not a list of texts");
  return json.get<std::vector<std::string>>();
}

void save_text_model(const fs::path& path, const TextModel& model, const TextSetup& setup, int64_t steps) {
  train::save_checked(path, nn::state_dict(model),
                      {{"classes", classes_json(setup.classes)},
                       {"config", to_json(setup.options)},
                       {"format", "pt"},
                       {"steps", std::to_string(steps)},
                       {"task", std::string(name(setup.options.task))},
                       {"tokenizer", setup.vocabulary.tokenizer().json()}});
}

TrainedText load_text_model(const fs::path& path, TextTask task) {
  const SafeTensors loaded = train::load_checked(path);
  const auto text = [&](const char* key) -> const std::string& {
    const auto found = loaded.metadata.find(key);
    if (found == loaded.metadata.end())
      fail("model", fmt::format("{}: its metadata has no \"{}\"", path.string(), key));
    return found->second;
  };
  const std::string trained_for = task_of_json(path.string(), text("config"));
  require(trained_for == name(task), "--model",
          fmt::format("{} was trained for the task {}, not for {}", path.string(), trained_for, name(task)));
  TextSetup setup{text_options_from_json(path.string(), text("config"), task),
                  TextVocabulary(data::parse_tokenizer(text("tokenizer"), path.string())),
                  classes_from_json(path.string(), text("classes"))};
  require(task != TextTask::classify || !setup.classes.empty(), "--model",
          fmt::format("{} has no classes", path.string()));
  const nn::init::Skip skip;
  TextModel model(task, setup.model());
  nn::load_state_dict(model, loaded.tensors);
  nn::eval(model);
  return {std::move(setup), std::move(model)};
}

}  // namespace tapegrad::tasks
