// Declares and checks the settings of a GPT's training, and holds its presets.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/nn/llama_hugging_face.h>
#include <tapegrad/tasks/gpt/options.h>

#include <algorithm>
#include <utility>

namespace tapegrad::tasks {
namespace {

constexpr int64_t kNoamWarmup = 4000;  // Vaswani et al. 2017
constexpr std::string_view kWindowOrders[] = {"auto", "pytorch", "permutation"};
constexpr Limits kShare{.least = 0, .most = 1, .open_below = true, .open_above = true};

// Measured memory of a block in addition to its parameters' elements: modules, names, and a block of memory for each
// of 16 parameters. Training takes four times as much, as it does for the elements: gradients and two moments.
constexpr double kBytesPerBlock = 5'000;

constexpr const char* kLlamaKey = "llama";  // in JSON
constexpr int64_t kLlamaWindow = 1024;      // Llama's contexts are longer than what trains in usual memory

// What the sizes of a preset alone do not decide.
void set_rates(GPTOptions& o) {
  if (o.preset == "book") return;
  const bool small = o.preset == "tiny" || o.preset == "char";
  o.start_context.clear();
  o.batch_size = small ? 16 : 4;
  o.num_epochs = small ? 20 : 1;
  o.lr = small ? 1e-3 : 4e-4;
  o.schedule = "warmup-cosine";
  o.warmup = small ? 50 : 200;
  o.clip_grad = 1;
  o.eval_interval = small ? 50 : 100;
}

// The model's, as options. A GPT's number of key heads is none, and a vocabulary of 0 tokens is the tokenizer's.
Fields model_fields(nn::GPTConfig& config) {
  Fields f = fields_of(config);
  f.erase("n_kv_heads");
  Setting& vocabulary = f["vocab_size"];
  vocabulary.help = "size of the model's vocabulary, at least the tokenizer's";
  vocabulary.limits = kCountOrNone;
  vocabulary.special = "0: the tokenizer's";
  return f;
}

// A Llama's have the names of a GPT's.
Fields model_fields(LlamaSettings& llama) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"vocab_size", "vocab_size"},      {"context_length", "max_position_embeddings"},
      {"emb_dim", "hidden_size"},        {"n_heads", "num_attention_heads"},
      {"n_layers", "num_hidden_layers"}, {"drop_rate", "attention_dropout"},
      {"qkv_bias", "attention_bias"},    {"tied_head", "tie_word_embeddings"}};
  nn::GPTConfig gpt;
  const Fields names = model_fields(gpt), values = fields_of(llama.config);
  Fields f;
  for (const auto& [name, theirs] : kNames) f.add({names.find(name)->setting, values.find(theirs)->value});
  return f;
}

// The text of its config.json, and back.
std::string text_of(const LlamaSettings& llama) {
  return nn::to_hugging_face_config(llama.config, llama.begin, llama.ends);
}
LlamaSettings llama_of_text(const std::string& text, std::string_view where) {
  const Json json = json::parse(text, [&](const std::string& why) { fail(where, why); });
  LlamaSettings llama{.config = nn::llama_config_of_hugging_face(text, where),
                      .ends = nn::ends_of_hugging_face(text, where)};
  if (const Json& begin = json["bos_token_id"]; begin.is_number_unsigned()) llama.begin = begin.get<int64_t>();
  return llama;
}

}  // namespace

GPTOptions::GPTOptions() {
  num_epochs = 10;
  batch_size = 2;
  seed = 123;
  lr = 4e-4;
  weight_decay = 0.1;
  warmup = 0;
}

void TextSettings::list(Fields& f) {
  Options in_data(f, Group::data);
  in_data("text",
          "text or token file to train on (default: sums in words, generated here), or several token files, "
          "each with the number of times that its windows occur in an epoch: a.tokens:2,b.tokens:0.5",
          text)
      .type("FILE[:WEIGHT],...");
  in_data("tokenizer", "folder of a byte-pair vocabulary, or char: one token per character of the text", tokenizer)
      .type("DIR");
  in_data("seq-length", "tokens per window of the text", seq_length, kCountOrNone)
      .special("0: the value of --context-length");
  in_data("stride", "tokens from the start of one window to the next", stride, kCountOrNone)
      .special("0: the value of --seq-length");
  in_data("window-order",
          "random order of the windows in an epoch: pytorch, the order of PyTorch's DataLoader, a list in memory; or "
          "permutation, which is computed and takes no memory; auto: pytorch for one text, permutation for several",
          window_order)
      .choices(kWindowOrders);
  in_data("train-ratio", "share of the text, from its start, to train on; the rest is for validation", train_ratio,
          kShare);
}

