// Loads data, and trains text models.
#include <fmt/format.h>
#include <tapegrad/autograd/io/checksum.h>
#include <tapegrad/autograd/io/files.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/tasks/data/tokenizer_files.h>
#include <tapegrad/tasks/text/trainer.h>

#include <algorithm>

namespace tapegrad::tasks {
namespace {

std::span<const TextExample> first_of(const std::vector<TextExample>& examples, int64_t count) {
  return std::span(examples).first(std::min(examples.size(), static_cast<std::size_t>(count)));
}

uint64_t checksum_of(const std::vector<TextExample>& examples) {
  uint64_t sum = 0;
  for (const TextExample& example : examples)
    for (const std::string* text : {&example.text, &example.question, &example.target})
      sum = checksum(bytes_of(*text), sum);
  return sum;
}

const TextOptions& seeded(const TextOptions& options) {
  manual_seed(options.seed);
  return options;
}

// Training examples that can be learned from; BadRequest where there are none.
EncodedExamples encode_part(const TextSetup& setup, const Corpus& corpus, Part part) {
  EncodedExamples encoded = encode(setup.options, corpus[part], setup.vocabulary, setup.classes, true);
  const std::string learnable = setup.options.task == TextTask::classify
                                    ? "whose label occurs in the train part"
                                    : fmt::format("whose answer is within --context {}", setup.options.config.context);
  require(encoded.size() > 0, "--data",
          fmt::format("the {} part has no example {}", kPartNames[static_cast<std::size_t>(part)], learnable));
  return encoded;
}

}  // namespace

TextData load_text_data(const TextOptions& options, const train::Checkpoint* saved) {
  Corpus corpus = load_corpus(options.data, options.task);
  const uint64_t checksum = checksum_of(corpus[Part::train]);
  require(saved == nullptr || saved->get<uint64_t>("examples") == checksum, "train --resume",
          fmt::format("the training examples in {} are not those that the run was started with", options.data));
  TextVocabulary vocabulary =
      saved != nullptr ? TextVocabulary(data::parse_tokenizer(saved->get<std::string>("tokenizer"), "checkpoint"))
                       : TextVocabulary::train(corpus[Part::train], options.config.vocab_size);
  std::vector<std::string> classes;
  if (options.task == TextTask::classify) classes = classes_of(corpus[Part::train]);
  return {std::move(corpus), std::move(vocabulary), std::move(classes), checksum};
}

TextTrainer::TextTrainer(const TextOptions& options, TextData data, const distributed::World& world)
    : corpus_(std::move(data.corpus)),
      setup_{seeded(options), std::move(data.vocabulary), std::move(data.classes)},
      training_(encode_part(setup_, corpus_, Part::train)),
      validation_(encode_part(setup_, corpus_, Part::validation)),
      loader_(training_,
              {.batch_size = options.batch_size, .sampler = data::by_length(training_.lengths(), options.batch_size)}),
      model_(options.task, setup_.model()),
      adam_(nn::parameters(model_), {.lr = options.lr, .weight_decay = options.weight_decay}),
      loop_(
          model_, adam_, loader_, [this](const EncodedBatch& batch) { return loss_of(model_, batch); },
          loop_options(data.checksum, world)) {}

train::LoopOptions TextTrainer::loop_options(uint64_t checksum, const distributed::World& world) {
  const TextOptions& o = setup_.options;
  const int64_t steps = (loader_.size() + o.accumulate - 1) / o.accumulate;
  return {.epochs = o.num_epochs,
          .max_steps = o.max_steps,
          .accumulate = o.accumulate,
          .clip_grad_norm = o.clip_grad,
          .dtype = o.products(),
          .schedule = o.schedule_of(o.config.hidden_size, o.limited(o.num_epochs * steps)),
          .evaluate = [this] { return train::Evaluation{.validation = validation_loss()}; },
          .evaluate_every = o.eval_interval,
          .save =
              [this, checksum](train::Checkpoint& out) {
                out.set("options", to_json(setup_.options));
                out.set("tokenizer", setup_.vocabulary.tokenizer().json());
                out.set("examples", checksum);
              },
          .world = &world,
          .wire = o.wire_type()};
}

double TextTrainer::validation_loss() const {
  const int64_t count = std::min(validation_.size(), setup_.options.eval_examples);
  const int64_t together = setup_.options.batch_size;
  double sum = 0, terms = 0;
  for (int64_t at = 0; at < count; at += together) {
    std::vector<int64_t> indices;
    for (int64_t i = at; i < std::min(count, at + together); ++i) indices.push_back(i);
    const train::BatchLoss found = loss_of(model_, validation_.batch(indices));
    sum += found.loss.item() * found.terms;
    terms += found.terms;
  }
  return sum / terms;
}

std::vector<std::string> TextTrainer::predict_part(Part part, int64_t count) {
  const nn::EvalMode eval(model_);
  return predict(model_, setup_, first_of(corpus_[part], count));
}

TextScores TextTrainer::scores(Part part, int64_t count, const std::vector<std::string>& predictions) const {
  return score(setup_.options.task, first_of(corpus_[part], count), predictions, setup_.classes);
}

TextOptions options_of(const train::Checkpoint& checkpoint, TextTask task) {
  return text_options_from_json("checkpoint", settings_json(checkpoint), task);
}

}  // namespace tapegrad::tasks
