#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/train/data/detail/special_tokens.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace tapegrad::data::detail {
namespace {

// Each byte takes about 50 bytes of memory.
std::span<const std::string> of_limited_size(std::span<const std::string> tokens) {
  constexpr std::size_t kMost = 10'000'000;
  std::size_t bytes = 0;
  for (const std::string& token : tokens) bytes += token.size();
  if (bytes > kMost) fail("tokenizer", "the added tokens have {} bytes, at most {} are allowed", bytes, kMost);
  return tokens;
}

}  // namespace

WordMatcher::WordMatcher(std::span<const std::string> words, bool reversed) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    int32_t at = 0;
    for (std::size_t k = 0; k < word.size(); ++k) at = add_child(at, word[reversed ? word.size() - 1 - k : k]);
    int32_t& ends = nodes_[static_cast<std::size_t>(at)].word;
    if (at != 0 && ends < 0) ends = static_cast<int32_t>(i);
  }
  link();
  for (int byte = 0, starts = 0; byte < 256; ++byte)
    if (first_[static_cast<std::size_t>(byte)] != 0) only_ = starts++ == 0 ? byte : -1;
}

std::size_t WordMatcher::last_start(std::string_view text) const {
  if (only_ >= 0) {  // as usual: special tokens end in '>'
    const void* const found = ::memrchr(text.data(), only_, text.size());
    return found == nullptr ? 0 : static_cast<std::size_t>(static_cast<const char*>(found) - text.data()) + 1;
  }
  std::size_t end = text.size();
  while (end > 0 && first_[static_cast<unsigned char>(text[end - 1])] == 0) --end;
  return end;
}

int32_t WordMatcher::child(int32_t node, char byte) const {
  if (node == 0) {
    const int32_t found = first_[static_cast<unsigned char>(byte)];
    return found == 0 ? -1 : found;
  }
  int32_t found = nodes_[static_cast<std::size_t>(node)].child;
  while (found >= 0 && nodes_[static_cast<std::size_t>(found)].byte != byte)
    found = nodes_[static_cast<std::size_t>(found)].sibling;
  return found;
}

int32_t WordMatcher::add_child(int32_t node, char byte) {
  const int32_t found = child(node, byte);
  if (found >= 0) return found;
  const auto added = static_cast<int32_t>(nodes_.size());
  Node& parent = nodes_[static_cast<std::size_t>(node)];
  const Node fresh{
      .child = -1, .sibling = parent.child, .shorter = 0, .word = -1, .depth = parent.depth + 1, .byte = byte};
  parent.child = added;
  if (node == 0) first_[static_cast<unsigned char>(byte)] = added;
  nodes_.push_back(fresh);
  return added;
}

// Links each node with its longest proper end that is a node, shorter nodes first.
void WordMatcher::link() {
  std::vector<int32_t> order{0};
  order.reserve(nodes_.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const int32_t parent = order[i];
    for (int32_t c = nodes_[static_cast<std::size_t>(parent)].child; c >= 0;
         c = nodes_[static_cast<std::size_t>(c)].sibling) {
      Node& node = nodes_[static_cast<std::size_t>(c)];
      if (parent != 0) node.shorter = next(nodes_[static_cast<std::size_t>(parent)].shorter, node.byte);
      if (node.word < 0) node.word = word(node.shorter);
      order.push_back(c);
    }
  }
}

int32_t WordMatcher::next(int32_t state, char byte) const {
  while (true) {
    const int32_t found = child(state, byte);
    if (found >= 0) return found;
    if (state == 0) return 0;
    state = nodes_[static_cast<std::size_t>(state)].shorter;
  }
}

SpecialTokens::SpecialTokens(std::span<const std::string> tokens)
    : forward_(of_limited_size(tokens), false), backward_(tokens, true) {
  for (const std::string& token : tokens) {
    sizes_.push_back(token.size());
    longest_ = std::max(longest_, token.size());
  }
}

std::vector<SpecialTokens::Place> SpecialTokens::find(std::string_view text) const {
  std::vector<Place> places;
  if (longest_ == 0) return places;
  int32_t state = 0;
  for (std::size_t at = text.size(); at > 0;) {
    if (state == 0) at = backward_.last_start(text.substr(0, at));
    if (at == 0) break;
    state = backward_.next(state, text[--at]);
    if (const int32_t found = backward_.word(state); found >= 0) places.push_back({at, found});
  }
  return places;
}

bool SpecialTokens::is_near(std::string_view text, std::size_t at) const {
  constexpr std::size_t kAfter = 4;
  if (longest_ == 0) return false;
  const std::size_t begin = at - std::min(at, longest_ - 1), end = std::min(text.size(), at + kAfter + longest_);
  int32_t state = 0;
  for (std::size_t i = begin; i < end; ++i) {
    state = forward_.next(state, text[i]);
    const int32_t found = forward_.word(state);
    if (found >= 0 && i >= at && i + 1 - sizes_[static_cast<std::size_t>(found)] <= at + kAfter) return true;
  }
  return end == text.size() && end - static_cast<std::size_t>(forward_.depth(state)) <= at + kAfter;
}

int named_byte(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  int byte = -1;
  const auto [end, error] = std::from_chars(token.data() + 3, token.data() + 5, byte, 16);
  return error == std::errc() && end == token.data() + 5 ? byte : -1;
}

}  // namespace tapegrad::data::detail
