// The settings of a GPT's training: one table of names, limits and help behind the command line, the checkpoint and the
// model file.
#pragma once

#include <tapegrad/nn/gpt.h>
#include <tapegrad/tasks/seq2seq/options.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

inline constexpr const char* kGPTDefaultPreset = "tiny";  // of the command

// The values are those of the preset "book": chapter 5's run.
struct GPTOptions {
  std::string preset = "book";
  std::string text;                // file; empty: a text that is made here
  std::string tokenizer = "char";  // folder, or "char"
  int64_t context_length = 256;
  int64_t emb_dim = 768;
  int64_t n_heads = 12;
  int64_t n_layers = 12;
  double drop_rate = 0.1;
  bool qkv_bias = false;
  bool tied_head = false;
  std::string positions = "learned";  // one of nn::kPositionNames
  int64_t num_epochs = 10;
  int64_t max_steps = 0;  // 0: all of the epochs
  int64_t batch_size = 2;
  int64_t accumulate = 1;
  int64_t stride = 0;  // 0: context_length
  double train_ratio = 0.9;
  bool recompute = false;
  int64_t eval_interval = 5;
  int64_t eval_batches = 5;
  std::string start_context = "Every effort moves you";
  int64_t sample_tokens = 50;
  uint64_t seed = 123;
  double lr = 4e-4;
  double weight_decay = 0.1;
  std::string schedule = "constant";
  int64_t warmup = 0;
  double factor = 1;
  double min_lr = 0;
  double clip_grad = 0;  // 0: none

  // Calls field(name, value, help) for every setting; name as on the command line, without dashes.
  void visit(auto&& field) {
    field("preset", preset,
          "sizes and rates to start from: book (chapter 5), tiny, char, gpt2, gpt2-medium, gpt2-large, gpt2-xl");
    field("text", text, "file to train on, a text or tokens (default: sums in words, made here)");
    field("tokenizer", tokenizer, "folder of a byte-pair vocabulary, or char: one token a character of the text");
    field("context-length", context_length, "tokens that the model sees at most, and that a window has");
    field("emb-dim", emb_dim, "width of the model; a multiple of the heads");
    field("n-heads", n_heads, "heads of every attention");
    field("n-layers", n_layers, "blocks");
    field("drop-rate", drop_rate, "probability of dropping, everywhere in the model");
    field("qkv-bias", qkv_bias, "biases on query, key and value");
    field("tied-head", tied_head, "the head's weight is the token table");
    field("positions", positions, "learned, sinusoidal, rope, shaw, t5, alibi, index or none");
    field("num-epochs", num_epochs, "passes over the text");
    field("max-steps", max_steps, "end after so many steps (0: after the last epoch)");
    field("batch-size", batch_size, "windows of a batch");
    field("accumulate", accumulate, "batches whose gradients make one step");
    field("stride", stride, "tokens from one window to the next (0: --context-length)");
    field("train-ratio", train_ratio, "share of the text, from its start, that is trained on; the rest validates");
    field("recompute", recompute, "compute each block again in backward: the same bits in less memory");
    field("eval-interval", eval_interval, "steps between two evaluations");
    field("eval-batches", eval_batches, "batches of each part that an evaluation reads");
    field("start-context", start_context,
          "what the sample after every epoch begins with (default: as the text; book: \"Every effort moves you\")");
    field("sample-tokens", sample_tokens, "tokens of that sample (0: none)");
    field("seed", seed, "of all random draws");
    field("lr", lr, "learning rate; with warmup-cosine the highest");
    field("weight-decay", weight_decay, "AdamW's");
    field("schedule", schedule,
          "constant; noam (rises over --warmup steps, then falls with their root); warmup-cosine (rises, then falls to "
          "--min-lr at the last step)");
    field("warmup", warmup, "steps in which the rate rises (noam: 4000 unless named)");
    field("factor", factor,
          "the noam schedule, --emb-dim^-0.5 min(step^-0.5, step --warmup^-1.5), is multiplied by it");
    field("min-lr", min_lr, "where the cosine ends");
    field("clip-grad", clip_grad, "largest norm of the gradients (0: any)");
  }

  nn::GPTConfig model(int64_t vocab_size) const;
};

// Sizes and rates of a preset. BadRequest for an unknown name.
GPTOptions gpt_options(const std::string& preset);
// `asked`'s settings that were `given` by name, over those of its preset.
GPTOptions with_preset(GPTOptions asked, const std::vector<std::string>& given);
// BadRequest that names the first option that cannot be.
void check(GPTOptions& options);

// As JSON, and back. Error when something is missing or of another kind.
// Guesses of the bytes of a model's parameters, and of what training takes at its peak.
double model_bytes(const nn::GPTConfig& config);
double training_bytes(const GPTOptions& options, int64_t vocab_size);

std::string to_json(GPTOptions options);
GPTOptions gpt_options_from_json(std::string_view where, std::string_view json);

}  // namespace tapegrad::tasks
