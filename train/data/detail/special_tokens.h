// Finds the special tokens in a text, in one pass however many there are.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::data::detail {

// Recognises words while bytes are read one by one (Aho and Corasick, 1975). A state is the longest end of the text so
// far that begins a word; 0 is the empty one.
class WordMatcher {
 public:
  // With `reversed`, bytes are read from the last one to the first. Empty words are left out.
  WordMatcher(std::span<const std::string> words, bool reversed);
  int32_t next(int32_t state, char byte) const;
  // The longest word that ends in this state, of equal ones the first; -1 for none.
  int32_t word(int32_t state) const { return nodes_[static_cast<std::size_t>(state)].word; }
  // The number of bytes of the state.
  int32_t depth(int32_t state) const { return nodes_[static_cast<std::size_t>(state)].depth; }
  // The number of bytes of `text` up to the last one that a word can begin with; 0 for none.
  std::size_t last_start(std::string_view text) const;

 private:
  struct Node {
    int32_t child = -1, sibling = -1;  // a list of the children of each node
    int32_t shorter = 0;               // the longest shorter end of the state's bytes that is a state
    int32_t word = -1, depth = 0;
    char byte = 0;
  };
  int32_t child(int32_t node, char byte) const;
  int32_t add_child(int32_t node, char byte);
  void link();
  std::vector<Node> nodes_{1};
  std::array<int32_t, 256> first_{};  // the children of node 0; 0 for none
  int only_ = -1;                     // the byte that all words begin with; -1 if they differ
};

class SpecialTokens {
 public:
  // `tokens` need not outlive it. Error if they have more than 10 MB.
  explicit SpecialTokens(std::span<const std::string> tokens);

  // Calls ordinary(part, position) for what is between special tokens, which may be empty, and special(i) for each of
  // these, number i of the list. The leftmost one is taken, of these the longest.
  template <class Ordinary, class Special>
  void for_each_part(std::string_view text, Ordinary ordinary, Special special) const {
    std::size_t at = 0;
    const std::vector<Place> places = find(text);
    for (auto place = places.rbegin(); place != places.rend(); ++place) {
      if (place->begin < at) continue;
      ordinary(text.substr(at, place->begin - at), at);
      special(static_cast<std::size_t>(place->token));
      at = place->begin + sizes_[static_cast<std::size_t>(place->token)];
    }
    if (at < text.size()) ordinary(text.substr(at), at);
  }

  // Whether a special token may extend over `at`, or begin in the four bytes from there on: the last of several
  // white-space characters has at most so many. A token may go on after the text.
  bool is_near(std::string_view text, std::size_t at) const;

 private:
  struct Place {
    std::size_t begin;
    int32_t token;
  };
  // The longest token that begins at each place, from the last one to the first.
  std::vector<Place> find(std::string_view text) const;
  std::vector<std::size_t> sizes_;
  std::size_t longest_ = 0;
  WordMatcher forward_, backward_;
};

// The byte that "<0xHH>" means; -1 for anything else.
int named_byte(std::string_view token);

// As word_cut of split.h.
std::size_t word_cut(std::string_view text, std::size_t from, const SpecialTokens& special_tokens);

}  // namespace tapegrad::data::detail
