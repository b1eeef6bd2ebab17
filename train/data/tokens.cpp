// Token ids in memory and in token files: a safetensors file with one tensor of ids, which is written while the text is
// encoded on all threads.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/files.h>
#include <tapegrad/autograd/io/internal/checksum.h>
#include <tapegrad/autograd/io/internal/foreign.h>
#include <tapegrad/autograd/io/safetensors.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/train/data/detail/input_file.h>
#include <tapegrad/train/data/tokenizer.h>
#include <tapegrad/train/data/tokens.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <exception>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>

namespace tapegrad::data {
namespace {

namespace fs = std::filesystem;

// --- the header of token files: what is written there and read again ---

constexpr std::string_view kIdsChecksum = "ids_checksum";  // hexadecimal: Tokens::checksum
constexpr std::string_view kLargestId = "largest_id";
constexpr std::size_t kIdsPerSum = 1 << 16;  // each sum is the seed of the next one
constexpr std::size_t kHeader = 256;         // bytes before the ids: the length of the JSON, the JSON, spaces

// The ids of one piece of the text, as the file has them.
struct EncodedPiece {
  std::string bytes;
  int64_t largest = -1;
  std::exception_ptr error = nullptr;
};

template <class T>
void narrow(const std::vector<int64_t>& ids, std::string& bytes) {
  bytes.resize(ids.size() * sizeof(T));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const T id = static_cast<T>(ids[i]);
    std::memcpy(bytes.data() + i * sizeof id, &id, sizeof id);
  }
}

// A token file that is being written.
class TokenFileWriter {
 public:
  TokenFileWriter(const std::string& path, int64_t width) : file_(path), width_(width) {
    some_.reserve(kIdsPerSum);
    file_.write(header());
  }

  EncodedPiece encoded(const Tokenizer& tokenizer, std::string_view text, uint64_t begin) const {
    EncodedPiece piece;
    try {
      const std::vector<int64_t> ids = tokenizer.encode(text);
      if (!ids.empty()) piece.largest = *std::ranges::max_element(ids);
      width_ == 2 ? narrow<uint16_t>(ids, piece.bytes) : narrow<uint32_t>(ids, piece.bytes);
    } catch (const EncodeError& e) {
      piece.error = std::make_exception_ptr(e.within_text(begin));
    } catch (...) {
      piece.error = std::current_exception();
    }
    return piece;
  }

  void write(const EncodedPiece& piece) {
    if (piece.error) std::rethrow_exception(piece.error);
    file_.write(piece.bytes);
    count_ += static_cast<int64_t>(piece.bytes.size()) / width_;
    largest_ = std::max(largest_, piece.largest);
    width_ == 2 ? sum_up<uint16_t>(piece.bytes) : sum_up<uint32_t>(piece.bytes);
  }

  int64_t commit() {
    if (!some_.empty()) end_sum();
    file_.overwrite(0, header());
    file_.commit();
    return count_;
  }

 private:
  template <class T>
  void sum_up(std::string_view bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t count = std::min((bytes.size() - at) / sizeof(T), kIdsPerSum - some_.size());
      for (std::size_t i = 0; i < count; ++i, at += sizeof(T)) {
        T id;
        std::memcpy(&id, bytes.data() + at, sizeof id);
        some_.push_back(id);
      }
      if (some_.size() == kIdsPerSum) end_sum();
    }
  }
  void end_sum() {
    sum_ = checksum(std::as_bytes(std::span(some_)), sum_);
    some_.clear();
  }
  std::string header() const {
    std::string json = fmt::format(
        R"({{"__metadata__":{{"kind":"tokens","{}":"{:016x}","{}":"{}"}},"tokens":{{"dtype":"{}","shape":[{}],)"
        R"("data_offsets":[0,{}]}}}})",
        kIdsChecksum, sum_, kLargestId, largest_, width_ == 2 ? "U16" : "U32", count_, count_ * width_);
    const uint64_t length = kHeader - sizeof length;
    json.resize(length, ' ');
    std::string bytes(sizeof length, '\0');
    std::memcpy(bytes.data(), &length, sizeof length);
    return bytes + json;
  }

