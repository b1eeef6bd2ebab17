// The verb `tokenize`: text to token ids and back, new tokenizers, and token files.
#pragma once

#include <cstdint>
#include <string>

namespace tapegrad::tasks {

struct TokenizeRequest {
  std::string tokenizer;   // folder
  bool decode = false;     // ids to text
  std::string train;       // "bpe" or "char": make a tokenizer of the text
  int64_t vocab_size = 0;  // of a bpe one; 0: not given
  std::string out;         // folder for it
  std::string text;        // file; empty: standard input
  std::string save;        // token file to write instead of ids
};
// 0 done; BadRequest and Error as verbs.h tells.
int tokenize(const TokenizeRequest& request);

}  // namespace tapegrad::tasks
