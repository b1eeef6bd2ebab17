// The settings of a GPT's training: the model's, the text's, and the common ones of training.
#pragma once

#include <tapegrad/nn/gpt.h>
#include <tapegrad/nn/llama.h>
#include <tapegrad/tasks/settings/model.h>
#include <tapegrad/tasks/settings/training.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tapegrad::tasks {

inline constexpr const char* kGPTTask = "gpt";
inline constexpr const char* kGPTDefaultPreset = "tiny";  // of the command

/// A Llama: its configuration and the tokens that begin and end a text, as its config.json has them.
struct LlamaSettings {
  nn::LlamaConfig config;
  std::optional<int64_t> begin = {};
  std::vector<int64_t> ends = {};
};

/// What every kind of model has.
struct DecoderSizes {
  int64_t vocab = 0;  // 0: the tokenizer's
  int64_t context = 0, width = 0, heads = 0, layers = 0;
};

/// The text, and how it is cut.
struct TextSettings {
  std::string text;                // file, or files with weights; empty: a text that is made here
  std::string tokenizer = "char";  // folder, or "char"
  int64_t seq_length = 0;          // tokens of a window; 0: the context
  int64_t stride = 0;              // 0: seq_length
  std::string window_order = "auto";
  double train_ratio = 0.9;

  void list(Fields& fields);
};

/// The model to start from, and what of it is trained.
struct StartSettings {
  std::string from;     // Hugging Face's folder, or a run; empty: none
  std::string adapter;  // of that model; merged first; empty: none
  std::vector<std::string> freeze;
  int64_t lora_rank = 0;  // 0: all parameters are trained
  double lora_alpha = 8;
  std::vector<std::string> lora_targets{"c_attn"};
  double lora_dropout = 0;
  bool lora_merge = false;

  void list(Fields& fields);
  /// BadRequest about an option that another one excludes or needs.
  void check() const;
};

/// The values here are those of the preset "book": chapter 5's run.
struct GPTOptions : TextSettings, StartSettings, TrainingSettings, PositionSettings {
  GPTOptions();

  std::string preset = "book";
  /// Of a GPT, the vocabulary may be 0, for the tokenizer's; its positions and attention are those of the settings:
  /// model() has them all. The positions of a Llama are "rope".
  std::variant<nn::GPTConfig, LlamaSettings> config = nn::GPTConfig{.vocab_size = 0, .context_length = 256};
  AttentionSettings attention;
  bool recompute = false;
  int64_t eval_interval = 5;
  int64_t eval_batches = 5;
  int64_t patience = 0;  // evaluations; 0: never stop early
  std::string start_context = "Every effort moves you";
  int64_t sample_tokens = 50;

  void list(Fields& fields);
  DecoderSizes sizes() const;
  /// The configuration of a GPT; an error of the program for a Llama.
  nn::GPTConfig& gpt() { return std::get<nn::GPTConfig>(config); }
  /// nullptr for a GPT.
  const LlamaSettings* llama() const { return std::get_if<LlamaSettings>(&config); }
  /// The GPT for a tokenizer with that many tokens.
  nn::GPTConfig model(int64_t tokens) const;
  /// Makes these the settings of a Llama.
  void set_llama(LlamaSettings settings);
};

/// Sizes and rates of a preset. BadRequest for an unknown name.
GPTOptions gpt_options(const std::string& preset);
/// The settings of `asked` that were `given` by name, over those of its preset.
GPTOptions with_preset(GPTOptions asked, const Given& given);
/// Fills in the settings that follow from others: those whose 0 means another value.
void fill_in(GPTOptions& options);
/// Fills in, and checks. BadRequest that names the first option that is not possible.
void resolve(GPTOptions& options);
/// BadRequest about an option that is `given` without another one that it needs.
void check_given(const GPTOptions& options, const Given& given);

/// Estimates of the bytes of a model with its parameters, and of what training takes at its peak, in each of so many
/// processes.
double model_bytes(const nn::GPTConfig& config);
double model_bytes(const nn::LlamaConfig& config);
double training_bytes(const GPTOptions& options, int64_t tokens, int64_t processes);

/// As JSON, and back, resolved. Error about `where` as from_json says.
std::string to_json(GPTOptions options);
GPTOptions gpt_options_from_json(std::string_view where, std::string_view text);

}  // namespace tapegrad::tasks
