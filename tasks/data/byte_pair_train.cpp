// Trains byte pairs. Words are counted once; a merge visits only the words that contain its pair.
#include <fmt/format.h>
#include <tapegrad/tasks/data/byte_pair.h>
#include <tapegrad/tasks/data/byte_pair_train.h>
#include <tapegrad/tasks/data/split.h>

#include <algorithm>
#include <queue>
#include <unordered_map>

namespace tapegrad::data {
namespace {

using Pair = std::pair<int32_t, int32_t>;

struct PairHash {
  std::size_t operator()(const Pair& pair) const {
    const auto both = static_cast<uint64_t>(pair.first) << 32 | static_cast<uint32_t>(pair.second);
    return static_cast<std::size_t>((both ^ both >> 29) * 0x9e3779b97f4a7c15u);
  }
};

// A distinct word of the text as tokens, and how often it occurs.
struct Word {
  std::vector<int32_t> tokens;
  int64_t count;
};

// A pair with its count at some time, possibly an outdated one. More frequent pairs come first, then smaller ids.
struct Counted {
  int64_t count;
  Pair pair;
  bool operator<(const Counted& other) const { return count != other.count ? count < other.count : pair > other.pair; }
};

class Training {
 public:
  Training(std::string_view text) {
    const std::array<unsigned char, 256> bytes = bytes_by_symbol();
    std::array<int32_t, 256> id_of{};
    for (std::size_t id = 0; id < bytes.size(); ++id) {
      id_of[bytes[id]] = static_cast<int32_t>(id);
      add_token(std::string(1, static_cast<char>(bytes[id])));
    }
    std::unordered_map<std::string_view, std::size_t> known;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find(kEndOfText), text.size());
      for (std::size_t at = 0; at < end;) {
        const std::size_t next = word_end(text.substr(0, end), at);
        const std::string_view word = text.substr(at, next - at);
        at = next;
        const auto [place, fresh] = known.try_emplace(word, words_.size());
        if (fresh) {
          words_.push_back({{}, 0});
          for (const char byte : word) words_.back().tokens.push_back(id_of[static_cast<unsigned char>(byte)]);
        }
        ++words_[place->second].count;
      }
      text.remove_prefix(std::min(end + kEndOfText.size(), text.size()));
    }
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const std::vector<int32_t>& tokens = words_[i].tokens;
      for (std::size_t k = 1; k < tokens.size(); ++k) note({tokens[k - 1], tokens[k]}, words_[i].count, i);
    }
    for (const auto& [pair, count] : counts_) queue_.push({count, pair});
  }

  // Merges the most frequent pair. Returns false, without a merge, when no pair occurs twice.
  bool step() {
    while (!queue_.empty()) {
      const Counted best = queue_.top();
      queue_.pop();
      const int64_t count = counts_[best.pair];
      if (count == best.count && count >= 2) {
        merge(best.pair);
        return true;
      }
      if (count != best.count && count >= 2) queue_.push({count, best.pair});  // the count is outdated
    }
    return false;
  }

  int64_t tokens() const { return static_cast<int64_t>(pairs_.tokens.size()); }

  BytePairs finish() {
    pairs_.specials.push_back(tokens());
    pairs_.tokens.emplace_back(kEndOfText);
    return std::move(pairs_);
  }

 private:
  int32_t add_token(std::string bytes) {
    const auto [place, fresh] = ids_.try_emplace(bytes, static_cast<int32_t>(pairs_.tokens.size()));
    if (fresh) pairs_.tokens.push_back(std::move(bytes));
    return place->second;
  }

  void note(const Pair& pair, int64_t count, std::size_t word) {
    counts_[pair] += count;
    std::vector<std::size_t>& words = where_[pair];
    if (words.empty() || words.back() != word) words.push_back(word);
  }

  void merge(const Pair& pair) {
    const std::string& left = pairs_.tokens[static_cast<std::size_t>(pair.first)];
    const int32_t becomes = add_token(left + pairs_.tokens[static_cast<std::size_t>(pair.second)]);
    pairs_.merges.push_back({pair.first, pair.second, becomes});
    std::vector<Pair> grown;
    const auto entry = where_.extract(pair);
    for (const std::size_t i : entry.mapped()) {
      Word& word = words_[i];
      std::vector<int32_t>& tokens = word.tokens;
      std::vector<int32_t> merged;
      for (std::size_t k = 0; k < tokens.size(); ++k) {
        const bool here = k + 1 < tokens.size() && Pair{tokens[k], tokens[k + 1]} == pair;
        merged.push_back(here ? becomes : tokens[k]);
        k += here ? 1 : 0;
      }
      if (merged.size() == tokens.size()) continue;  // an earlier merge has removed the pair from this word
      for (std::size_t k = 1; k < tokens.size(); ++k) counts_[{tokens[k - 1], tokens[k]}] -= word.count;
      for (std::size_t k = 1; k < merged.size(); ++k) {
        const Pair now{merged[k - 1], merged[k]};
        counts_[now] += word.count;
        if (now.first == becomes || now.second == becomes) {
          note(now, 0, i);
          grown.push_back(now);
        }
      }
      tokens = std::move(merged);
    }
    std::sort(grown.begin(), grown.end());
    grown.erase(std::unique(grown.begin(), grown.end()), grown.end());
    for (const Pair& now : grown) queue_.push({counts_[now], now});
  }

  BytePairs pairs_;
  std::unordered_map<std::string, int32_t> ids_;  // by bytes: two merges may make the same token
  std::vector<Word> words_;
  std::unordered_map<Pair, int64_t, PairHash> counts_;
  std::unordered_map<Pair, std::vector<std::size_t>, PairHash> where_;  // words that contain it or did
  std::priority_queue<Counted> queue_;
};

}  // namespace

std::unique_ptr<Tokenizer> train_byte_pairs(std::string_view text, int64_t vocab_size) {
  constexpr int64_t kLeast = 257, kMost = 1 << 20;  // bytes and the end of text
  if (vocab_size < kLeast || vocab_size > kMost) {
    fail("tokenizer", fmt::format("vocab_size must be between {} (all bytes and {}) and {}, got {}", kLeast, kEndOfText,
                                  kMost, vocab_size));
  }
  Training training(text);
  while (training.tokens() + 1 < vocab_size && training.step()) {
  }
  return std::make_unique<BytePairTokenizer>(training.finish());
}

}  // namespace tapegrad::data
