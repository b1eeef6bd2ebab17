// The model that `tapegrad train` wrote, for a C++ program: docs/ship.md.
#pragma once

#include <tapegrad/nn/decoder.h>
#include <tapegrad/nn/generate_options.h>
#include <tapegrad/nn/transformer.h>
#include <tapegrad/train/data/tokenizer.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tapegrad::train {

/// A trained model in eval mode: a GPT or Llama with its tokenizer, or the Transformer of a sequence-to-sequence task.
/// A function that needs the other kind throws Error.
class TrainedRun {
 public:
  /// The word after `tapegrad train`: "gpt", "copy", "addition", "parser".
  const std::string& task() const { return task_; }

  // --- gpt ---
  /// The GPT or Llama, with the low-rank updates of a LoRA run; nn::DecoderNext and nn::generate_each take it.
  const nn::Decoder& decoder() const;
  const data::Tokenizer& tokenizer() const;
  /// The tokens that end a text; there may be none.
  const std::vector<int64_t>& ends() const { return ends_; }
  /// The tokens of a prompt, after the token that the model expects before a text.
  std::vector<int64_t> encode(std::string_view prompt) const;
  /// The text that follows the prompt, as `tapegrad generate gpt` prints it, but with the bytes of incomplete
  /// characters (data::valid_utf8 replaces them). It ends where a token ends the text, where
  /// options.stop returns true, or after options.max_new_tokens. Sampling uses options.generator. Error for a prompt
  /// without tokens.
  std::string generate(std::string_view prompt, nn::GenerateOptions options) const;

  // --- copy, addition, parser ---
  /// The encoder-decoder Transformer; nn::TransformerNext takes it.
  const nn::Transformer& transformer() const;
  /// Greedy answers of `length` tokens: source [B, S] int64 -> [B, length] int64. Source tokens that are 0 are hidden
  /// as padding if they were hidden in training.
  Tensor answers(const Tensor& source, int64_t length) const;

 private:
  friend TrainedRun load_run(const std::filesystem::path& folder);
  using Model = std::variant<nn::AnyDecoder, nn::Transformer>;
  TrainedRun(std::string task, Model model) : task_(std::move(task)), model_(std::move(model)) {}
  template <class T>
  const T& as(std::string_view expected) const;

  std::string task_;
  Model model_;
  std::unique_ptr<data::Tokenizer> tokenizer_;  // of a GPT or Llama
  std::vector<int64_t> ends_;
  bool hides_padding_ = true;  // of a Transformer
};

/// Loads the model of a run of `tapegrad train gpt`, `copy`, `addition` or `parser`: `folder` is the folder that --out
/// named, or a model file in it (best.safetensors). Error for a missing or damaged file, for the run of another kind
/// of task or of a program, and for a Hugging Face folder.
TrainedRun load_run(const std::filesystem::path& folder);

}  // namespace tapegrad::train
