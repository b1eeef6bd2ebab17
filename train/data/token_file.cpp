// Writes token files: a safetensors file with one tensor of ids, written while the text is encoded on all threads.
#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/io/files.h>
#include <tapegrad/autograd/io/internal/checksum.h>
#include <tapegrad/autograd/io/internal/foreign.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/train/data/detail/text_pieces.h>
#include <tapegrad/train/data/detail/token_file.h>
#include <tapegrad/train/data/tokenizer.h>
#include <tapegrad/train/data/tokens.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <filesystem>
#include <span>
#include <utility>

namespace tapegrad::data {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHeader = 256;  // bytes before the ids: the length of the JSON, the JSON, spaces

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
    some_.reserve(detail::kIdsPerSum);
    file_.write(header());
  }

  EncodedPiece encoded(const Tokenizer& tokenizer, std::string_view text, uint64_t begin) const {
    EncodedPiece piece;
    try {
      const std::vector<int64_t> ids = tokenizer.encode(text);
      if (!ids.empty()) piece.largest = *std::max_element(ids.begin(), ids.end());
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
      const std::size_t count = std::min((bytes.size() - at) / sizeof(T), detail::kIdsPerSum - some_.size());
      for (std::size_t i = 0; i < count; ++i, at += sizeof(T)) {
        T id;
        std::memcpy(&id, bytes.data() + at, sizeof id);
        some_.push_back(id);
      }
      if (some_.size() == detail::kIdsPerSum) end_sum();
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
        detail::kIdsChecksum, sum_, detail::kLargestId, largest_, width_ == 2 ? "U16" : "U32", count_, count_ * width_);
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
  if (fs::equivalent(text_path, path, none)) fail("write_token_file", fmt::format("{} is the text itself", path));
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
