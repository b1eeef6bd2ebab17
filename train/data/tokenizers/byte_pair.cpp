#include <fmt/format.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/internal/json_value.h>
#include <tapegrad/train/data/byte_pair.h>
#include <tapegrad/train/data/detail/special_tokens.h>
#include <tapegrad/train/data/split.h>
#include <tapegrad/train/data/utf8.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace tapegrad::data {
namespace {

constexpr std::string_view kBytePair = "tokenizer";

constexpr bool is_printable(unsigned code) {
  return (code >= 33 && code <= 126) || (code >= 161 && code <= 172) || (code >= 174 && code <= 255);
}

// The character of each byte: itself where it is printable, else the next one from U+0100 on.
constexpr std::array<uint32_t, 256> symbol_codes() {
  std::array<uint32_t, 256> codes{};
  uint32_t next = 256;
  for (unsigned byte = 0; byte < 256; ++byte) codes[byte] = is_printable(byte) ? byte : next++;
  return codes;
}
constexpr std::array<uint32_t, 256> kSymbolCodes = symbol_codes();
constexpr uint32_t kSymbolsEnd = 256 + 68;  // 68 bytes are not printable

}  // namespace

std::string byte_symbol(unsigned char byte) { return utf8(kSymbolCodes[byte]); }

std::optional<std::string> symbol_bytes(std::string_view symbols) {
  static const std::array<int, kSymbolsEnd> byte_of = [] {
    std::array<int, kSymbolsEnd> bytes;
    bytes.fill(-1);
    for (int byte = 0; byte < 256; ++byte) bytes[kSymbolCodes[static_cast<std::size_t>(byte)]] = byte;
    return bytes;
  }();
  std::string bytes;
  while (!symbols.empty()) {
    const Character c = first_character(symbols);
    if (!c.valid || c.code >= kSymbolsEnd || byte_of[c.code] < 0) return std::nullopt;
    bytes += static_cast<char>(byte_of[c.code]);
    symbols.remove_prefix(static_cast<std::size_t>(c.bytes));
  }
  return bytes;
}

std::array<unsigned char, 256> bytes_by_symbol() {
  std::array<unsigned char, 256> bytes;
  for (unsigned byte = 0; byte < 256; ++byte) bytes[byte] = static_cast<unsigned char>(byte);
  std::ranges::sort(bytes, [](unsigned char a, unsigned char b) { return kSymbolCodes[a] < kSymbolCodes[b]; });
  return bytes;
}

// ---- Merges ----

namespace {

constexpr uint64_t kNoPair = ~uint64_t{0};

uint64_t pair_key(int64_t left, int64_t right) {
  return static_cast<uint64_t>(left) << 32 | static_cast<uint64_t>(right);
}

}  // namespace

detail::MergeRanks::MergeRanks(const std::vector<BytePairs::Merge>& merges) {
  const std::size_t slots = std::bit_ceil(2 * merges.size() + 2);
  shift_ = 64 - std::countr_zero(slots);
  slots_.assign(slots, {kNoPair, kNone});
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const uint64_t pair = pair_key(merges[rank].left, merges[rank].right);
    std::size_t at = place(pair);
    while (slots_[at].pair != kNoPair && slots_[at].pair != pair) at = (at + 1) & (slots - 1);
    slots_[at] = {pair, static_cast<int32_t>(rank)};  // a pair that is listed twice has its later rank
  }
}

int32_t detail::MergeRanks::operator()(int64_t left, int64_t right) const {
  const uint64_t pair = pair_key(left, right);
  for (std::size_t at = place(pair);; at = (at + 1) & (slots_.size() - 1)) {
    if (slots_[at].pair == pair) return slots_[at].rank;
    if (slots_[at].pair == kNoPair) return kNone;
  }
}

