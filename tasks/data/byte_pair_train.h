// Training of byte-pair tokenizers.
#pragma once

#include <tapegrad/tasks/data/tokenizer.h>

#include <cstdint>
#include <memory>
#include <string_view>

namespace tapegrad::data {

/// Trains byte pairs on a text (Sennrich, Haddow and Birch 2016, on bytes as GPT-2 does). The vocabulary is 256 bytes,
/// then the merges, then "<|endoftext|>". The most frequent pair is merged first; of equally frequent pairs, the one
/// with the smaller ids. Training ends early, with a smaller vocabulary, when no pair occurs twice. Error where
/// vocab_size is below 257.
std::unique_ptr<Tokenizer> train_byte_pairs(std::string_view text, int64_t vocab_size);

}  // namespace tapegrad::data
