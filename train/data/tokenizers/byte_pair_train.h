// Training of byte-pair tokenizers.
#pragma once

#include <tapegrad/train/data/tokenizer.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tapegrad::data {

/// Trains byte pairs on a text (Sennrich, Haddow and Birch 2016, on bytes as GPT-2 does). The vocabulary is 256 bytes,
/// then the merges, then "<|endoftext|>". The most frequent pair is merged first; of equally frequent pairs, the one
/// with the smaller ids. Training ends early, with a smaller vocabulary, when no pair occurs twice. Error if
/// vocab_size is below 257.
std::unique_ptr<Tokenizer> train_byte_pairs(std::string_view text, int64_t vocab_size);

/// The part of a text file that a tokenizer is trained on: random blocks of 64 KiB, sampled with the seed.
struct TextSample {
  uint64_t bytes = 0;  ///< in whole blocks; 0, or as many as the file has: all of it
  uint64_t seed = 0;   ///< of the choice of blocks
};

/// The same with a text file, or a sample of it, which is read in blocks, on all threads: memory holds its different
/// words, not the text. Blocks end between words, so that all of a file gives the same tokenizer as train_byte_pairs
/// (but words of more than 1 MiB are cut). The result does not depend on the number of threads.
std::unique_ptr<Tokenizer> train_byte_pairs_on_file(const std::string& path, int64_t vocab_size,
                                                    const TextSample& sample = {});

}  // namespace tapegrad::data
