// The data, the model and the loss of a run, what it says, and its attention maps.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/tasks/architecture/architecture.h>
#include <tapegrad/tasks/gpt/model.h>
#include <tapegrad/tasks/gpt/recipe.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/settings/output.h>
#include <tapegrad/train/data/tokenizer_files.h>
#include <tapegrad/train/data/utf8.h>
#include <tapegrad/train/drawing/svg.h>

#include <algorithm>

namespace tapegrad::tasks {
namespace {

constexpr std::string_view kSaveOption = "--save-hugging-face";

train::BatchLoss loss_of(const nn::Decoder& model, const data::TextBatch& batch) {
  const Tensor logits = model(batch.inputs), loss = cross_entropy(logits, batch.targets);
  const PauseRecording pause;
  const double accuracy = mean((argmax(logits, -1) == batch.targets).to(kFloat64)).item();
  const int64_t tokens = batch.targets.numel();
  return {.loss = loss, .accuracy = accuracy, .tokens = tokens, .terms = static_cast<double>(tokens)};
}

// Each process computes a share of the batches.
double mean_loss(const nn::Decoder& model, const data::TextLoader& loader, int64_t batches,
                 const distributed::World& world) {
  const int64_t count = std::min(batches, loader.size());
  data::TextLoader::Iteration iteration = loader.begin();
  data::TextBatch batch;
  std::vector<double> losses, tokens;
  for (int64_t i = 0; i < count && iteration.next(batch); ++i) {
    const bool own = i % world.size() == world.rank();
    losses.push_back(own ? cross_entropy(model(batch.inputs), batch.targets).item() : 0);
    tokens.push_back(static_cast<double>(batch.targets.numel()));
  }
  losses = world.all_reduce(tensor(losses, {std::ssize(losses)}), distributed::Reduce::only).to_vector<double>();
  train::MeanOfGroups mean;  // the last batch may be smaller
  for (std::size_t i = 0; i < losses.size(); ++i) mean.add(losses[i], tokens[i]);
  return mean.mean();
}

// BadRequest where the model cannot be written as Hugging Face's.
void check_hugging_face(const GPTOptions& options, const std::string& folder, const std::string& out,
                        std::string_view run) {
  if (options.llama() == nullptr && options.positions != "learned")
    bad_request(kSaveOption, "GPT-2's positions are learned, this run's are {}", options.positions);
  if (options.llama() == nullptr && options.attention.kind != "full")
    bad_request(kSaveOption, "expected full attention, as GPT-2 has, got {}", options.attention.kind);
  std::error_code code;
  if (fs::weakly_canonical(folder, code) == fs::weakly_canonical(out, code))
    bad_request(kSaveOption, "{} is also --out: both would have a {}", folder, train::kModelFile);
  const std::string there = as_bad_request(kSaveOption, [&] { return other_model_in(folder, run); });
  if (!there.empty())
    bad_request(
        kSaveOption,
        "expected a folder without a model, got one that has a {} (choose another folder, or move its files away)",
        there);
}

// A table of the epochs' samples, with the last validation loss of each; those between the first and the last, folded.
std::string samples_html(const train::Metrics& metrics, int64_t steps_per_epoch) {
  std::vector<std::string> rows;
  std::string loss;
  auto step = metrics.steps.begin();
  for (const train::EpochMetrics& epoch : metrics.epochs) {
    for (; step != metrics.steps.end() && step->step <= steps_per_epoch * (epoch.epoch + 1); ++step)
      if (step->validation_loss) loss = fmt::format("{:.4f}", *step->validation_loss);
    if (epoch.sample)
      rows.push_back(fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n", epoch.epoch + 1, loss,
                                 drawing::escape_markup(*epoch.sample)));
  }
  if (rows.empty()) return {};
  const auto table = [&](std::size_t begin, std::size_t end) {
    std::string out = fmt::format("<div class=\"card\"><table>\n<tr><th>{}</th><th>{}</th><th>{}</th></tr>\n",
                                  shown("epoch"), shown("validation loss"), shown("sample"));
    for (std::size_t i = begin; i < end; ++i) out += rows[i];
    return out + "</table></div>\n";
  };
  const std::string heading = fmt::format("<h2>{}</h2>\n", shown("Samples"));
  if (rows.size() < 4) return heading + table(0, rows.size());
  std::rotate(rows.begin() + 1, rows.end() - 1, rows.end());  // the last one after the first
  return fmt::format("{}{}<details><summary>{}</summary>\n{}</details>\n", heading, table(0, 2),
                     said("{} samples in between", rows.size() - 2), table(2, rows.size()));
}

}  // namespace

// --- attention maps ---