  AtomicFile file_;
  int64_t width_, count_ = 0, largest_ = -1;
  std::vector<int64_t> some_;  // ids of the sum that is not complete
  uint64_t sum_ = 0;
};

}  // namespace

// Either ids in memory, or a file that has them with 2 or 4 bytes each from `offset` on.
struct Tokens::Source {
  std::vector<int64_t> ids;
  std::optional<detail::InputFile> file;
  uint64_t offset = 0;
  std::size_t width = 8;
  std::optional<uint64_t> checksum;  // of all ids, from the header
  std::optional<int64_t> largest;
  int64_t size = -1;  // what these are of

  template <class T>
  void read(int64_t begin, int64_t count, int64_t* out) const {
    // The narrow ids are read into the end of the room for the wide ones, then widened from the first on.
    char* const narrow = reinterpret_cast<char*>(out + count) - static_cast<std::size_t>(count) * sizeof(T);
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    if (file->read(offset + static_cast<uint64_t>(begin) * sizeof(T), bytes, narrow) < bytes) {
      fail("text", "{} has become shorter since it was opened", file->path());
    }
    for (int64_t i = 0; i < count; ++i) {
      T id;
      std::memcpy(&id, narrow + static_cast<std::size_t>(i) * sizeof id, sizeof id);
      out[i] = id;
    }
  }
  void copy(int64_t begin, int64_t count, int64_t* out) const {
    if (!file) {
      std::copy_n(ids.begin() + begin, count, out);
    } else if (width == 2) {
      read<uint16_t>(begin, count, out);
    } else {
      read<uint32_t>(begin, count, out);
    }
  }
};

Tokens::Tokens(std::vector<int64_t> ids) : size_(static_cast<int64_t>(ids.size())) {
  auto source = std::make_shared<Source>();
  source->ids = std::move(ids);
  source_ = std::move(source);
}

Tokens::Tokens(std::shared_ptr<const Source> source, int64_t begin, int64_t size)
    : source_(std::move(source)), begin_(begin), size_(size) {}

// A number in the metadata of a token file; none in a file of an earlier version.
template <class T>
std::optional<T> number_of(const SafeTensorsFile& file, std::string_view name, int base) {
  const auto found = file.metadata().find(std::string(name));
  if (found == file.metadata().end()) return std::nullopt;
  T number{};
  const char *const begin = found->second.data(), *const end = begin + found->second.size();
  if (const auto [last, error] = std::from_chars(begin, end, number, base); error != std::errc() || last != end) {
    fail("text", "{} is not a token file: expected a number as \"{}\" of its metadata, got \"{}\"", file.path(), name,
         found->second.substr(0, 40));
  }
  return number;
}

Tokens Tokens::open(const std::string& path) {
  const SafeTensorsFile file(path);
  const SafeTensorsFile::Entry* const entry = file.find("tokens");
  if (!entry || (entry->dtype != "U16" && entry->dtype != "U32") || entry->shape.rank() != 1) {
    fail("text", "{} is not a token file: expected a tensor \"tokens\", U16 or U32, with one axis", path);
  }
  auto source = std::make_shared<Source>();
  source->width = entry->dtype == "U16" ? 2 : 4;
  source->offset = entry->offset;
  source->checksum = number_of<uint64_t>(file, kIdsChecksum, 16);
  source->size = entry->shape[0];
  source->largest = number_of<int64_t>(file, kLargestId, 10);
  source->file.emplace(path);
  return Tokens(std::move(source), 0, entry->shape[0]);
}

int64_t Tokens::operator[](int64_t i) const {
  int64_t id = 0;
  copy(i, 1, &id);
  return id;
}

void Tokens::copy(int64_t begin, int64_t count, int64_t* out) const {
  if (begin < 0 || count < 0 || begin > size_ - count) {
    fail("text", "expected tokens within 0 to {}, got {} to {}", size_, begin, begin + count);
  }
  source_->copy(begin_ + begin, count, out);
}

