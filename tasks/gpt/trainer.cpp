// The loss of a batch, evaluations and samples of a GPT in training.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/lora.h>
#include <tapegrad/tasks/data/tokenizer_files.h>
#include <tapegrad/tasks/data/utf8.h>
#include <tapegrad/tasks/gpt/attention.h>
#include <tapegrad/tasks/gpt/start_from.h>
#include <tapegrad/tasks/gpt/trainer.h>
#include <tapegrad/tasks/settings/run_request.h>

#include <algorithm>
#include <optional>

namespace tapegrad::tasks {
namespace {

GPTOptions seeded(const GPTOptions& options) {
  options.seed_draws();
  return options;
}

// The model of a run before its first step.
nn::AnyDecoder first_model(const GPTOptions& options, int64_t tokens, const nn::AnyDecoder* start) {
  std::optional<nn::init::Skip> skip;
  if (start != nullptr) skip.emplace();
  nn::AnyDecoder model = options.llama() == nullptr ? nn::AnyDecoder(nn::GPTModel(options.model(tokens)))
                                                    : nn::AnyDecoder(nn::LlamaModel(options.llama()->config));
  skip.reset();
  if (start != nullptr) nn::load_state_dict(model, nn::state_dict(*start));
  add_lora(model, options);
  freeze_parameters(nn::named_parameters(model), options.freeze);
  return model;
}

train::BatchLoss loss_of(const nn::Decoder& model, const data::TextBatch& batch) {
  const Tensor logits = model(batch.inputs), loss = cross_entropy(logits, batch.targets);
  const PauseRecording pause;
  const double accuracy = mean((argmax(logits, -1) == batch.targets).to(kFloat64)).item();
  const int64_t tokens = batch.targets.numel();
  return {.loss = loss, .accuracy = accuracy, .tokens = tokens, .terms = static_cast<double>(tokens)};
}

double mean_loss(const nn::Decoder& model, const data::TextLoader& loader, int64_t batches) {
  const int64_t count = std::min(batches, loader.size());
  data::TextLoader::Iteration iteration = loader.begin();
  data::TextBatch batch;
  train::MeanOfGroups mean;  // the last batch may be smaller
  for (int64_t i = 0; i < count && iteration.next(batch); ++i) {
    mean.add(cross_entropy(model(batch.inputs), batch.targets).item(), static_cast<double>(batch.targets.numel()));
  }
  return mean.mean();
}

}  // namespace

GPTTrainer::GPTTrainer(const GPTOptions& options, GPTData data, const nn::AnyDecoder* start,
                       const distributed::World& world)
    : options_(seeded(options)),
      data_(std::move(data)),
      model_(first_model(options_, data_.tokenizer->size(), start)),
      adam_(nn::trainable_parameters(model_), {.lr = options_.lr, .weight_decay = options_.weight_decay}),
      loop_(
          model_, adam_, data_.train, [this](const data::TextBatch& batch) { return loss_of(*model_, batch); },
          loop_options(world)) {
  model_->recompute_blocks = options_.recompute;
}

train::LoopOptions GPTTrainer::loop_options(const distributed::World& world) {
  const GPTOptions& o = options_;
  const int64_t steps_per_epoch = (data_.train.size() + o.accumulate - 1) / o.accumulate;
  return {.epochs = o.num_epochs,
          .max_steps = o.max_steps,
          .accumulate = o.accumulate,
          .clip_grad_norm = o.clip_grad,
          .dtype = o.products(),
          .schedule = o.schedule_of(o.sizes().width, o.limited(o.num_epochs * steps_per_epoch)),
          .evaluate = [this] { return losses(options_.eval_batches); },
          .evaluate_every = o.eval_interval,
          .patience = o.patience,
          .save =
              [this](train::Checkpoint& out) {
                out.set("options", to_json(options_));
                out.set("tokenizer", tokenizer().json());
                out.set("text", data_.checksum);
              },
          .begin_step =
              [this] {
                auto* const gpt = model_.as<nn::GPTModel>();
                if (gpt != nullptr && options_.attention.redraws(loop_.steps())) gpt->redraw_features();
              },
          .world = &world,
          .wire = o.wire_type()};
}

void GPTTrainer::restore(const train::Checkpoint& checkpoint) {
  require_text(options_, data_.checksum, text_of(checkpoint));
  loop_.restore(checkpoint);
}

train::Evaluation GPTTrainer::losses(int64_t batches) const {
  const double training = mean_loss(*model_, data_.train, batches);
  return {.validation = mean_loss(*model_, data_.validation, batches), .training = training};
}

train::Evaluation GPTTrainer::untrained_losses() {
  const Generator now = default_generator();
  manual_seed(options_.seed);
  const nn::EvalMode eval(model_);
  const train::Evaluation found = losses(std::max(data_.train.size(), data_.validation.size()));
  default_generator() = now;
  return found;
}

std::vector<int64_t> GPTTrainer::continued(int64_t count) {
  std::vector<int64_t> ids = data_.start;
  const nn::EvalMode eval(model_);
  nn::DecoderNext next(*model_);
  for (int64_t i = 0; i < count; ++i) {
    const Tensor scores = next.logits(tensor(ids, {1, static_cast<int64_t>(ids.size())}));
    ids.push_back(argmax(narrow(scores, -1, 0, tokenizer().size())).item<int64_t>());  // the rest is padding
  }
  return ids;
}

std::string GPTTrainer::sample() {
  std::string text = data::valid_utf8(tokenizer().decode(continued(options_.sample_tokens)));
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::vector<HeadMap> GPTTrainer::heads(const std::vector<int64_t>& ids) {
  const nn::EvalMode eval(model_);
  return attend(*model_, ids, &tokenizer());
}

GPTOptions GPTTrainer::options_of(const train::Checkpoint& checkpoint) {
  return gpt_options_from_json("checkpoint", settings_json(checkpoint));
}

uint64_t GPTTrainer::text_of(const train::Checkpoint& checkpoint) { return checkpoint.get<uint64_t>("text"); }

std::unique_ptr<data::Tokenizer> GPTTrainer::tokenizer_of(const train::Checkpoint& checkpoint) {
  return data::parse_tokenizer(checkpoint.get<std::string>("tokenizer"), "checkpoint");
}

}  // namespace tapegrad::tasks
