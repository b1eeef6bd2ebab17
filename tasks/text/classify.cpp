// The task classify: the class of a text, which in the datasets is the section of a package in the archive.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/tasks/text/corpus/corpus.h>
#include <tapegrad/tasks/text/models.h>
#include <tapegrad/tasks/text/options.h>
#include <tapegrad/tasks/text/task.h>

#include <algorithm>
#include <map>
#include <set>

namespace tapegrad::tasks {
namespace {

class ClassModel final : public TextModel {
 public:
  explicit ClassModel(const TextModelConfig& config) : model_(config) {}
  void walk(nn::Visitor& visitor) override { visitor("classifier", model_); }

  train::BatchLoss loss(const EncodedBatch& batch) const override {
    const Tensor target = batch.target.select(1, 0).contiguous();
    const Tensor logits = model_(batch.text), loss = cross_entropy(logits, target);
    const PauseRecording pause;
    return {.loss = loss,
            .accuracy = mean((argmax(logits, -1) == target).to(kFloat64)).item(),
            .tokens = batch.text.numel(),
            .terms = static_cast<double>(target.numel())};
  }

  std::vector<std::string> predict(const TextQuery& query, const TextCode& code) const override {
    std::vector<std::string> texts;
    for (const int64_t one : argmax(model_(query.batch.text), -1).to_vector<int64_t>())
      texts.push_back(code.classes[static_cast<std::size_t>(one)]);
    return texts;
  }

 private:
  TextClassifier model_;
};

class ClassifyTask final : public TextTask {
 public:
  ClassifyTask()
      : TextTask({.name = "classify",
                  .help = "classify a text, with a flat or a hierarchical encoder",
                  .target = "label",
                  .target_help = "minimum accuracy; below it the exit status is 1",
                  .baseline = translatable("majority class")}) {
    has_classes = true;
  }

  TextExample example_of(const Package& p) const override {
    return {.text = fmt::format("{}\n{}", p.synopsis, p.description), .target = p.section};
  }

  bool encode_target(const TextOptions&, const TextExample& example, const TextCode& code,
                     EncodedExample& encoded) const override {
    const auto found = std::ranges::find(code.classes, example.target);
    encoded.target = {found == code.classes.end() ? 0 : found - code.classes.begin()};
    return found != code.classes.end();
  }

  void set_defaults(TextOptions& o) const override { o.config.encoder = TextEncoderKind::hierarchy; }

  void list(TextOptions& o, Fields& f) const override {
    Options in_model(f, Group::model);
    TextModelConfig& c = o.config;
    in_model.named(
        "encoder",
        "flat: attention to the whole text; window: to nearby tokens; hierarchy: an encoder for each segment, "
        "and one over the segments",
        c.encoder, kTextEncoderNames);
    const bool cut = c.encoder == TextEncoderKind::hierarchy;
    in_model("segment", "hierarchy: tokens per segment", c.segment, kCount, cut);
    in_model("segment-layers", "hierarchy: layers over the segments", c.segment_layers, kCount, cut);
    list_window(o, f);
  }

  std::unique_ptr<TextModel> model(const TextModelConfig& config) const override {
    return std::make_unique<ClassModel>(config);
  }

  // Names that training did not have are classes, too: of the examples, and of a baseline's predictions.
  TextScores score(std::span<const TextExample> examples, std::span<const std::string> predictions,
                   const std::vector<std::string>& known) const override {
    std::vector<std::string> classes = known;
    std::set<std::string> others(predictions.begin(), predictions.end());
    for (const TextExample& example : examples) others.insert(example.target);
    for (const std::string& one : known) others.erase(one);
    classes.insert(classes.end(), others.begin(), others.end());
    std::map<std::string, int64_t> numbers;
    for (const std::string& one : classes) numbers.emplace(one, static_cast<int64_t>(numbers.size()));
    metrics::ConfusionMatrix matrix(classes);
    for (std::size_t i = 0; i < examples.size(); ++i)
      matrix.add(numbers.at(examples[i].target), numbers.at(predictions[i]));
    return {.examples = matrix.examples(),
            .values = {{"accuracy", matrix.accuracy()}, {"macro_f1", matrix.macro_f1()}},
            .confusion = std::move(matrix)};
  }

  // The class that most of the training examples have.
  std::vector<std::string> baseline(std::span<const TextExample> training,
                                    std::span<const TextExample> examples) const override {
    std::map<std::string, int64_t> counts;
    for (const TextExample& example : training) ++counts[example.target];
    const auto most =
        std::ranges::max_element(counts, [](const auto& a, const auto& b) { return a.second < b.second; });
    return {examples.size(), most == counts.end() ? "" : most->first};
  }
};

}  // namespace

const TextTask& classify_task() {
  static const ClassifyTask task;
  return task;
}

}  // namespace tapegrad::tasks
