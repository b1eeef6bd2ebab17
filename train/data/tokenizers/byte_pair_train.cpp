// Trains byte pairs. Words are counted once; a merge visits only the words that contain its pair.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/files.h>
#include <tapegrad/autograd/io/internal/foreign.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/train/data/byte_pair.h>
#include <tapegrad/train/data/byte_pair_train.h>
#include <tapegrad/train/data/detail/input_file.h>
#include <tapegrad/train/data/internal/permutation.h>
#include <tapegrad/train/data/split.h>

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

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

// How often each word occurs.
class WordCounts {
 public:
  // Counts the words of a text, in which the end of a text is none.
  void add(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find(kEndOfText), text.size());
      for (std::size_t at = 0; at < end;) {
        const std::size_t next = word_end(text.substr(0, end), at);
        add(text.substr(at, next - at), 1);
        at = next;
      }
      text.remove_prefix(std::min(end + kEndOfText.size(), text.size()));
    }
  }
  void add(const WordCounts& other) {
    for (const auto& [word, count] : other.counts_) add(word, count);
  }
  auto begin() const { return counts_.begin(); }
  auto end() const { return counts_.end(); }

 private:
  void add(std::string_view word, int64_t count) {
    const auto known = counts_.find(word);
    known == counts_.end() ? void(counts_.emplace(word, count)) : void(known->second += count);
  }
  std::unordered_map<std::string, int64_t, TextHash, std::equal_to<>> counts_;
};

class Training {
 public:
  // The order of the words does not matter: the most frequent pair is chosen by counts and ids.
  explicit Training(const WordCounts& counts) {
    const std::array<unsigned char, 256> bytes = bytes_by_symbol();
    std::array<int32_t, 256> id_of{};
    for (std::size_t id = 0; id < bytes.size(); ++id) {
      id_of[bytes[id]] = static_cast<int32_t>(id);
      add_token(std::string(1, static_cast<char>(bytes[id])));
    }
    for (const auto& [word, count] : counts) {
      words_.push_back({{}, count});
      for (const char byte : word) words_.back().tokens.push_back(id_of[static_cast<unsigned char>(byte)]);
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
    std::ranges::sort(grown);
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

// ---- Counting the words of a file ----

constexpr uint64_t kBlock = uint64_t{1} << 16;

// Where a block of the file that should begin at `at` does begin: the next position where the text can be cut, or `at`
// itself, within a word of more than 1 MiB.
uint64_t block_edge(const detail::InputFile& file, uint64_t at) {
  if (at == 0 || at >= file.size()) return std::min(at, file.size());
  constexpr uint64_t kBefore = 64, kMost = uint64_t{1} << 20;
  static const std::vector<std::string> specials{std::string(kEndOfText)};
  const uint64_t begin = at - std::min(at, kBefore);
  std::string text;
  for (std::size_t wanted = 1 << 10; wanted <= kMost; wanted *= 4) {
    text.resize(wanted);
    text.resize(file.read(begin, wanted, text.data()));
    const std::size_t cut = word_cut(text, static_cast<std::size_t>(at - begin), specials);
    if (cut != std::string::npos) return begin + cut;
    if (text.size() < wanted) return file.size();
  }
  return at;
}

WordCounts words_of_block(const detail::InputFile& file, int64_t block) {
  const uint64_t begin = block_edge(file, static_cast<uint64_t>(block) * kBlock);
  const uint64_t end = block_edge(file, static_cast<uint64_t>(block + 1) * kBlock);
  WordCounts words;
  if (begin >= end) return words;  // within a long word
  std::string text(end - begin, '\0');
  text.resize(file.read(begin, text.size(), text.data()));
  words.add(text);
  return words;
}

WordCounts words_of(const detail::InputFile& file, const TextSample& sample) {
  const auto blocks = static_cast<int64_t>((file.size() + kBlock - 1) / kBlock);
  const bool all = sample.bytes == 0 || sample.bytes >= file.size();
  const int64_t count = all ? blocks : static_cast<int64_t>((sample.bytes + kBlock - 1) / kBlock);
  const Permutation drawn(blocks, sample.seed);
  constexpr int64_t kAtOnce = 256;
  WordCounts words;
  std::vector<WordCounts> some;
  for (int64_t first = 0; first < count; first += kAtOnce) {
    const int64_t here = std::min(kAtOnce, count - first);
    some.assign(static_cast<std::size_t>(here), {});
    parallel_for(here, 1, [&](int64_t i, int64_t) {
      some[static_cast<std::size_t>(i)] = words_of_block(file, all ? first + i : drawn(first + i));
    });
    for (const WordCounts& more : some) words.add(more);
  }
  return words;
}

std::unique_ptr<Tokenizer> trained(const WordCounts& words, int64_t vocab_size) {
  Training training(words);
  while (training.tokens() + 1 < vocab_size && training.step()) {
  }
  return std::make_unique<BytePairTokenizer>(training.finish());
}

void check_size(int64_t vocab_size) {
  constexpr int64_t kLeast = 257, kMost = 1 << 20;  // bytes and the end of text
  if (vocab_size < kLeast || vocab_size > kMost) {
    fail("tokenizer", "expected vocab_size from {} (all bytes and {}) to {}, got {}", kLeast, kEndOfText, kMost,
         vocab_size);
  }
}

}  // namespace

std::unique_ptr<Tokenizer> train_byte_pairs(std::string_view text, int64_t vocab_size) {
  check_size(vocab_size);
  WordCounts words;
  words.add(text);
  return trained(words, vocab_size);
}

std::unique_ptr<Tokenizer> train_byte_pairs_on_file(const std::string& path, int64_t vocab_size,
                                                    const TextSample& sample) {
  check_size(vocab_size);
  require_plain_text(path, read_start_of_file(path, 512));
  return trained(words_of(detail::InputFile(path), sample), vocab_size);
}

}  // namespace tapegrad::data
