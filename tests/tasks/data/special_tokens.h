// Tokenizers with special tokens that are hard to find in a text.
#pragma once

#include <tapegrad/autograd/io/internal/json_value.h>
#include <tapegrad/tests/support/stored.h>
#include <tapegrad/train/data/tokenizer_files.h>

#include <initializer_list>
#include <memory>
#include <string>

namespace tapegrad::tests {

// GPT-2's vocabulary, its first 1000 merges.
inline const std::string kCut = data_path("gpt2_cut");

// The same with more special tokens.
inline std::unique_ptr<data::Tokenizer> cut_with(std::initializer_list<const char*> special) {
  const std::unique_ptr<data::Tokenizer> cut = data::load_tokenizer(kCut);
  Json json = Json::parse(cut->json());
  int64_t id = cut->size();
  for (const char* content : special) {
    json["added_tokens"].push_back({{"id", id++},
                                    {"content", content},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", false},
                                    {"normalized", false},
                                    {"special", true}});
  }
  return data::parse_tokenizer(json.dump(), "x");
}

}  // namespace tapegrad::tests