void detail::LongMerge::operator()(std::vector<int64_t>& ids, std::size_t from,
                                   const std::vector<BytePairs::Merge>& merges, const MergeRanks& ranks) {
  constexpr int32_t kNone = MergeRanks::kNone;
  nodes_.clear();
  heap_.clear();
  const auto count = static_cast<int64_t>(ids.size() - from);
  for (int64_t i = 0; i < count; ++i)
    nodes_.push_back({ids[from + static_cast<std::size_t>(i)], kNone, i - 1, i + 1 < count ? i + 1 : -1});
  const auto node = [&](int64_t i) -> Node& { return nodes_[static_cast<std::size_t>(i)]; };
  const auto offer = [&](int64_t at) {
    Node& left = node(at);
    left.rank = left.next < 0 ? kNone : ranks(left.id, node(left.next).id);
    if (left.rank == kNone) return false;
    heap_.push_back({left.rank, at});
    return true;
  };
  for (int64_t i = 0; i < count; ++i) offer(i);
  std::make_heap(heap_.begin(), heap_.end());
  while (!heap_.empty()) {
    const Candidate best = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
    Node& left = node(best.at);
    if (left.rank != best.rank) continue;  // one of the two tokens has been merged since
    Node& right = node(left.next);
    right.rank = kNone;
    left.id = merges[static_cast<std::size_t>(best.rank)].becomes;
    left.next = right.next;
    if (left.next >= 0) node(left.next).previous = best.at;
    if (offer(best.at)) std::push_heap(heap_.begin(), heap_.end());
    if (left.previous >= 0 && offer(left.previous)) std::push_heap(heap_.begin(), heap_.end());
  }
  ids.resize(from);
  for (int64_t i = count > 0 ? 0 : -1; i >= 0; i = node(i).next) ids.push_back(node(i).id);
  constexpr std::size_t kKept = 1 << 16;
  if (nodes_.size() > kKept) nodes_ = {}, heap_ = {};  // of a very long word
}

// ---- Encoding ----

// The working memory of a call of encode, and the words that earlier calls met.
struct BytePairTokenizer::Work {
  // A word with its ids. The fields fill one cache line.
  struct alignas(64) Known {
    static constexpr std::size_t kBytes = 22, kIds = 10;
    uint8_t bytes = 0, count = 0;
    std::array<char, kBytes> word;
    std::array<int32_t, kIds> ids;
    bool is(std::string_view other) const {
      return bytes == other.size() && std::memcmp(word.data(), other.data(), other.size()) == 0;
    }
  };
  static constexpr std::size_t kFewest = 64, kMost = 1 << 16;

  Known& known_place(std::string_view word) { return known[hash(word) & (known.size() - 1)]; }
  static uint64_t hash(std::string_view word);

  std::vector<int64_t> ids;  // the result
  std::vector<Known> known;  // each word has one place, where the last one that was met is
  detail::LongMerge merge;
};

// Of 1 to 24 bytes, from overlapping words of 8, 4 or 1.
uint64_t BytePairTokenizer::Work::hash(std::string_view word) {
  const char *const first = word.data(), *const end = first + word.size();
  const auto load = []<class T>(const char* from, T value) -> uint64_t {
    std::memcpy(&value, from, sizeof value);
    return value;
  };
  uint64_t a, b, c = 0;
  if (word.size() >= 8) {
    a = load(first, uint64_t{}), b = load(end - 8, uint64_t{});
    if (word.size() > 16) c = load(first + 8, uint64_t{});
  } else if (word.size() >= 4) {
    a = load(first, uint32_t{}), b = load(end - 4, uint32_t{});
  } else {
    a = load(first, uint8_t{}) | load(end - 1, uint8_t{}) << 8, b = load(first + word.size() / 2, uint8_t{});
  }
  const uint64_t mixed = (a ^ word.size()) * 0x9e3779b97f4a7c15u + (b ^ c * 0xd6e8feb86659fd93u) * 0xc2b2ae3d27d4eb4fu;
  return mixed ^ mixed >> 32 ^ mixed >> 47;
}

