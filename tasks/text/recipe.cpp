// Reads the data of a run, encodes it, evaluates its model, and says what a run is.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/io/files.h>
#include <tapegrad/autograd/io/internal/checksum.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/run/model_file.h>
#include <tapegrad/tasks/text/recipe.h>
#include <tapegrad/train/data/tokenizer_files.h>
#include <tapegrad/train/drawing/page.h>

#include <algorithm>
#include <numeric>

namespace tapegrad::tasks {
namespace {

using drawing::escape_markup;

constexpr int64_t kReported = 500;  // examples of the validation part that the report is about
constexpr std::size_t kShown = 10;

uint64_t checksum_of(const std::vector<TextExample>& examples) {
  uint64_t sum = 0;
  for (const TextExample& example : examples)
    for (const std::string* text : {&example.text, &example.question, &example.target})
      sum = checksum(bytes_of(*text), sum);
  return sum;
}

std::vector<std::string> classes_from_json(std::string_view where, std::string_view text) {
  const Json json = json::parse(text, [&](const std::string& why) { fail(where, "the list of classes {}", why); });
  const bool list =
      json.is_array() && std::all_of(json.begin(), json.end(), [](const auto& one) { return one.is_string(); });
  if (!list) fail(where, "the list of classes is not a list of texts");
  return json.get<std::vector<std::string>>();
}

TextVocabulary vocabulary_of(const std::string& tokenizer, const std::string& where) {
  return TextVocabulary(data::parse_tokenizer(tokenizer, where));
}

std::string shortened(std::string_view text) {
  constexpr std::size_t kMost = 240;
  return text.size() <= kMost ? std::string(text) : std::string(text.substr(0, text.rfind(' ', kMost))) + " ...";
}

constexpr int64_t kTogether = 32;  // examples per batch of predictions

}  // namespace

std::span<const TextExample> first_of(const std::vector<TextExample>& examples, int64_t count) {
  return std::span(examples).first(std::min(examples.size(), static_cast<std::size_t>(count)));
}

std::vector<std::string> TextRecipe::predict(std::span<const TextExample> examples, int64_t beams) {
  nn::AnyModel all = model();
  const nn::EvalMode eval(all);
  return tasks::predict(*model_, options_, code(), examples, beams);
}

TextScores TextRecipe::score(std::span<const TextExample> examples, std::span<const std::string> predictions) const {
  return task().score(examples, predictions, classes_);
}

TextScores TextRecipe::baseline(std::span<const TextExample> training, std::span<const TextExample> examples) const {
  return score(examples, task().baseline(training, examples));
}

// --- data and model ---

// Training examples that can be learned from; BadRequest where there are none.
EncodedExamples TextRecipe::encode_part(Part part) const {
  EncodedExamples encoded = encode(options_, corpus_[part], code(), true);
  const std::string learnable = task().has_classes
                                    ? "whose label occurs in the train split"
                                    : fmt::format("whose answer is within --context {}", options_.config.context);
  require(encoded.size() > 0, "--data", "the {} split has no example {}", kPartNames[static_cast<std::size_t>(part)],
          learnable);
  return encoded;
}

void TextRecipe::open(const train::Checkpoint* saved) {
  corpus_ = load_corpus(options_.data, task());
  const std::vector<TextExample>& examples = corpus_[Part::train];
  checksum_ = checksum_of(examples);
  require(saved == nullptr || saved->get<uint64_t>("examples") == checksum_, "train --resume",
          "the training examples in {} are not those that the run was started with", options_.data);
  vocabulary_ = saved != nullptr ? vocabulary_of(saved->get<std::string>("tokenizer"), "checkpoint")
                                 : TextVocabulary::train(examples, options_.config.vocab_size);
  if (task().has_classes) classes_ = classes_of(examples);
  const EncodedExamples training = encode_part(Part::train);
  validation_ = encode_part(Part::validation);
  loader_.emplace(training, data::LoaderOptions{.batch_size = options_.batch_size,
                                                .sampler = data::by_length(training.lengths(), options_.batch_size)});
}

void TextRecipe::open_trained(const fs::path& path, const ModelText& text) {
  vocabulary_ = vocabulary_of(text_of(text, path, "tokenizer"), path.string());
  classes_ = classes_from_json(path.string(), text_of(text, path, "classes"));
  require(!task().has_classes || !classes_.empty(), "--model", "{} has no classes", path.string());
}

void TextRecipe::make() {
  model_ = task().model(options_.model(vocabulary_->size(), static_cast<int64_t>(classes_.size())));
}

std::unique_ptr<train::Loop> TextRecipe::loop(optim::Optimizer& optimizer, train::LoopOptions options) {
  return std::make_unique<train::Loop>(
      *model_, optimizer, *loader_, [this](const EncodedBatch& batch) { return model_->loss(batch); },
      std::move(options));
}

// Each process computes a share of the batches.
train::Evaluation TextRecipe::evaluate() {
  const int64_t count = std::min(validation_->size(), options_.eval_examples);
  std::vector<double> found;  // of each batch the sum of its losses, and its terms
  for (int64_t at = 0; at < count; at += options_.batch_size) {
    found.resize(found.size() + 2);
    if (at / options_.batch_size % world_->size() != world_->rank()) continue;
    std::vector<int64_t> indices(static_cast<std::size_t>(std::min(options_.batch_size, count - at)));
    std::iota(indices.begin(), indices.end(), at);
    const train::BatchLoss loss = model_->loss(validation_->batch(indices));
    *(found.end() - 2) = loss.loss.item() * loss.terms, found.back() = loss.terms;
  }
  found = world_->all_reduce(tensor(found, {std::ssize(found)}), distributed::Reduce::only).to_vector<double>();
  double sum = 0, terms = 0;
  for (std::size_t i = 0; i < found.size(); i += 2) sum += found[i], terms += found[i + 1];
  return {.validation = sum / terms};
}

// --- files and texts ---

void TextRecipe::save(train::Checkpoint& out) {
  out.set("tokenizer", vocabulary_->tokenizer().json());
  out.set("examples", checksum_);
}

ModelText TextRecipe::model_text() {
  return {{"classes", json::text_of(Json(classes_))}, {"tokenizer", vocabulary_->tokenizer().json()}};
}

std::string TextRecipe::announcement(const train::Loop& loop) {
  return fmt::format("{}=== Training: {} ===\n{} parameters, vocabulary of {}, {}, {} of {}, seed {}",
                     options_.data.empty() ? "no --data was given: training on 200 synthetic records\n" : "", name(),
                     nn::count_parameters(*model_), vocabulary_->size(),
                     counted(static_cast<int64_t>(corpus_[Part::train].size()), "example"),
                     counted(options_.num_epochs, "epoch"), counted(loop.steps_per_epoch(), "step"), options_.seed);
}

std::string TextRecipe::sections() {
  const std::span<const TextExample> examples = first_of(corpus_[Part::validation], kReported);
  const std::vector<std::string> predictions = predict(examples);
  const TextScores found = score(examples, predictions), naive = baseline(corpus_[Part::train], examples);
  std::string out = fmt::format(
      "<h2>{}</h2>\n<p>{}</p>\n<div class=\"card\"><table>\n<tr><th></th><th>{}</th><th>{}"
      "</th></tr>\n",
      shown("Validation split"), said("{} examples.", found.examples), shown("model"), shown(task().words.baseline));
  for (std::size_t i = 0; i < found.values.size(); ++i)
    out += fmt::format("<tr><th>{}</th><td>{:.4f}</td><td>{:.4f}</td></tr>\n", found.values[i].first,
                       found.values[i].second, naive.values[i].second);
  out += "</table></div>\n";
  if (found.confusion) drawing::card(out, metrics::draw(*found.confusion, said("Confusion matrix")));
  out += fmt::format(
      "<h2>{}</h2>\n<div class=\"card\"><table>\n<tr><th>{}</th><th>{}</th><th>{}"
      "</th></tr>\n",
      shown("Samples"), task().asks ? shown("question, text") : shown("text"), shown("expected"), shown("predicted"));
  for (std::size_t i = 0; i < std::min(kShown, predictions.size()); ++i) {
    const TextExample& example = examples[i];
    const std::string text = task().asks ? fmt::format("{}: {}", example.question, example.text) : example.text;
    out += fmt::format("<tr><td>{}</td><td>{}</td><td class=\"{}\">{}</td></tr>\n", escape_markup(shortened(text)),
                       escape_markup(example.target), predictions[i] == example.target ? "good" : "wrong",
                       escape_markup(predictions[i]));
  }
  return out + "</table></div>\n";
}

train::ReportText TextRecipe::report() {
  return {.title = said("{} task", name()),
          .about = said("Seed {}.", options_.seed),
          .loss = said("Loss (mean over the {})", shown(task().words.terms)),
          .accuracy = said("Accuracy (share of the {})", shown(task().words.terms)),
          .guess = classes_.size() > 1 ? fixed::log(static_cast<double>(classes_.size())) : 0,
          .sections = [this](const train::Metrics&) { return sections(); }};
}

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
    one.text.resize(std::min(one.text.size(), static_cast<std::size_t>(o.config.context)));
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
  std::ranges::stable_sort(order, {}, [&](int64_t i) { return lengths[static_cast<std::size_t>(i)]; });
  std::vector<std::string> predictions(examples.size());
  for (std::size_t at = 0; at < order.size(); at += kTogether) {
    const auto indices = std::span(order).subspan(at, std::min<std::size_t>(kTogether, order.size() - at));
    TextQuery query{.batch = encoded.batch(indices), .beams = beams};
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
