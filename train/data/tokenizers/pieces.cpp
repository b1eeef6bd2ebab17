#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/train/data/detail/pieces.h>
#include <tapegrad/train/data/detail/special_tokens.h>
#include <tapegrad/train/data/utf8.h>

#include <algorithm>

namespace tapegrad::data {
namespace {

constexpr std::string_view kPieces = "tokenizer";

std::string with_spaces(std::string_view token) {
  std::string text;
  for (std::size_t at = 0; at < token.size();) {
    const bool space = token.substr(at).starts_with(kPieceSpace);
    text += space ? ' ' : token[at];
    at += space ? kPieceSpace.size() : 1;
  }
  return text;
}

}  // namespace

PieceTokenizer::PieceTokenizer(BytePairs pairs, PieceSpace space)
    : pairs_(std::move(pairs)), space_(space), ranks_(pairs_.merges) {
  byte_ids_.fill(-1);
  std::vector<bool> special(pairs_.tokens.size()), normalized(pairs_.tokens.size());
  for (const int64_t id : pairs_.normalized) normalized[static_cast<std::size_t>(id)] = true;
  std::vector<std::string> texts, normalized_texts;  // the other one's are empty, and match nothing
  for (const int64_t id : pairs_.specials) {
    special[static_cast<std::size_t>(id)] = true;
    const std::string& token = pairs_.tokens[static_cast<std::size_t>(id)];
    texts.push_back(normalized[static_cast<std::size_t>(id)] ? "" : token);
    normalized_texts.push_back(normalized[static_cast<std::size_t>(id)] ? normal(token) : "");
  }
  specials_ = std::make_unique<detail::SpecialTokens>(texts);
  normalized_ = std::make_unique<detail::SpecialTokens>(normalized_texts);
  shown_.reserve(pairs_.tokens.size());
  for (std::size_t id = 0; id < pairs_.tokens.size(); ++id) {
    const std::string& token = pairs_.tokens[id];
    shown_.push_back(token);
    if (special[id]) continue;
    if (const int byte = detail::named_byte(token); byte >= 0) {
      shown_.back() = static_cast<char>(byte);
      byte_ids_[static_cast<std::size_t>(byte)] = static_cast<int64_t>(id);
    } else {
      shown_.back() = with_spaces(token);
    }
    const bool single = !token.empty() && static_cast<std::size_t>(first_character(token).bytes) == token.size();
    if (single) pieces_.emplace(token, static_cast<int64_t>(id));
  }
  const auto* missing = std::ranges::find(byte_ids_, -1);
  if (missing != byte_ids_.end()) {
    fail(kPieces, "expected a token for every byte, got none for <0x{:02X}>", missing - byte_ids_.begin());
  }
}

PieceTokenizer::~PieceTokenizer() = default;

std::string PieceTokenizer::normal(std::string_view text) const {
  if (space_ != PieceSpace::each || text.empty()) return std::string(text);
  std::string out(kPieceSpace);
  for (const char c : text) c == ' ' ? out.append(kPieceSpace) : out.append(1, c);
  return out;
}

void PieceTokenizer::encode_ordinary(std::string_view text, bool at_start, std::vector<int64_t>& ids) const {
  if (text.empty()) return;
  const std::size_t from = ids.size();
  const auto put = [&](std::string_view character) {
    const auto found = pieces_.find(character);
    if (found != pieces_.end()) return ids.push_back(found->second);
    for (const char byte : character) ids.push_back(byte_ids_[static_cast<unsigned char>(byte)]);
  };
  if (space_ == PieceSpace::first && at_start && text[0] != ' ' && !text.starts_with(kPieceSpace)) put(kPieceSpace);
  for (std::size_t at = 0; at < text.size();) {
    const auto bytes = static_cast<std::size_t>(first_character(text.substr(at)).bytes);
    put(text[at] == ' ' ? kPieceSpace : text.substr(at, bytes));
    at += bytes;
  }
  detail::LongMerge()(ids, from, pairs_.merges, ranks_);
}

std::vector<int64_t> PieceTokenizer::encode(std::string_view text) const {
  std::vector<int64_t> ids;
  ids.reserve(text.size() / 3);
  const auto special = [&](std::size_t i) { ids.push_back(pairs_.specials[i]); };
  specials_->for_each_part(
      text,
      [&](std::string_view part, std::size_t begin) {
        const auto ordinary = [&](std::string_view piece, std::size_t at) {
          encode_ordinary(piece, begin + at == 0, ids);
        };
        normalized_->for_each_part(normal(part), ordinary, special);
      },
      special);
  return ids;
}

std::string_view PieceTokenizer::bytes(int64_t id) const {
  if (id < 0 || id >= size() || pairs_.tokens[static_cast<std::size_t>(id)].empty()) {
    fail(kPieces, "there is no token {} (ids are 0 to {})", id, size() - 1);
  }
  return shown_[static_cast<std::size_t>(id)];
}

std::vector<std::string> PieceTokenizer::special_tokens() const {
  std::vector<std::string> found;
  for (const int64_t id : pairs_.specials) found.push_back(pairs_.tokens[static_cast<std::size_t>(id)]);
  return found;
}

std::optional<int64_t> PieceTokenizer::end_of_text() const {
  for (const int64_t id : pairs_.specials) {
    const std::string& token = pairs_.tokens[static_cast<std::size_t>(id)];
    if (token == "</s>" || token == kEndOfText) return id;
  }
  return std::nullopt;
}

}  // namespace tapegrad::data