void StartSettings::list(Fields& f) {
  Options in_start(f, Group::start);
  in_start("from", "start from this model: a Hugging Face folder with GPT-2 or Llama, or a run's folder or model", from,
           Limits{}, !from.empty())
      .type("FILE_OR_DIR");
  in_start("adapter", "folder of an adapter in PEFT's format, merged into the weights of --from before training",
           adapter, Limits{}, !adapter.empty())
      .type("DIR");
  in_start("freeze", "freeze the parameters whose names match this pattern; may be repeated", freeze, Limits{},
           !freeze.empty());
  const bool lora = lora_rank > 0;
  in_start("lora-rank", "train updates of this rank, and freeze the rest (LoRA)", lora_rank, kCountOrNone)
      .special("0: train the parameters themselves");
  in_start("lora-alpha", "the updates are multiplied by this value divided by the rank", lora_alpha, kPositive, lora);
  in_start("lora-targets",
           "linear layers that get updates: names or patterns, PEFT's for GPT-2 (Llama: q_proj and v_proj by "
           "default) or tapegrad's",
           lora_targets, Limits{}, lora);
  in_start("lora-dropout", "dropout probability of the updates' inputs", lora_dropout, kProbability, lora);
  in_start("lora-merge", "write the model with the updates added to its weights", lora_merge, Limits{}, lora);
}

void StartSettings::check() const {
  require(adapter.empty() || !from.empty(), "--adapter", "expected --from, the model that it belongs to, got none");
  require(freeze.empty() || lora_rank == 0, "--freeze",
          "expected no --lora-rank, which freezes the whole model, got both");
  require(lora_rank == 0 || !lora_targets.empty(), "--lora-targets", "expected names of layers, got none");
}

void GPTOptions::list(Fields& f) {
  Options in_model(f, Group::model);
  Options in_training(f, Group::training);
  in_model("preset", "default sizes and rates", preset).choices(nn::gpt_presets());
  add_fields(f, std::visit([](auto& c) { return model_fields(c); }, config));
  add_fields(f, fields_of(attention));
  in_model("recompute", "gradient checkpointing: compute each block again in backward; same results, less memory",
           recompute);
  PositionSettings::list(f);
  TextSettings::list(f);
  StartSettings::list(f);
  TrainingSettings::list(f);
  in_training("eval-interval", "steps between two evaluations", eval_interval, kCount);
  in_training("eval-batches", "batches of each split of the text per evaluation", eval_batches, kCount);
  in_training("patience", "stop after N evaluations in a row without a lower validation loss", patience, kCountOrNone)
      .special("0: never");
  in_training(
      "start-context",
      "start of the sample after each epoch (default: the text's first tokens; book: \"Every effort moves you\")",
      start_context);
  in_training("sample-tokens", "tokens of that sample", sample_tokens, kCountOrNone).special("0: no sample");
}

DecoderSizes GPTOptions::sizes() const {
  if (const LlamaSettings* l = llama()) {
    const nn::LlamaConfig& c = l->config;
    return {c.vocab_size, c.max_position_embeddings, c.hidden_size, c.num_attention_heads, c.num_hidden_layers};
  }
  const auto& c = std::get<nn::GPTConfig>(config);
  return {c.vocab_size, c.context_length, c.emb_dim, c.n_heads, c.n_layers};
}

nn::GPTConfig GPTOptions::model(int64_t tokens) const {
  auto model = std::get<nn::GPTConfig>(config);
  if (model.vocab_size == 0) model.vocab_size = tokens;
  model.positions = kind();
  model.position_options = position_options;
  model.attention = attention.choice();
  return model;
}

void GPTOptions::set_llama(LlamaSettings settings) {
  config = std::move(settings);
  positions = "rope";
}

