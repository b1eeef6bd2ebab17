// Tokenizers in files: in our own format, in Hugging Face's, and in GPT-2's.
#pragma once

#include <tapegrad/train/data/tokenizer.h>

#include <memory>
#include <string>
#include <string_view>

namespace tapegrad::data {

/// Reads a tokenizer: a tokenizer.json, or a folder with tokenizer.json, vocab.json and merges.txt, or encoder.json and
/// vocab.bpe (the first of these that exists). Error if there is none, for damaged files, and for kinds other than
/// GPT-2's byte pairs and character tokenizers.
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& path);
/// Whether a folder has one of these files.
bool has_tokenizer(const std::string& folder);

/// The tokenizer in the text of a tokenizer.json; an Error names it `where`.
std::unique_ptr<Tokenizer> parse_tokenizer(std::string_view json, const std::string& where);

/// Writes folder/tokenizer.json, and creates the folder if necessary.
void save_tokenizer(const Tokenizer& tokenizer, const std::string& folder);

}  // namespace tapegrad::data
