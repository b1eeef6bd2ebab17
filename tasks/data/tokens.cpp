#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/io/files.h>
#include <tapegrad/autograd/io/safetensors.h>
#include <tapegrad/tasks/data/detail/input_file.h>
#include <tapegrad/tasks/data/split.h>
#include <tapegrad/tasks/data/tokenizer.h>
#include <tapegrad/tasks/data/tokens.h>
#include <tapegrad/tasks/data/utf8.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

namespace tapegrad::data {

namespace fs = std::filesystem;

// ---- Tokens ----

// Either ids in memory, or a file that has them with 2 or 4 bytes each from `offset` on.
struct Tokens::Source {
  std::vector<int64_t> ids;
  std::optional<detail::InputFile> file;
  uint64_t offset = 0;
  std::size_t width = 8;

  template <class T>
  void read(int64_t begin, int64_t count, int64_t* out) const {
    // The narrow ids are read into the end of the room for the wide ones, then widened from the first on.
    char* const narrow = reinterpret_cast<char*>(out + count) - static_cast<std::size_t>(count) * sizeof(T);
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    if (file->read(offset + static_cast<uint64_t>(begin) * sizeof(T), bytes, narrow) < bytes) {
      fail("text", fmt::format("{} has become shorter since it was opened", file->path()));
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

Tokens Tokens::open(const std::string& path) {
  const SafeTensorsFile file(path);
  const SafeTensorsFile::Entry* const entry = file.find("tokens");
  if (!entry || (entry->dtype != "U16" && entry->dtype != "U32") || entry->shape.rank() != 1) {
    fail("text", fmt::format("{} is not a token file: expected a tensor \"tokens\", U16 or U32, with one axis", path));
  }
  auto source = std::make_shared<Source>();
  source->width = entry->dtype == "U16" ? 2 : 4;
  source->offset = entry->offset;
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
    fail("text", fmt::format("expected tokens within 0 to {}, got {} to {}", size_, begin, begin + count));
  }
  source_->copy(begin_ + begin, count, out);
}

Tokens Tokens::slice(int64_t begin, int64_t end) const {
  if (begin < 0 || begin > end || end > size_) {
    fail("text", fmt::format("expected tokens within 0 to {}, got {} to {}", size_, begin, end));
  }
  return Tokens(source_, begin_ + begin, end - begin);
}

int64_t Tokens::largest() const {
  int64_t largest = -1;
  std::vector<int64_t> piece(1 << 16);
  for (int64_t at = 0; at < size_;) {
    const int64_t count = std::min(size_ - at, static_cast<int64_t>(piece.size()));
    copy(at, count, piece.data());
    largest = std::max(largest, *std::max_element(piece.begin(), piece.begin() + count));
    at += count;
  }
  return largest;
}

// ---- token files: a safetensors file with one tensor of ids, written while the text is encoded ----

namespace {

constexpr std::size_t kHeader = 256;  // bytes before the ids: the length of the JSON, the JSON, spaces
constexpr std::string_view kStart = R"({"__metadata__":{"kind":"tokens"},"tokens":)";

std::string header(int64_t count, int64_t width) {
  std::string json = fmt::format(R"({}{{"dtype":"{}","shape":[{}],"data_offsets":[0,{}]}}}})", kStart,
                                 width == 2 ? "U16" : "U32", count, count * width);
  const uint64_t length = kHeader - sizeof length;
  json.resize(length, ' ');
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + json;
}

// Special tokens that an end of line is within.
std::vector<std::string> tokens_across_lines(const Tokenizer& tokenizer) {
  std::vector<std::string> found = tokenizer.special_tokens();
  std::erase_if(found, [](const std::string& token) { return token.find('\n', 1) == std::string::npos; });
  return found;
}

// Whether one of the tokens may have bytes on both sides of the end of line at `at`: the text has as much of it as it
// goes on.
bool is_within(const std::vector<std::string>& tokens, std::string_view text, std::size_t at) {
  for (const std::string_view token : tokens) {
    for (std::size_t line = token.find('\n', 1); line != std::string_view::npos; line = token.find('\n', line + 1)) {
      if (line <= at && token.starts_with(text.substr(at - line, token.size()))) return true;
    }
  }
  return false;
}

// The end of the next piece of the text, `least` or more bytes long: before an end of line that follows anything but
// white space, across which no word reaches, and that is not within a special token. npos where there is none.
std::size_t piece_end(std::string_view text, std::size_t least, const std::vector<std::string>& across) {
  for (std::size_t at = text.find('\n', least); at != std::string_view::npos; at = text.find('\n', at + 1)) {
    std::size_t last = at - 1;  // start of the character before
    while (last > 0 && at - last < 4 && (static_cast<unsigned char>(text[last]) & 0xc0) == 0x80) --last;
    if (class_of(first_character(text.substr(last, at - last)).code) == CharacterClass::space) continue;
    if (!is_within(across, text, at)) return at;
  }
  return std::string_view::npos;
}

template <class T>
void append(std::string& bytes, const std::vector<int64_t>& ids) {
  const std::size_t begin = bytes.size();
  bytes.resize(begin + ids.size() * sizeof(T));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const T id = static_cast<T>(ids[i]);
    std::memcpy(bytes.data() + begin + i * sizeof id, &id, sizeof id);
  }
}

}  // namespace

bool is_safetensors_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  uint64_t length = 0;  // of the header: no text of less than an exabyte begins with bytes that say so little
  char brace = 0;
  if (!file.read(reinterpret_cast<char*>(&length), sizeof length) || !file.get(brace)) return false;
  std::error_code unknown;  // then the size is the largest number, and reading the header says why it cannot be read
  return brace == '{' && length < fs::file_size(path, unknown);
}

int64_t write_token_file(const Tokenizer& tokenizer, const std::string& text_path, const std::string& path,
                         std::size_t piece) {
  std::error_code none;  // if there is no file yet, nothing is overwritten
  if (fs::equivalent(text_path, path, none)) fail("write_token_file", fmt::format("{} is the text itself", path));
  const detail::InputFile text(text_path);
  piece = std::max<std::size_t>(piece, 1);
  const std::vector<std::string> across = tokens_across_lines(tokenizer);
  const int64_t width = tokenizer.size() <= 65536 ? 2 : 4;
  int64_t count = 0;
  AtomicFile file(path);
  file.write(header(0, width));
  std::string held, bytes;  // text that was read and is not encoded yet; ids as the file has them
  uint64_t offset = 0;
  std::size_t searched = piece;  // no piece ends before
  for (bool whole = false; !whole || !held.empty();) {
    std::size_t end = piece_end(held, searched, across);
    if (end == std::string_view::npos && !whole) {
      const std::size_t before = held.size();
      searched = std::max(piece, before);
      held.resize(before + piece + (std::size_t{1} << 16));
      const std::size_t more = text.read(offset, held.size() - before, held.data() + before);
      whole = more < held.size() - before;
      held.resize(before + more);
      offset += more;
      continue;
    }
    end = std::min(end, held.size());
    const std::vector<int64_t> ids = tokenizer.encode(std::string_view(held).substr(0, end));
    held.erase(0, end);
    searched = piece;
    bytes.clear();
    width == 2 ? append<uint16_t>(bytes, ids) : append<uint32_t>(bytes, ids);
    file.write(bytes);
    count += static_cast<int64_t>(ids.size());
  }
  file.overwrite(0, header(count, width));
  file.commit();
  return count;
}

}  // namespace tapegrad::data