std::string token_label(int64_t id, const data::Tokenizer* tokenizer) {
  if (tokenizer == nullptr || id >= tokenizer->size()) return std::to_string(id);
  constexpr std::size_t kMost = 12;
  std::string out;
  std::size_t characters = 0;
  for (const char c : data::valid_utf8(tokenizer->decode({&id, 1}))) {
    const bool starts = (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;  // a character of UTF-8
    if (starts && ++characters > kMost) break;
    if (c == ' ' || c == '\n') {
      out += c == ' ' ? "\u00b7" : "\u21b5";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += {'\xe2', '\x90', static_cast<char>(0x80 + c)};  // its picture, U+2400 and following ones
    } else {
      out += c;
    }
  }
  return out;
}

std::vector<HeadMap> attend(const nn::Decoder& model, const std::vector<int64_t>& ids, const data::Tokenizer* tokenizer,
                            Tensor* logits) {
  nn::AttentionMaps maps;
  const Tensor out = model(tensor(ids, {1, static_cast<int64_t>(ids.size())}), nullptr, &maps);
  if (logits != nullptr) *logits = out[0];
  HeadMap like;
  like.row_axis = translatable("token (query)");
  like.column_axis = translatable("position of the key");
  for (std::size_t i = 0; i < ids.size(); ++i) {
    like.row_tokens.push_back(token_label(ids[i], tokenizer));
    like.column_tokens.push_back(std::to_string(i));
  }
  std::vector<HeadMap> heads;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    like.layer = static_cast<int64_t>(i);
    like.group = fmt::format("layer {}", like.layer);
    like.heading = said("layer {}", like.layer);
    for (HeadMap& head : heads_of(maps, i, like)) heads.push_back(std::move(head));
  }
  return heads;
}

// --- settings ---

void GPTRecipe::list_request(Fields& f) {
  Options in_run(f, Group::run);
  in_run("save-hugging-face", "also write the trained model into this folder as Hugging Face's GPT-2 or Llama",
         hugging_face_)
      .type("DIR");
  in_run("keep-best", "also write best.safetensors, the model with the lowest validation loss", keep_best_);
  in_run("with-masks", "also save the causal masks, att.mask, which tutorial 000's code expects in a model",
         with_masks_);
  in_run("untrained-losses", "print the losses before the first step, over all batches", untrained_losses_);
}

void GPTRecipe::adapt(const Given& given) {
  check_given(options_, given);
  given_ = given;
  if (!options_.from.empty()) start_ = load_start(options_, given);
  options_ = start_ ? start_with(*start_, options_, given) : with_preset(options_, given);
}

// --- data and model ---

void GPTRecipe::open(const train::Checkpoint* saved) {
  require(options_.llama() == nullptr || !with_masks_, "--with-masks", "expected a GPT, got a Llama");
  if (saved != nullptr) {
    data_ = load_gpt_data(options_, data::parse_tokenizer(saved->get<std::string>("tokenizer"), "checkpoint"),
                          saved->get<uint64_t>("text"));
  } else {
    data_ = load_gpt_data(options_, start_ ? take_tokenizer(*start_, options_, given_) : nullptr);
  }
}

void GPTRecipe::make() {
  std::optional<nn::init::Skip> skip;
  if (start_) skip.emplace();
  model_.reset();
  if (options_.llama() == nullptr) {
    model_.emplace(nn::GPTModel(options_.model(tokenizer().size())));
  } else {
    model_.emplace(nn::LlamaModel(options_.llama()->config));
  }
  skip.reset();
  if (start_) nn::load_state_dict(*model_, nn::state_dict(start_->model));
  start_.reset();
  add_lora(*model_, options_);
  freeze_parameters(nn::named_parameters(*model_), options_.freeze);
  (*model_)->recompute_blocks = options_.recompute;
}

void GPTRecipe::prepare(const RunRequest& request, const distributed::World& world) {
  world_ = &world;
  if (hugging_face_.empty() || world.rank() != 0) return;
  check_hugging_face(options_, hugging_face_, request.out, run());
  folder_ = take_folder(hugging_face_, kSaveOption);
  as_bad_request(kSaveOption, [&] { check_folder_files(folder_->path()); });
  folder_->reserve(4 * nn::count_parameters(*model_));
}

// --- training ---

std::unique_ptr<train::Loop> GPTRecipe::loop(optim::Optimizer& optimizer, train::LoopOptions options) {
  return std::make_unique<train::Loop>(
      *model_, optimizer, data_->train, [this](const data::TextBatch& batch) { return loss_of(**model_, batch); },
      std::move(options));
}

void GPTRecipe::begin_step(int64_t steps) {
  auto* const gpt = model_->as<nn::GPTModel>();
  if (gpt != nullptr && options_.attention.redraws(steps)) gpt->redraw_features();
}

train::Evaluation GPTRecipe::losses(int64_t batches) const {
  const double training = mean_loss(**model_, data_->train, batches, *world_);
  return {.validation = mean_loss(**model_, data_->validation, batches, *world_), .training = training};
}

train::Evaluation GPTRecipe::untrained_losses() {
  const Generator now = default_generator();
  manual_seed(options_.seed);
  const nn::EvalMode eval(*model_);
  const train::Evaluation found = losses(std::max(data_->train.size(), data_->validation.size()));
  default_generator() = now;
  return found;
}

