// Byte-pair encoding on bytes, as GPT-2 and Llama-3 do it; see tokenizer_files.h and byte_pair_train.h.
#pragma once

#include <tapegrad/train/data/split.h>
#include <tapegrad/train/data/tokenizer.h>

#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace tapegrad::data {

namespace detail {
class SpecialTokens;
}

/// The vocabulary and the merges of a byte-pair tokenizer.
struct BytePairs {
  /// A pair of neighbours that becomes one token.
  struct Merge {
    int64_t left, right, becomes;  ///< token ids
  };
  std::vector<std::string> tokens;          ///< the bytes of each id; empty where an id is not used
  std::vector<Merge> merges;                ///< in order of priority, the first one first
  std::vector<int64_t> specials;            ///< ids of tokens that match only their complete text and are never merged
  std::vector<int64_t> normalized = {};     ///< of these, those that are matched with the normalised text
  WordPattern pattern = WordPattern::gpt2;  ///< merges do not cross the words
  bool whole_words = false;                 ///< a word that is a token is not merged ("ignore_merges")
  std::optional<int64_t> begin = {};        ///< Tokenizer::begin_of_text
  std::string source = {};  ///< the tokenizer.json that it was read from, if that has more than json() writes
};

namespace detail {

// From a pair of ids to the rank of its merge. A hash table with open addressing, at most half full.
class MergeRanks {
 public:
  static constexpr int32_t kNone = INT32_MAX;
  explicit MergeRanks(const std::vector<BytePairs::Merge>& merges);
  int32_t operator()(int64_t left, int64_t right) const;  // kNone where the pair is not merged

 private:
  struct Slot {
    uint64_t pair;
    int32_t rank;
  };
  std::size_t place(uint64_t pair) const { return static_cast<std::size_t>(pair * 0x9e3779b97f4a7c15u >> shift_); }
  std::vector<Slot> slots_;
  int shift_;
};

// Merges ids in place, in n log n for n of them. Its working memory is kept for the next call.
class LongMerge {
 public:
  // Those from `from` on.
  void operator()(std::vector<int64_t>& ids, std::size_t from, const std::vector<BytePairs::Merge>& merges,
                  const MergeRanks& ranks);

 private:
  // A token in a linked list whose first node is never merged away.
  struct Node {
    int64_t id;
    int32_t rank;  // of the merge with the next one
    int64_t previous, next;
  };
  // A possible merge. The heap has the one with the smallest rank on top, of these the leftmost.
  struct Candidate {
    int32_t rank;
    int64_t at;
    bool operator<(const Candidate& other) const { return rank != other.rank ? rank > other.rank : at > other.at; }
  };
  std::vector<Node> nodes_;
  std::vector<Candidate> heap_;
};

}  // namespace detail

/// The printable character that vocabulary files use for a byte: the byte itself, or a character from U+0100 on.
std::string byte_symbol(unsigned char byte);
/// The bytes of a token that is written in such characters; nothing where it has another character.
std::optional<std::string> symbol_bytes(std::string_view symbols);
/// All bytes in the order of their characters, which is that of GPT-2's first 256 tokens.
std::array<unsigned char, 256> bytes_by_symbol();

/// The token between texts.
inline constexpr std::string_view kEndOfText = "<|endoftext|>";

/// Cuts a text into words as GPT-2 or Llama-3 does, and merges the bytes of each word.
class BytePairTokenizer final : public Tokenizer {
 public:
  /// The ids of merges and special tokens must be those of tokens.
  explicit BytePairTokenizer(BytePairs pairs);

  ~BytePairTokenizer() override;

  std::vector<int64_t> encode(std::string_view text) const override;
  std::size_t cut(std::string_view text, std::size_t from) const override;
  std::string_view bytes(int64_t id) const override;
  int64_t size() const override { return static_cast<int64_t>(pairs_.tokens.size()); }
  std::vector<std::string> special_tokens() const override;
  std::optional<int64_t> end_of_text() const override;
  std::optional<int64_t> begin_of_text() const override { return pairs_.begin; }
  std::string json() const override;

 private:
  struct Work;

  std::unique_ptr<Work> take_work() const;
  void encode_ordinary(std::string_view text, Work& work) const;
  void merge(std::string_view word, Work& work) const;
  void merge_long(std::string_view word, Work& work) const;
  int32_t byte_id(char byte) const;

  BytePairs pairs_;
  detail::MergeRanks ranks_;
  std::unique_ptr<const detail::SpecialTokens> specials_;
  std::unordered_map<std::string_view, int64_t> words_;  // of tokens, if whole_words
  std::array<int64_t, 256> byte_ids_;                    // -1: no token
  mutable std::mutex lock_;                              // of `idle_`
  mutable std::vector<std::unique_ptr<Work>> idle_;  // keep the words that they know; one for each thread that encoded
};

}  // namespace tapegrad::data
