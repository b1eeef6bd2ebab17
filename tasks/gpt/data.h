// The text that a GPT is trained on.
#pragma once

#include <tapegrad/tasks/gpt/options.h>
#include <tapegrad/train/data/tokenizer.h>
#include <tapegrad/train/data/windows.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tapegrad::tasks {

// A text as a GPT reads it: a part to train on and a part to validate with.
struct GPTData {
  std::unique_ptr<data::Tokenizer> tokenizer;
  data::TextLoader train, validation;
  std::vector<int64_t> start;  // what samples begin with
  uint64_t checksum;           // of the text
};
// Reads, splits and encodes what the options name; `tokenizer`, where it is given, instead of the tokenizer that they
// name. BadRequest for files that are missing, texts that are too short, and a text whose checksum is not the
// `expected` one.
GPTData load_gpt_data(const GPTOptions& options, std::unique_ptr<data::Tokenizer> tokenizer = {},
                      std::optional<uint64_t> expected = {});
// BadRequest about --resume unless these checksums are equal: a run continues with its own text.
void require_text(const GPTOptions& options, uint64_t found, uint64_t expected);
// What is trained on where no text is named: "three plus four is seven." and the like, every sum up to twenty.
std::string made_text();

}  // namespace tapegrad::tasks
