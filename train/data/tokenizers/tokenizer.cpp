#include <fmt/format.h>
#include <tapegrad/train/data/tokenizer.h>
#include <tapegrad/train/data/utf8.h>

#include <utility>

namespace tapegrad::data {

EncodeError::EncodeError(std::string what, uint64_t at, int64_t tokens)
    : Error(fmt::format("[tokenizer] the {} at byte {} of the text is not among the {} tokens of the vocabulary", what,
                        at, tokens)),
      what_(std::move(what)),
      at_(at),
      tokens_(tokens) {}

std::string Tokenizer::decode(std::span<const int64_t> ids) const {
  std::string text;
  for (const int64_t id : ids) text += bytes(id);
  if (adds_space() && text.starts_with(' ')) text.erase(0, 1);
  return text;
}

std::string TextStream::push(int64_t id) {
  held_ += tokenizer_->bytes(id);
  if (std::exchange(at_start_, false) && tokenizer_->adds_space() && held_.starts_with(' ')) held_.erase(0, 1);
  std::string_view rest = held_;
  while (!rest.empty()) {
    const Character c = first_character(rest);
    if (c.cut) break;
    rest.remove_prefix(static_cast<std::size_t>(c.bytes));
  }
  const std::string whole = valid_utf8(std::string_view(held_).substr(0, held_.size() - rest.size()));
  held_ = std::string(rest);
  return whole;
}

std::string TextStream::finish() {
  at_start_ = true;
  return valid_utf8(std::exchange(held_, {}));
}

}  // namespace tapegrad::data
