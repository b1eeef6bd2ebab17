// The verb `tokenize`: text to token ids and back, new tokenizers, and token files.
#pragma once

#include <tapegrad/tasks/settings/settings.h>

#include <cstdint>
#include <optional>
#include <string>

namespace tapegrad::tasks {

struct TokenizeRequest {
  std::string tokenizer;             // folder or tokenizer.json
  bool decode = false;               // ids to text
  std::optional<std::string> train;  // "bpe" or "char": make a tokenizer of the text
  int64_t vocab_size = 0;            // of "bpe"; 0: not given
  int64_t sample_bytes = 0;          // of --text that "bpe" is trained on; 0: all
  uint64_t seed = 0;                 // of the sample
  std::string out;                   // folder for the new tokenizer
  std::string text;                  // file; empty: standard input
  std::string save;                  // token file to write instead of printing ids
  std::string verify;                // token file to check

  void list(Fields& fields);
};
// Returns 0. BadRequest and Error as in verbs.h.
int tokenize(const TokenizeRequest& request);

}  // namespace tapegrad::tasks
