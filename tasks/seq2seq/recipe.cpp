// The loss of a batch, and what a run says.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/tasks/architecture/architecture.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/seq2seq/recipe.h>
#include <tapegrad/tasks/seq2seq/sample.h>
#include <tapegrad/train/drawing/tables.h>

#include <algorithm>
#include <charconv>

namespace tapegrad::tasks {
namespace {

constexpr int64_t kSamplesEvery = 5;  // epochs, as the tutorial does
constexpr int64_t kShownRows = 10;

std::string to_hex(std::span<const std::byte> bytes) {
  const auto* const first = reinterpret_cast<const unsigned char*>(bytes.data());
  return fmt::format("{:02x}", fmt::join(first, first + bytes.size(), ""));
}

std::vector<std::byte> from_hex(const fs::path& path, std::string_view text) {
  std::vector<std::byte> bytes;
  for (const char* at = text.data(); at + 1 < text.data() + text.size(); at += 2) {
    uint8_t byte = 0;
    if (std::from_chars(at, at + 2, byte, 16).ptr != at + 2)
      fail("model", "{}: the state of its task is not written in hexadecimal digits", path.string());
    bytes.push_back(std::byte{byte});
  }
  return bytes;
}

}  // namespace

void Seq2SeqRecipe::adapt(const Given& given) {
  apply_preset(options_, given);
  options_.info->adapt(options_, given);
}

void Seq2SeqRecipe::open_trained(const fs::path& path, const ModelText& text) {
  open(nullptr);
  const auto state = text.find("task_state");
  if (state != text.end()) task_->set_state(from_hex(path, state->second));
}

void Seq2SeqRecipe::override_examples(RunOptions asked, const Given& given) {
  const std::string before = json();
  override_with(fields_of(options_), example_fields(asked), given);
  resolve();
  if (json() != before) task_ = options_.info->make(options_);
}

optim::AdamWOptions Seq2SeqRecipe::optimizer() {
  return {.lr = options_.lr, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-9, .weight_decay = options_.weight_decay};
}

// A run that is shorter than the warm-up ends while the rate rises.
optim::Schedule Seq2SeqRecipe::schedule(int64_t steps) {
  return options_.schedule_of(options_.config.hidden_size, std::max(steps, options_.warmup + 1));
}

std::unique_ptr<train::Loop> Seq2SeqRecipe::loop(optim::Optimizer& optimizer, train::LoopOptions options) {
  draws_.emplace(Draws{*task_, *this});
  return std::make_unique<train::Loop>(
      *model_, optimizer, *draws_, [this](const Batch& batch) { return loss_of(batch); }, std::move(options));
}

void Seq2SeqRecipe::begin_step(int64_t steps) {
  if (options_.attention.redraws(steps)) model_->redraw_features();
}

train::BatchLoss Seq2SeqRecipe::loss_of(const Batch& batch) {  // source [B, S], target [B, T]
  if (!causal_.defined() || causal_.size(0) != batch.target.size(1)) causal_ = nn::causal_mask(batch.target.size(1));
  const Tensor outputs =  // [B, T, V]
      (*model_)(batch.source, shifted(*task_, batch.target), task_->source_mask(batch.source), causal_);
  const Tensor loss = task_->loss(outputs, batch.target);
  const PauseRecording pause;
  last_batch_ = batch;
  last_predicted_ = predicted_tokens(*task_, outputs, batch.target);
  return {.loss = loss,
          .accuracy = accuracy(*task_, last_predicted_, batch.target),
          .tokens = batch.target.numel(),
          .terms = static_cast<double>(batch.target.size(0))};
}

ModelText Seq2SeqRecipe::model_text() { return {{"task_state", to_hex(task_->state())}}; }

std::string Seq2SeqRecipe::announcement(const train::Loop&) {
  const RunOptions& o = options_;
  return fmt::format("=== Training: {} ===\n{} parameters, {} of {}, {} per step, seed {}", o.info->name,
                     nn::count_parameters(*model_), counted(o.num_epochs, "epoch"), counted(o.steps_per_epoch, "step"),
                     counted(o.batch_size * o.accumulate, "sequence"), o.seed);
}

// The line of an epoch, and every fifth epoch some examples of its last batch.
std::string Seq2SeqRecipe::epoch_text(train::EpochMetrics& epoch, const train::StepMetrics& last,
                                      const train::Loop& loop) {
  std::string text = fmt::format("Epoch {}, Average Loss: {:.4f}, Final Accuracy: {:.4f}, Learning Rate: {:.6f}",
                                 epoch.epoch, epoch.loss, epoch.accuracy, last.lr);
  if (epoch.epoch % kSamplesEvery != 0 && !loop.finished()) return text;
  std::string samples = task_->samples_text(answers_of(*task_, last_batch_, last_predicted_, kShownRows));
  if (!samples.empty()) samples.pop_back(), text += '\n' + samples;
  return text;
}

// The last step's loss as the tutorial shows it.
std::string Seq2SeqRecipe::end_text(const train::StepMetrics& last) {
  std::string out = fmt::format("\n=== Loss calculation details (step {}) ===\n", last.step);
  std::size_t widest = std::string_view("predicted").size();
  const std::vector<Answer> rows = answers_of(*task_, last_batch_, last_predicted_, kShownRows);
  for (const Answer& row : rows)
    widest = std::max({widest, show_tokens(*task_, row.output).size(), show_tokens(*task_, row.target).size()});
  const std::string heading = fmt::format("exact match (first {} of the batch)", rows.size());
  const bool side_by_side = 2 * widest + 4 + heading.size() <= drawing::kTerminalWidth;
  out += side_by_side ? fmt::format("{:<{}}  {:<{}}  {}\n", "predicted", widest, "target", widest, heading)
                      : fmt::format("predicted, below it the target; {}\n", heading);
  for (const Answer& row : rows) {
    const std::string predicted = show_tokens(*task_, row.output), target = show_tokens(*task_, row.target);
    const char* const right = row.right() ? "right" : "wrong";
    out += side_by_side ? fmt::format("{:<{}}  {:<{}}  {}\n", predicted, widest, target, widest, right)
                        : drawing::wrapped(fmt::format("{} {}\n      {}\n", right, predicted, target));
  }
  return out + fmt::format("Calculated loss: {:.4f}\nCalculated accuracy: {:.4f}\n", last.loss, last.accuracy);
}

std::vector<NextCall> Seq2SeqRecipe::next() {
  std::vector<NextCall> calls = Recipe::next();
  calls.emplace_back(fmt::format("attention {}", name()), said("plot its attention weights"));
  calls.emplace_back(fmt::format("explain {}", name()), said("see its data, masks and loss, step by step"));
  return calls;
}

// The loss of a guess that takes all tokens for equally likely is known where all answers have one length.
train::ReportText Seq2SeqRecipe::report() {
  Generator generator(0);
  const double guess = task_->padding() ? 0
                                        : static_cast<double>(task_->draw(1, generator).target.numel()) *
                                              fixed::log(static_cast<double>(options_.config.vocab_size));
  return {.title = said("{} task", name()),
          .about = said("A Transformer with encoder and decoder, seed {}.", options_.seed),
          .loss = std::string(shown("Loss (sum over the tokens, mean over the sequences)")),
          .accuracy = std::string(shown("Accuracy (share of sequences that are an exact match)")),
          .unit = "target tokens",
          .guess = guess,
          .target = train::Target{.name = "exact match", .least = task_->test_target()},
          .others = task_->printed(),
          .others_name = said("the tutorial's run"),
          .sections = [this](const train::Metrics&) {
            return report_sections(*task_, options_, *model_) +
                   section_of(architecture::architecture_of(*model_, said("Transformer of the {} task", name())));
          }};
}

}  // namespace tapegrad::tasks
