// The .npy format: "\x93NUMPY", version, length of the header, a dictionary as Python prints it, the values.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include <fmt/format.h>
#include <tapegrad/autograd/io/detail/element_types.h>
#include <tapegrad/autograd/io/detail/npy.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace tapegrad::numpy {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64, kMostOfHeader = 1'000'000, kMostDigits = 21;

// ---- The header ----

struct Header {
  const FileType* type = nullptr;
  bool swapped = false;  // big-endian
  bool fortran_order = false;
  Shape shape;
};

// Parses the dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }, in any order of keys.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  Header parse() {
    Header header;
    bool has_type = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      expect(':');
      bool* const seen = key == "descr" ? &has_type : key == "fortran_order" ? &has_order : &has_shape;
      if ((seen == &has_shape && key != "shape") || *seen) damaged();
      *seen = true;
      if (seen == &has_type) {
        type(header);
      } else if (seen == &has_order) {
        header.fortran_order = boolean();
      } else {
        header.shape = shape();
      }
      if (!accept(',') && peek() != '}') damaged();
    }
    if (text_.find_first_not_of(" \n", at_) != std::string_view::npos || !has_type || !has_order || !has_shape)
      damaged();
    return header;
  }

 private:
  [[noreturn]] void damaged() const {
    refuse(where_, "expected a header with descr, fortran_order and shape, got \"{}\" (wrong at byte {})",
           text_.substr(0, 200), at_);
  }
  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) damaged();
  }
  std::string_view string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') damaged();
    const std::size_t end = text_.find(quote, ++at_);
    if (end == std::string_view::npos) damaged();
    const std::string_view found = text_.substr(at_, end - at_);
    at_ = end + 1;
    return found;
  }
  bool boolean() {
    peek();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return value;
    }
    damaged();
  }
  Shape shape() {
    Shape shape;
    expect('(');
    while (!accept(')')) {
      int64_t size = 0;
      peek();
      const char* const first = text_.data() + at_;
      const auto [stop, error] = std::from_chars(first, text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0) damaged();
      at_ += static_cast<std::size_t>(stop - first);
      accept('L');  // long integers of Python 2
      if (shape.rank() == kMaxRank) refuse(where_, "expected an array of at most {} axes", kMaxRank);
      shape.push_back(size);
      if (!accept(',') && peek() != ')') damaged();
    }
    return shape;
  }
  void type(Header& header) {
    if (peek() == '[') refuse(where_, "expected an array of numbers, got one of records (a structured dtype)");
    const std::string_view descr = string();
    const std::string_view code = descr.substr(std::min<std::size_t>(descr.size(), 1));
    if (code.starts_with('O')) refuse(where_, "expected an array of numbers, got one of Python objects");
    for (const FileType& each : file_types())
      if (each.numpy == code && !code.empty() && std::string_view("<>|=").find(descr[0]) != std::string_view::npos)
        header.type = &each;
    if (!header.type) {
      refuse(where_, "expected numbers of type f2, f4, f8, b1, i1, i2, i4, i8, u1, u2, u4 or u8, got \"{}\"", descr);
    }
    header.swapped = descr[0] == '>' && header.type->size > 1;
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
};

// The dictionary, without what precedes it. Sets `rest` to the number of bytes after it.
std::string read_header(Source& source, const std::string& where, uint64_t& rest) {
  const uint64_t size = source.size();
  char start[8];
  if (size >= sizeof start) source.read(std::as_writable_bytes(std::span(start)));
  if (size < sizeof start || std::string_view(start, kMagic.size()) != kMagic)
    refuse(where, "is not an array of NumPy: expected the bytes \\x93NUMPY at its start");
  const int major = static_cast<unsigned char>(start[6]), minor = static_cast<unsigned char>(start[7]);
  if (major < 1 || major > 3 || minor != 0)
    refuse(where, "expected version 1.0, 2.0 or 3.0 of the format, got {}.{}", major, minor);
  const std::size_t width = major == 1 ? 2 : 4;
  uint32_t length = 0;  // little-endian, as we are
  if (size < sizeof start + width) refuse(where, "ends after {} bytes, in its header", size);
  source.read(std::as_writable_bytes(std::span(&length, 1)).first(width));
  if (length > kMostOfHeader)
    refuse(where, "the header has {} bytes by its length, at most {} are allowed", length, kMostOfHeader);
  rest = size - sizeof start - width;
  if (length > rest) refuse(where, "the header has {} bytes by its length, only {} follow (truncated?)", length, rest);
  rest -= length;
  std::string text(length, '\0');
  source.read(std::as_writable_bytes(std::span(text.data(), text.size())));
  return text;
}