std::vector<int64_t> GPTRecipe::continued(int64_t count) {
  std::vector<int64_t> ids = data_->start;
  const nn::EvalMode eval(*model_);
  nn::DecoderNext next(**model_);
  for (int64_t i = 0; i < count; ++i) {
    const Tensor scores = next.logits(tensor(ids, {1, static_cast<int64_t>(ids.size())}));
    ids.push_back(argmax(narrow(scores, -1, 0, tokenizer().size())).item<int64_t>());  // the rest is padding
  }
  return ids;
}

std::string GPTRecipe::sample() {
  std::string text = data::valid_utf8(tokenizer().decode(continued(options_.sample_tokens)));
  std::ranges::replace(text, '\n', ' ');
  return text;
}

// --- files ---

void GPTRecipe::save(train::Checkpoint& out) {
  out.set("tokenizer", tokenizer().json());
  out.set("text", data_->checksum);
}

void GPTRecipe::write_model(const fs::path& path, int64_t steps) {
  save_gpt(train::in_its_folder(path), *model_, options_, tokenizer(), steps, with_masks_);
  if (options_.lora_rank > 0 && path.filename() == train::kModelFile)
    save_gpt_adapter({path.parent_path(), train::kAdapterFolder}, *model_, options_);
}

void GPTRecipe::finish() {
  if (!folder_) return;
  const LlamaSettings* const llama = options_.llama();
  save_hugging_face(folder_->now(), *model_, tokenizer(), llama ? llama->ends : std::vector<int64_t>(), run());
}

// --- texts ---

std::string GPTRecipe::announcement(const train::Loop& loop) {
  const GPTOptions& o = options_;
  const std::string note =
      o.text.empty()
          ? "no --text was given: training on sums in words that are generated here (\"two plus five is seven.\")\n"
          : "";
  const int64_t parameters = nn::count_parameters(*model_), trained = nn::count_trainable_parameters(*model_);
  return fmt::format(
      "{}=== Training: gpt ({}) ===\n{} parameters{}, vocabulary of {}, {} of {}, {} of {} per step, seed {}", note,
      o.from.empty() ? o.preset : "from " + o.from, parameters,
      trained == parameters ? "" : fmt::format(" ({} are trained)", trained), (*model_)->vocab_size(),
      counted(o.num_epochs, "epoch"), counted(loop.steps_per_epoch(), "step"),
      counted(o.batch_size * std::min(o.accumulate, batches_per_epoch()), "window"), counted(o.seq_length, "token"),
      o.seed);
}

std::string GPTRecipe::before_first_step() {
  if (!untrained_losses_) return {};
  const train::Evaluation found = untrained_losses();
  return fmt::format("Untrained: Train loss {:.5f}, Val loss {:.5f}\n", *found.training, found.validation);
}

std::string GPTRecipe::evaluation_text(const train::StepMetrics& m, const train::Loop& loop) {
  return fmt::format("Ep {} (Step {:06}): Train loss {:.3f}, Val loss {:.3f}", loop.epoch() + 1, m.step - 1,
                     *m.train_loss, *m.validation_loss);
}

std::string GPTRecipe::epoch_text(train::EpochMetrics& epoch, const train::StepMetrics&, const train::Loop&) {
  if (options_.sample_tokens == 0) return {};
  epoch.sample = sample();
  return printable(*epoch.sample, "\n\t");
}

std::string GPTRecipe::maps_html() {
  constexpr int64_t kTokens = 24;
  std::vector<int64_t> ids = continued(kTokens);
  ids.resize(std::min<std::size_t>(static_cast<std::size_t>(std::min(kTokens, options_.sizes().context)), ids.size()));
  bool cut = false;
  const nn::EvalMode eval(*model_);
  return fmt::format("<h2>{}</h2>\n<p>{} {} {}</p>\n", shown("Attention"),
                     said("The start context and its greedy continuation."),
                     said("Each row has the attention weights of one token, which add up to 1."),
                     said("· is a space, ↵ a line break.")) +
         heads_html(drawable(attend(**model_, ids, &tokenizer()), cut));
}

std::vector<NextCall> GPTRecipe::next() {
  const std::string prompt = shell_word(data::valid_utf8(tokenizer().decode(data_->start)));
  return {{fmt::format("generate gpt --prompt {}", prompt), said("continue a text")},
          {fmt::format("attention gpt --prompt {}", prompt), said("plot its attention weights")}};
}

train::ReportText GPTRecipe::report() {
  return {.title = "GPT",
          .about = said("Seed {}.", options_.seed),
          .loss = std::string(shown("Loss (mean over the tokens)")),
          .accuracy = std::string(shown("Accuracy (share of the tokens)")),
          .guess = fixed::log(static_cast<double>((*model_)->vocab_size())),
          .sections = [this](const train::Metrics& metrics) {
            return samples_html(metrics, (batches_per_epoch() + options_.accumulate - 1) / options_.accumulate) +
                   maps_html() + section_of(architecture::architecture_of(*model_));
          }};
}

}  // namespace tapegrad::tasks
