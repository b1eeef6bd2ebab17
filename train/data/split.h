// The words that GPT-2 and Llama-3 cut a text into before they merge bytes.
#pragma once

#include <tapegrad/autograd/compiler.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tapegrad::data {

/// What GPT-2's pattern distinguishes.
enum class CharacterClass : uint8_t { other, letter, number, space };

/// The class of a code point by Unicode 16.0: general categories L and N, and the property White_Space.
CharacterClass class_of(uint32_t code);

/// The end of the word that starts at `from` < text.size(), by GPT-2's pattern
/// `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`.
/// Bytes that are not valid UTF-8 are neither letters, numbers nor spaces.
std::size_t word_end(std::string_view text, std::size_t from);

/// The first position >= max(from, 1) at which cutting the text does not change its words, whatever comes before or
/// after the text. npos if there is none. It is
/// - between two characters of different classes, unless the first one is white space or an apostrophe, and
/// - before the last of several white-space characters, which the next word begins with.
/// No special token that begins in `text` reaches over it or begins right after it.
std::size_t word_cut(std::string_view text, std::size_t from, std::span<const std::string> special_tokens = {});

/// Patterns by which byte-pair tokenizers cut a text into words.
enum class WordPattern : uint8_t { gpt2, llama3 };
/// its regular expression, as in tokenizer.json
inline constexpr std::string_view kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
/// The same by one of them.
std::size_t word_end(std::string_view text, std::size_t from, WordPattern pattern);

}  // namespace tapegrad::data