Tokens Tokens::slice(int64_t begin, int64_t end) const {
  if (begin < 0 || begin > end || end > size_) {
    fail("text", "expected tokens within 0 to {}, got {} to {}", size_, begin, end);
  }
  return Tokens(source_, begin_ + begin, end - begin);
}

struct Tokens::Measured {
  uint64_t sum = 0;
  int64_t largest = -1;
};

// By a pass over all ids.
Tokens::Measured Tokens::measured() const {
  Measured all;
  std::vector<int64_t> piece(kIdsPerSum);
  for (int64_t at = 0; at < size_; at += std::ssize(piece)) {
    piece.resize(static_cast<std::size_t>(std::min(size_ - at, std::ssize(piece))));
    copy(at, std::ssize(piece), piece.data());
    all = {tapegrad::checksum(std::as_bytes(std::span(piece)), all.sum),
           std::max(all.largest, *std::ranges::max_element(piece))};
  }
  return all;
}

int64_t Tokens::largest() const {
  return source_->largest && size_ == source_->size ? *source_->largest : measured().largest;
}

uint64_t Tokens::checksum() const {
  return source_->checksum && size_ == source_->size ? *source_->checksum : measured().sum;
}

void Tokens::verify() const {
  if (!source_->checksum && !source_->largest) return;
  const auto [sum, largest] = Tokens(source_, 0, source_->size).measured();
  if (sum != source_->checksum.value_or(sum) || largest != source_->largest.value_or(largest)) {
    fail("text",
         "{} is damaged: its ids do not match the checksum in its header (write it again: tapegrad tokenize --save)",
         source_->file->path());
  }
}

// --- writing ---

bool is_safetensors_file(const std::string& path) {
  if (kind_of_file(path) != FileKind::file) return false;
  uint64_t length = 0;  // of the header: no text of less than an exabyte begins with bytes that say so little
  const std::string start = read_start_of_file(path, sizeof length + 1);
  if (start.size() <= sizeof length) return false;
  std::memcpy(&length, start.data(), sizeof length);
  std::error_code unknown;  // then the size is the largest number, and reading the header says why it cannot be read
  return start.back() == '{' && length < fs::file_size(path, unknown);
}

// A loop over threads encodes the pieces of one round. One turn of it writes the ids of the round before and reads the
// text of the next one.
int64_t write_token_file(const Tokenizer& tokenizer, const std::string& text_path, const std::string& path,
                         const TokenFileOptions& options) {
  std::error_code none;  // if there is no file yet, nothing is overwritten
  if (fs::equivalent(text_path, path, none)) fail("write_token_file", "{} is the text itself", path);
  const detail::InputFile text(text_path);
  require_plain_text(text_path, read_start_of_file(text_path, 512));
  detail::TextPieces pieces(text, 0, text.size(), options.piece,
                            [&](std::string_view part, std::size_t from) { return tokenizer.cut(part, from); });
  TokenFileWriter writer(path, tokenizer.size() <= 65536 ? 2 : 4);
  std::vector<EncodedPiece> encoded, before;
  const auto write_before = [&] {
    for (EncodedPiece& piece : before) writer.write(std::exchange(piece, {}));
  };
  for (detail::TextRound now = pieces.next(), next; !now.ends.empty(); now = std::move(next)) {
    const auto count = static_cast<int64_t>(now.ends.size());
    encoded.resize(now.ends.size());
    parallel_for(count + 1, 1, [&](int64_t turn, int64_t) {
      if (turn == 0) {
        write_before();
        next = pieces.next();
        return;
      }
      const auto i = static_cast<std::size_t>(turn - 1);
      encoded[i] = writer.encoded(tokenizer, now.piece(i), now.begin + now.begin_of(i));
    });
    before.swap(encoded);
    if (options.progress) options.progress(now.begin + now.text.size(), text.size());
  }
  write_before();
  return writer.commit();
}

}  // namespace tapegrad::data