GPTOptions gpt_options(const std::string& preset) {
  GPTOptions options;
  options.preset = preset;
  options.config = as_bad_request("--preset", [&] { return nn::gpt_preset(preset); });
  options.gpt().vocab_size = 0;
  set_rates(options);
  return options;
}

GPTOptions with_preset(GPTOptions asked, const Given& given) {
  GPTOptions options = gpt_options(asked.preset);
  override_with(fields_of(options), fields_of(asked), given);
  if (options.schedule == "noam" && !contains(given, "warmup")) options.warmup = kNoamWarmup;
  return options;
}

void fill_in(GPTOptions& o) {
  const int64_t context = o.sizes().context;
  if (o.seq_length == 0) o.seq_length = o.llama() == nullptr ? context : std::min(context, kLlamaWindow);
  if (o.stride == 0) o.stride = o.seq_length;
}

void resolve(GPTOptions& o) {
  check_limits(fields_of(o));
  o.TrainingSettings::check();
  const DecoderSizes sizes = o.sizes();
  if (o.llama() == nullptr) {
    require(sizes.width % sizes.heads == 0, "--emb-dim", "{} is not divisible by --n-heads {}", sizes.width,
            sizes.heads);
    o.PositionSettings::check(sizes.width, sizes.width / sizes.heads,
                              fmt::format("--emb-dim {} over --n-heads {}", sizes.width, sizes.heads));
    o.attention.check(nn::relative_kind(o.kind(), o.position_options), true);
  }
  fill_in(o);
  require(o.seq_length <= sizes.context, "--seq-length", "expected at most --context-length {}, got {}", sizes.context,
          o.seq_length);
  o.StartSettings::check();
}

void check_given(const GPTOptions& o, const Given& given) {
  for (const std::string& name : given) {
    const bool of_lora = name.starts_with("lora-") && name != "lora-rank";
    require(!of_lora || o.lora_rank > 0, fmt::format("--{}", name), "expected --lora-rank, got none");
  }
}

double model_bytes(const nn::GPTConfig& config) {
  return 4 * static_cast<double>(config.parameter_count()) + kBytesPerBlock * static_cast<double>(config.n_layers);
}

double model_bytes(const nn::LlamaConfig& config) {
  return 4 * static_cast<double>(config.parameter_count()) +
         kBytesPerBlock * static_cast<double>(config.num_hidden_layers);
}

double training_bytes(const GPTOptions& o, int64_t tokens_of_tokenizer, int64_t processes) {
  const DecoderSizes sizes = o.sizes();
  const double model =
      o.llama() == nullptr ? model_bytes(o.model(tokens_of_tokenizer)) : model_bytes(o.llama()->config);
  const auto c = static_cast<double>(sizes.width), tokens = static_cast<double>(o.batch_size * o.seq_length);
  const auto layers = static_cast<double>(sizes.layers), heads = static_cast<double>(sizes.heads);
  const auto vocab = static_cast<double>(sizes.vocab > 0 ? sizes.vocab : tokens_of_tokenizer);
  // Numbers that a block keeps per token for backward, with attention's weights.
  const double block = 18 * c + 2 * heads * static_cast<double>(o.attention.keys_per_query(o.seq_length));
  const double kept = o.recompute ? layers * c + block : layers * block;
  const double copies = o.copies_of_parameters(processes);
  return (o.lora_rank > 0 ? 1 + 0.025 * copies : copies) * model + 4 * tokens * (kept + 2 * vocab);
}

std::string to_json(GPTOptions options) {
  const std::string text = to_json(kGPTTask, fields_of(options));
  if (options.llama() == nullptr) return text;
  Json all = Json::parse(text);
  all[kLlamaKey] = text_of(*options.llama());
  return json::text_of(all);
}

GPTOptions gpt_options_from_json(std::string_view where, std::string_view text) {
  GPTOptions options;
  const Json all = json::parse(text, [&](const std::string& why) { fail(where, "the settings {}", why); });
  if (const Json* const llama = all.find(kLlamaKey)) {
    if (!llama->is_string()) fail(where, "expected a text for llama, got {}", json::shown(*llama));
    options.set_llama(llama_of_text(llama->get<std::string>(), where));
  }
  from_json(where, text, kGPTTask, fields_of(options));
  resolve(options);
  return options;
}

}  // namespace tapegrad::tasks