BytePairTokenizer::BytePairTokenizer(BytePairs pairs) : pairs_(std::move(pairs)), ranks_(pairs_.merges) {
  specials_ = std::make_unique<detail::SpecialTokens>(special_tokens());
  byte_ids_.fill(-1);
  std::vector<bool> special(pairs_.tokens.size());
  for (const int64_t id : pairs_.specials) special[static_cast<std::size_t>(id)] = true;
  for (std::size_t id = pairs_.tokens.size(); id-- > 0;) {
    const std::string& token = pairs_.tokens[id];
    if (pairs_.whole_words && !token.empty() && !special[id]) words_.emplace(token, static_cast<int64_t>(id));
    if (token.size() == 1 && !special[id]) byte_ids_[static_cast<unsigned char>(token[0])] = static_cast<int64_t>(id);
  }
}

BytePairTokenizer::~BytePairTokenizer() = default;

std::unique_ptr<BytePairTokenizer::Work> BytePairTokenizer::take_work() const {
  const std::lock_guard held(lock_);
  if (idle_.empty()) return std::make_unique<Work>();
  std::unique_ptr<Work> work = std::move(idle_.back());
  idle_.pop_back();
  return work;
}

int32_t BytePairTokenizer::byte_id(char byte) const {
  const auto code = static_cast<unsigned char>(byte);
  if (byte_ids_[code] < 0) {
    fail(kBytePair, "the vocabulary has no token for the byte 0x{:02x} of the text", code);
  }
  return static_cast<int32_t>(byte_ids_[code]);
}

// Appends the tokens of one word to work.ids. In a short word the best merge is searched for again after each merge.
void BytePairTokenizer::merge(std::string_view word, Work& work) const {
  if (const auto whole = words_.find(word); whole != words_.end()) {
    work.ids.push_back(whole->second);
    return;
  }
  constexpr std::size_t kShort = 32;
  if (word.size() > kShort) return merge_long(word, work);
  std::array<int32_t, kShort> ids;
  std::array<int32_t, kShort> ranks;  // of the merge with the next one
  std::size_t count = word.size();
  for (std::size_t i = 0; i < count; ++i) ids[i] = byte_id(word[i]);
  for (std::size_t i = 0; i + 1 < count; ++i) ranks[i] = ranks_(ids[i], ids[i + 1]);
  while (count > 1) {
    const auto best = static_cast<std::size_t>(
        std::min_element(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(count - 1)) - ranks.begin());
    if (ranks[best] == detail::MergeRanks::kNone) break;
    ids[best] = static_cast<int32_t>(pairs_.merges[static_cast<std::size_t>(ranks[best])].becomes);
    --count;
    for (std::size_t i = best + 1; i < count; ++i) ids[i] = ids[i + 1];
    for (std::size_t i = best + 1; i + 1 < count; ++i) ranks[i] = ranks[i + 1];
    if (best > 0) ranks[best - 1] = ranks_(ids[best - 1], ids[best]);
    if (best + 1 < count) ranks[best] = ranks_(ids[best], ids[best + 1]);
  }
  work.ids.insert(work.ids.end(), ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count));
}

void BytePairTokenizer::merge_long(std::string_view word, Work& work) const {
  if (word.size() >= INT32_MAX) {
    fail(kBytePair, "a word may have up to 2^31 - 2 bytes, got {} (a text without white space?)", word.size());
  }
  const std::size_t from = work.ids.size();
  for (const char byte : word) work.ids.push_back(byte_id(byte));
  work.merge(work.ids, from, pairs_.merges, ranks_);
}

void BytePairTokenizer::encode_ordinary(std::string_view text, Work& work) const {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = word_end(text, at, pairs_.pattern);
    const std::string_view word = text.substr(at, end - at);
    at = end;
    if (word.size() > Work::Known::kBytes) {
      merge(word, work);
      continue;
    }
    Work::Known& known = work.known_place(word);
    if (known.is(word)) {
      work.ids.insert(work.ids.end(), known.ids.begin(), known.ids.begin() + known.count);
      continue;
    }
    const std::size_t before = work.ids.size();
    merge(word, work);
    const std::size_t count = work.ids.size() - before;
    if (count > Work::Known::kIds) continue;
    known.bytes = static_cast<uint8_t>(word.size());
    known.count = static_cast<uint8_t>(count);
    std::copy(word.begin(), word.end(), known.word.begin());
    for (std::size_t i = 0; i < count; ++i) known.ids[i] = static_cast<int32_t>(work.ids[before + i]);
  }
}