// The bytes of all values. Error for a number that 64 bits do not hold.
uint64_t bytes_of_values(const Header& header, const std::string& where) {
  BytesOfShape bytes(header.type->size);
  for (const int64_t size : header.shape) {
    if (!bytes.add_axis(static_cast<uint64_t>(size))) refuse(where, "the shape {} overflows 64 bits", header.shape);
  }
  return bytes.count();
}

void swap_bytes(std::span<std::byte> bytes, std::size_t size) {
  for (auto at = bytes.begin(); at != bytes.end(); at += static_cast<std::ptrdiff_t>(size))
    std::reverse(at, at + static_cast<std::ptrdiff_t>(size));
}

// Errors for values that the tensor's type cannot have.
void check_values(const Tensor& tensor, const FileType& type, const std::string& where) {
  const bool is_unsigned = type.numpy == "u8";
  const int64_t wrong = first_wrong_element(tensor, is_unsigned);
  if (wrong < 0) return;
  if (is_unsigned) refuse(where, "element {} is 2^63 or more, which int64 does not hold", wrong);
  refuse(where, "element {} is the byte {}, expected 0 or 1 for a bool", wrong, byte_at(tensor, wrong));
}

Shape reversed(const Shape& shape) {
  Shape out = shape;
  for (int i = 0; i < shape.rank(); ++i) out[i] = shape[shape.rank() - 1 - i];
  return out;
}

// "<f4", "|b1".
std::string code_of(DType dtype, const std::string& where) {
  const tapegrad::detail::TypeRow& row = tapegrad::detail::row_of(dtype);
  if (row.numpy.empty()) refuse(where, "NumPy has no {} (convert the tensor with to(kFloat32))", row.name);
  return fmt::format("{}{}", row.size == 1 ? '|' : '<', row.numpy);
}

}  // namespace

Tensor turned(const Tensor& x) {
  Dims axes;
  for (int i = x.dim() - 1; i >= 0; --i) axes.push_back(i);
  return x.permute(axes);
}

Tensor read_array(Source& source, const std::string& where) {
  uint64_t rest = 0;
  const std::string text = read_header(source, where, rest);
  const Header header = HeaderParser(text, where).parse();
  const FileType& type = *header.type;
  const uint64_t bytes = bytes_of_values(header, where);
  if (bytes > rest)
    refuse(where, "the shape {} of {} needs {} bytes, only {} follow the header (truncated?)", header.shape, type.numpy,
           bytes, rest);
  if (bytes < rest)
    refuse(where, "the shape {} of {} needs {} bytes, {} follow the header", header.shape, type.numpy, bytes, rest);
  const Tensor tensor = Tensor::empty(header.fortran_order ? reversed(header.shape) : header.shape, type.becomes);
  if (bytes > 0) {
    std::vector<std::byte> raw(type.convert ? static_cast<std::size_t>(bytes) : 0);
    const std::span<std::byte> values =
        type.convert ? std::span(raw)
                     : std::span(static_cast<std::byte*>(tensor.mutable_raw_data()), static_cast<std::size_t>(bytes));
    source.read(values);
    if (header.swapped) swap_bytes(values, type.size);
    if (type.convert) type.convert(raw.data(), tensor.numel(), tensor.mutable_raw_data());
  }
  check_values(tensor, type, where);
  return header.fortran_order ? turned(tensor).contiguous() : tensor;
}

std::string array_header(const Tensor& tensor, bool fortran_order, const std::string& where) {
  const Shape& shape = tensor.shape();
  std::string sizes;
  for (const int64_t n : shape) sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", n);
  if (shape.rank() == 1) sizes += ',';
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}), }}",
                                 code_of(tensor.dtype(), where), fortran_order ? "True" : "False", sizes);
  // NumPy leaves space for a longer first axis in file order.
  if (!shape.empty()) text.append(kMostDigits - fmt::format("{}", shape[fortran_order ? -1 : 0]).size(), ' ');
  const std::size_t before = kMagic.size() + 4;  // with the version and the length
  text.append(kAlignment - (before + text.size() + 1) % kAlignment, ' ');
  text += '\n';
  const auto length = static_cast<uint16_t>(text.size());
  std::string header(kMagic);
  header.append("\x01\x00", 2).append(reinterpret_cast<const char*>(&length), sizeof length);
  return header + text;
}

std::span<const std::byte> values_of(const Tensor& packed) {
  if (packed.numel() == 0) return {};
  return {static_cast<const std::byte*>(packed.raw_data()),
          static_cast<std::size_t>(packed.numel() * item_size(packed.dtype()))};
}

}  // namespace tapegrad::numpy
