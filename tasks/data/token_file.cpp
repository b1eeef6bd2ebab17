// Token files: a safetensors file with one tensor of ids, written while the text is encoded piece by piece.
#include <fmt/format.h>
#include <tapegrad/autograd/io/safetensors.h>
#include <tapegrad/tasks/data/mapped_file.h>
#include <tapegrad/tasks/data/split.h>
#include <tapegrad/tasks/data/text.h>
#include <tapegrad/tasks/data/tokenizer.h>
#include <tapegrad/tasks/data/utf8.h>
#include <tapegrad/tasks/train/files.h>

#include <algorithm>
#include <cstring>
#include <fstream>

namespace tapegrad::data {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kHeader = 256;  // bytes before the ids: the length of the JSON, the JSON, blanks
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

// Where the next piece of the text may end: before a line's end that follows anything but white space, where no word
// and no special token of GPT-2 goes on; the whole text where there is none.
std::size_t piece_end(std::string_view text, std::size_t least) {
  for (std::size_t at = least; at < text.size(); ++at) {
    at = text.find('\n', at);
    if (at == std::string_view::npos) break;
    std::size_t last = at - 1;  // of the character before
    while (at - last < 4 && (static_cast<unsigned char>(text[last]) & 0xc0) == 0x80) --last;
    if (class_of(first_character(text.substr(last, at - last)).code) != CharacterClass::space) return at;
  }
  return text.size();
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
  return brace == '{' && length < fs::file_size(path);
}

int64_t write_token_file(const Tokenizer& tokenizer, const std::string& text_path, const std::string& path,
                         std::size_t piece) {
  std::error_code none;  // where there is nothing yet, nothing is lost
  if (fs::equivalent(text_path, path, none)) fail("write_token_file", fmt::format("{} is the text itself", path));
  const MappedFile text(text_path);
  const int64_t width = tokenizer.size() <= 65536 ? 2 : 4;
  int64_t count = 0;
  AtomicFile file(path);
  file.write(header(0, width));
  std::string bytes;
  for (std::string_view rest = text.bytes(); !rest.empty();) {
    const std::size_t end = piece_end(rest, std::max<std::size_t>(piece, 1));
    const std::vector<int64_t> ids = tokenizer.encode(rest.substr(0, end));
    rest.remove_prefix(end);
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