std::vector<int64_t> BytePairTokenizer::encode(std::string_view text) const {
  std::unique_ptr<Work> taken = take_work();
  Work& work = *taken;
  work.ids.clear();
  work.ids.reserve(text.size() / 3);
  const std::size_t room = std::clamp(std::bit_ceil(text.size() / 8), Work::kFewest, Work::kMost);
  if (room > work.known.size()) work.known.assign(room, {});
  specials_->for_each_part(
      text, [&](std::string_view part, std::size_t) { encode_ordinary(part, work); },
      [&](std::size_t special) { work.ids.push_back(pairs_.specials[special]); });
  std::vector<int64_t> ids = std::move(work.ids);
  const std::lock_guard held(lock_);
  idle_.push_back(std::move(taken));
  return ids;
}

std::size_t BytePairTokenizer::cut(std::string_view text, std::size_t from) const {
  if (pairs_.pattern != WordPattern::gpt2) return std::string_view::npos;
  return detail::word_cut(text, from, *specials_);
}

std::vector<std::string> BytePairTokenizer::special_tokens() const {
  std::vector<std::string> found;
  for (const int64_t id : pairs_.specials) found.push_back(pairs_.tokens[static_cast<std::size_t>(id)]);
  return found;
}

std::string_view BytePairTokenizer::bytes(int64_t id) const {
  if (id < 0 || id >= size() || pairs_.tokens[static_cast<std::size_t>(id)].empty()) {
    fail(kBytePair, "there is no token {} (ids are 0 to {})", id, size() - 1);
  }
  return pairs_.tokens[static_cast<std::size_t>(id)];
}

std::optional<int64_t> BytePairTokenizer::end_of_text() const {
  for (const int64_t id : pairs_.specials) {
    if (pairs_.tokens[static_cast<std::size_t>(id)] == kEndOfText) return id;
  }
  return std::nullopt;
}

// ---- tokenizer.json ----

std::string BytePairTokenizer::json() const {
  if (!pairs_.source.empty()) return pairs_.source;
  std::vector<std::string> written(pairs_.tokens.size());
  for (std::size_t id = 0; id < written.size(); ++id) {
    for (const char byte : pairs_.tokens[id]) written[id] += byte_symbol(static_cast<unsigned char>(byte));
  }
  Json added = Json::array();
  for (const int64_t id : pairs_.specials) {
    written[static_cast<std::size_t>(id)] = pairs_.tokens[static_cast<std::size_t>(id)];
    added.push_back({{"id", id},
                     {"content", written[static_cast<std::size_t>(id)]},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  }
  std::string vocabulary, merges;  // by hand: an ordered object searches all its keys at every insertion
  for (std::size_t id = 0; id < written.size(); ++id) {
    if (written[id].empty()) continue;
    vocabulary += fmt::format("{}{}:{}", vocabulary.empty() ? "" : ",", Json(written[id]).dump(), id);
  }
  for (const BytePairs::Merge& merge : pairs_.merges) {
    const std::string line =
        written[static_cast<std::size_t>(merge.left)] + " " + written[static_cast<std::size_t>(merge.right)];
    merges += fmt::format("{}{}", merges.empty() ? "" : ",", Json(line).dump());
  }
  const Json level{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  return fmt::format(
      R"({{"version":"1.0","truncation":null,"padding":null,"added_tokens":{},"normalizer":null,"pre_tokenizer":{},)"
      R"("post_processor":null,"decoder":{},"model":{{"type":"BPE","dropout":null,"unk_token":null,)"
      R"("continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,)"
      R"("ignore_merges":false,"vocab":{{{}}},"merges":[{}]}}}})",
      added.dump(), level.dump(), level.dump(), vocabulary, merges);
}

}  // namespace tapegrad::data
