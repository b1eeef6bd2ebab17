// Recognises files that are often found where weights, JSON or tables are expected.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/internal/foreign.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace tapegrad {
namespace {

using namespace std::string_view_literals;

struct Signature {
  std::string_view begin, kind;
};

constexpr Signature kSignatures[] = {
    {"version https://git-lfs", "a Git LFS pointer (run `git lfs pull` in its repository, or download the file again)"},
    {"\x1F\x8B"sv, "a gzip file (decompress it first: gunzip)"},
    {"\xFD"
     "7zXZ\0"sv,
     "an xz file (decompress it first: xz -d)"},
    {"\x28\xB5\x2F\xFD"sv, "a Zstandard file (decompress it first: zstd -d)"},
    {"\x93NUMPY"sv, "a NumPy array (.npy)"},
    {"\x89HDF\r\n"sv, "an HDF5 file"},
    {"SQLite format 3\0"sv, "an SQLite database"},
    {"%PDF-"sv, "a PDF document"},
    {"\xFF\xFE\0\0"sv, "a text in UTF-32 (iconv -f UTF-32 -t UTF-8 converts it)"},
    {"\0\0\xFE\xFF"sv, "a text in UTF-32 (iconv -f UTF-32 -t UTF-8 converts it)"},
    {"\xFF\xFE"sv, "a text in UTF-16 (iconv -f UTF-16 -t UTF-8 converts it)"},
    {"\xFE\xFF"sv, "a text in UTF-16 (iconv -f UTF-16 -t UTF-8 converts it)"},
};

constexpr std::string_view kTorch =
    "a file of torch.save (in Python: safetensors.torch.save_file(torch.load(FILE, weights_only=True), NAME))";

unsigned char byte_of(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

// An archive, by the name of its first entry.
std::string kind_of_zip(std::string_view start) {
  constexpr std::size_t kName = 30;
  uint16_t size = 0;
  if (start.size() >= kName) std::memcpy(&size, start.data() + 26, sizeof size);
  const std::string_view name = start.substr(std::min(kName, start.size()), size);
  if (name.ends_with(".npy")) return "an archive of NumPy arrays (.npz)";
  if (name.ends_with(".pkl") || name.ends_with("/version")) return std::string(kTorch);
  return "a ZIP archive (unzip it first)";
}

// A page or an answer of a web server. Tables may begin with '<', too.
std::string kind_of_markup(std::string_view start) {
  start.remove_prefix(std::min(start.find_first_not_of(" \t\r\n\xEF\xBB\xBF"), start.size()));
  std::string begin(start.substr(0, 10));
  for (char& c : begin)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (const std::string_view tag : {"<!doctype ", "<html>", "<html ", "<head>", "<head ", "<body>", "<body ", "<!--"})
    if (begin.starts_with(tag)) return "an HTML page (does its address lead to a page, or need a login?)";
  return begin.starts_with("<?xml") ? "an XML document (the error message of a server?)" : "";
}

}  // namespace

std::string foreign_to_text(std::string_view start) {
  for (const Signature& one : kSignatures)
    if (start.starts_with(one.begin)) return std::string(one.kind);
  if (start.starts_with("PK\3\4")) return kind_of_zip(start);
  const auto is_control = [&](std::size_t at) { return start.size() > at && byte_of(start, at) < ' '; };
  if (start.starts_with("GGUF") && is_control(4))
    return "a GGUF file (take the repository that has the model as safetensors)";
  if (start.starts_with("PAR1") && is_control(4)) return "a Parquet file (in Python: pandas.read_parquet)";
  if (start.starts_with("ARROW1\0"sv)) return "an Arrow file (in Python: pyarrow.feather.read_table)";
  if (start.starts_with("BZh") && start.size() > 4 && start.substr(4, 6) == "1AY&SY")
    return "a bzip2 file (decompress it first: bunzip2)";
  if (start.size() > 8 && start[8] == '{' && start.substr(4, 4) == "\0\0\0\0"sv) return "a safetensors file";
  if (start.size() > 263 && (start.substr(257, 6) == "ustar\0"sv || start.substr(257, 7) == "ustar  "))
    return "a tar archive (extract it first: tar xf)";
  // Protocols 2 to 5.
  if (start.size() > 2 && byte_of(start, 0) == 0x80 && byte_of(start, 1) >= 2 && byte_of(start, 1) <= 5) {
    constexpr std::string_view kMagic = "\x8A\x0Al\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19"sv;  // of torch.save before 1.6
    return start.substr(2).starts_with(kMagic) ? std::string(kTorch) : "a pickle file of Python";
  }
  const auto wide = [&](std::size_t zero) {  // ASCII in UTF-16 without a byte order mark
    return start.size() >= 4 && start[zero] == 0 && start[zero + 2] == 0 && start[1 - zero] != 0 &&
           start[3 - zero] != 0;
  };
  if (wide(0) || wide(1)) return "a text in UTF-16 (iconv -f UTF-16 -t UTF-8 converts it)";
  return "";
}

std::string foreign_kind(std::string_view start) {
  const std::string kind = foreign_to_text(start);
  return kind.empty() ? kind_of_markup(start) : kind;
}

std::string kind_of_text(std::string_view start) {
  constexpr std::size_t kMostShown = 40;
  const auto is_text = [](char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\r' || c == '\t'; };
  if (start.empty() || !std::all_of(start.begin(), start.end(), is_text)) return "";
  const std::string_view line = start.substr(0, start.find_first_of("\r\n\t"));
  return fmt::format("a text that begins with \"{}\"", line.substr(0, kMostShown));
}

void require_plain_text(const std::string& path, std::string_view start) {
  if (const std::string kind = foreign_to_text(start.substr(0, 512)); !kind.empty())
    fail("file", "{}: expected a text, got {}", path, kind);
}

}  // namespace tapegrad
