// Reads and writes safetensors files: u64 length of the header, the header in JSON, the tensors' bytes without gaps.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <tapegrad/autograd/safetensors.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

namespace tapegrad {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian, and so is all that follows");

using Json = nlohmann::ordered_json;

constexpr std::string_view kMetadata = "__metadata__";
constexpr std::uint64_t kMaxHeader = 100'000'000;
constexpr int kMaxDepth = 8;  // a valid header has 3 levels

// Messages of one file.
class File {
 public:
  explicit File(const std::string& path) : path_(path) {}
  template <class... T>
  [[noreturn]] void refuse(fmt::format_string<const T&...> text, const T&... values) const {
    std::string message = path_ + ": " + fmt::vformat(text, fmt::make_format_args(values...));
    for (char& c : message) {
      if (static_cast<unsigned char>(c) < ' ') c = '?';  // names from a file may hold anything, a message is one line
    }
    fail("safetensors", message);
  }
  [[noreturn]] void refuse_system(std::string_view action, int code) const {
    refuse("{}: {}", action, std::string_view(std::strerror(code)));
  }
  const std::string& path() const { return path_; }

 private:
  const std::string& path_;
};

// A piece of the header as it stands there, cut where it is long.
std::string shown(const Json& json) {
  const std::string text = json.dump(-1, ' ', true);
  return text.size() <= 80 ? text : text.substr(0, 77) + "...";
}

// An open file, closed at the end of its life.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }

 private:
  int number_;
};

// ---- Element types ----

// An element type of the format, and what its tensors become.
struct Type {
  std::string_view name;
  std::uint64_t size;
  DType becomes;
  void (*convert)(const std::byte* from, std::int64_t n, void* to);  // nullptr: the bytes as they are
};

template <class From, class To>
void widen(const std::byte* from, std::int64_t n, void* to) {
  for (std::int64_t i = 0; i < n; ++i) {
    From value;
    std::memcpy(&value, from + static_cast<std::size_t>(i) * sizeof value, sizeof value);
    static_cast<To*>(to)[i] = static_cast<To>(value);
  }
}

float from_half(std::uint16_t h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000u) << 16, exponent = h >> 10 & 31,
                      fraction = h & 1023;
  if (exponent == 0) return (sign ? -1.0f : 1.0f) * static_cast<float>(fraction) * 0x1p-24f;
  const std::uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

template <float (*F)(std::uint16_t)>
void widen_with(const std::byte* from, std::int64_t n, void* to) {
  for (std::int64_t i = 0; i < n; ++i) {
    std::uint16_t value;
    std::memcpy(&value, from + 2 * i, sizeof value);
    static_cast<float*>(to)[i] = F(value);
  }
}

float from_bfloat(std::uint16_t b) { return std::bit_cast<float>(static_cast<std::uint32_t>(b) << 16); }

constexpr Type kTypes[] = {
    {"F32", 4, kFloat32, nullptr},
    {"F64", 8, kFloat64, nullptr},
    {"I64", 8, kInt64, nullptr},
    {"BOOL", 1, kBool, nullptr},
    {"F16", 2, kFloat32, widen_with<from_half>},
    {"BF16", 2, kFloat32, widen_with<from_bfloat>},
    {"I32", 4, kInt64, widen<std::int32_t, std::int64_t>},
    {"I16", 2, kInt64, widen<std::int16_t, std::int64_t>},
    {"I8", 1, kInt64, widen<std::int8_t, std::int64_t>},
    {"U64", 8, kInt64, widen<std::uint64_t, std::int64_t>},
    {"U32", 4, kInt64, widen<std::uint32_t, std::int64_t>},
    {"U16", 2, kInt64, widen<std::uint16_t, std::int64_t>},
    {"U8", 1, kInt64, widen<std::uint8_t, std::int64_t>},
};

const Type& type_of(DType dtype) {
  return *std::find_if(std::begin(kTypes), std::end(kTypes),
                       [&](const Type& t) { return t.becomes == dtype && t.convert == nullptr; });
}

// ---- Reading ----

// A tensor as the header tells of it.
struct Entry {
  std::string name;
  const Type* type;
  Shape shape;
  std::uint64_t begin, end;  // bytes, counted from the end of the header
};

// The JSON of the header; a key that comes twice in one object is an Error, which the parser alone would let pass.
Json parse_header(const File& file, const std::string& text) {
  if (text.empty() || text[0] != '{') file.refuse("the header does not start with '{{' (is this a safetensors file?)");
  std::vector<std::set<std::string>> keys;
  try {
    return Json::parse(text, [&](int depth, Json::parse_event_t event, Json& parsed) {
      if (depth > kMaxDepth) file.refuse("the header is nested deeper than {} levels", kMaxDepth);
      if (event == Json::parse_event_t::object_start) keys.emplace_back();
      if (event == Json::parse_event_t::object_end) keys.pop_back();
      if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second) {
        file.refuse("the header has the key \"{}\" twice", parsed.get<std::string>());
      }
      return true;
    });
  } catch (const nlohmann::json::parse_error& e) {
    file.refuse("the header is not JSON (at byte {} of the file)", e.byte + 7);
  }
}

// A number of the header that is a whole one from 0 up.
std::uint64_t whole(const File& file, const Json& value, const std::string& name, std::string_view field) {
  if (!value.is_number_unsigned()) {
    file.refuse("tensor \"{}\": {} holds {}, need whole numbers from 0 up", name, field, shown(value));
  }
  return value.get<std::uint64_t>();
}

Entry parse_entry(const File& file, const std::string& name, const Json& json) {
  if (!json.is_object()) file.refuse("tensor \"{}\" is no object with dtype, shape and data_offsets", name);
  const auto field = [&](const char* key) -> const Json& {
    const auto found = json.find(key);
    if (found == json.end()) file.refuse("tensor \"{}\" has no {}", name, key);
    return *found;
  };
  Entry entry{name, nullptr, {}, 0, 0};
  const Json& dtype = field("dtype");
  for (const Type& type : kTypes) {
    if (dtype.is_string() && dtype.get_ref<const std::string&>() == type.name) entry.type = &type;
  }
  if (!entry.type) {
    std::string known;
    for (const Type& type : kTypes) known.append(known.empty() ? "" : ", ").append(type.name);
    file.refuse("tensor \"{}\": unknown dtype {} (known: {})", name, shown(dtype), known);
  }
  const Json& shape = field("shape");
  if (!shape.is_array()) file.refuse("tensor \"{}\": shape is {}, need a list of sizes", name, shown(shape));
  if (shape.size() > kMaxRank) {
    file.refuse("tensor \"{}\": shape has {} axes, at most {} are supported", name, shape.size(), kMaxRank);
  }
  std::uint64_t bytes = entry.type->size, extent = 16;  // extent: with axes of size 0 counted as 1, in widest elements
  for (const Json& size : shape) {
    const std::uint64_t n = whole(file, size, name, "shape");
    constexpr std::uint64_t kLimit = std::uint64_t{1} << 62;
    if (n > kLimit || (n != 0 && extent > kLimit / n)) {
      file.refuse("tensor \"{}\": shape {} overflows 64 bits", name, shown(shape));
    }
    bytes *= n;
    extent *= n == 0 ? 1 : n;
    entry.shape.push_back(static_cast<std::int64_t>(n));
  }
  const Json& offsets = field("data_offsets");
  if (!offsets.is_array() || offsets.size() != 2) {
    file.refuse("tensor \"{}\": data_offsets is {}, need [begin, end]", name, shown(offsets));
  }
  entry.begin = whole(file, offsets[0], name, "data_offsets");
  entry.end = whole(file, offsets[1], name, "data_offsets");
  if (entry.begin > entry.end) {
    file.refuse("tensor \"{}\": data_offsets {} end before they begin", name, shown(offsets));
  }
  if (entry.end - entry.begin != bytes) {
    file.refuse("tensor \"{}\": {} {} needs {} bytes, data_offsets {} hold {}", name, entry.type->name,
                str(entry.shape), bytes, shown(offsets), entry.end - entry.begin);
  }
  return entry;
}

// The tensors must cover the data exactly: side by side, from its first byte to its last.
void check_cover(const File& file, const std::vector<Entry>& entries, std::uint64_t data) {
  std::uint64_t covered = 0;
  std::string_view last = "the header";
  for (const Entry& entry : entries) {
    if (entry.begin < covered) {
      file.refuse("tensors \"{}\" and \"{}\" overlap at byte {} of the data", last, entry.name, entry.begin);
    }
    if (entry.begin > covered) {
      file.refuse("bytes {} to {} of the data, before tensor \"{}\", belong to no tensor", covered, entry.begin - 1,
                  entry.name);
    }
    if (entry.end > data) {
      file.refuse("tensor \"{}\" ends at byte {} of the data, of which there are {} (truncated?)", entry.name,
                  entry.end, data);
    }
    covered = entry.end;
    last = entry.name;
  }
  if (covered < data) file.refuse("{} bytes follow the last tensor", data - covered);
}

void read_at(const File& file, const Descriptor& from, std::uint64_t offset, std::span<std::byte> to) {
  while (!to.empty()) {
    const ssize_t count = ::pread(from.get(), to.data(), to.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) file.refuse_system("cannot read", errno);
    if (count == 0) file.refuse("ended at byte {} while it was read", offset);
    to = to.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

Tensor read_tensor(const File& file, const Descriptor& from, std::uint64_t data_at, const Entry& entry) {
  const Tensor tensor = Tensor::empty(entry.shape, entry.type->becomes);
  const std::uint64_t bytes = entry.end - entry.begin;
  if (bytes == 0) return tensor;
  if (entry.type->convert == nullptr) {
    auto* const values = static_cast<std::byte*>(tensor.mutable_raw_data());
    read_at(file, from, data_at + entry.begin, {values, static_cast<std::size_t>(bytes)});
    if (entry.type->becomes == kBool) {
      for (std::uint64_t i = 0; i < bytes; ++i) {
        if (values[i] > std::byte{1}) {
          const int value = static_cast<int>(values[i]);
          file.refuse("tensor \"{}\": element {} is the byte {}, need 0 or 1 for BOOL", entry.name, i, value);
        }
      }
    }
    return tensor;
  }
  std::vector<std::byte> raw(static_cast<std::size_t>(bytes));
  read_at(file, from, data_at + entry.begin, raw);
  entry.type->convert(raw.data(), tensor.numel(), tensor.mutable_raw_data());
  if (entry.type->name == "U64") {
    for (std::int64_t i = 0; i < tensor.numel(); ++i) {
      if (tensor.data<std::int64_t>()[i] < 0) {
        file.refuse("tensor \"{}\": element {} is 2^63 or more, which int64 does not hold", entry.name, i);
      }
    }
  }
  return tensor;
}

// ---- Writing ----

void write_all(const File& file, const Descriptor& to, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(to.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) file.refuse_system("cannot write", count < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

// Opens the temporary file and takes it for this writer alone: whoever comes second waits, then starts with a new one.
int open_alone(const File& file, const std::string& path) {
  while (true) {
    const int number = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (number < 0) file.refuse_system("cannot write", errno);
    struct stat mine {
    }, there{};
    if (::flock(number, LOCK_EX) == 0 && ::fstat(number, &mine) == 0 && ::stat(path.c_str(), &there) == 0 &&
        mine.st_ino == there.st_ino && mine.st_dev == there.st_dev) {
      return number;
    }
    ::close(number);
  }
}

// Replaces `file` by what `write` writes, whole or not at all.
template <class F>
void replace(const File& file, const F& write) {
  const std::size_t slash = file.path().rfind('/');
  const std::string folder = slash == std::string::npos ? "" : file.path().substr(0, slash + 1);
  const std::string temporary = fmt::format("{}.{}.new", folder, file.path().substr(folder.size()));
  const Descriptor to(open_alone(file, temporary));
  try {
    if (::ftruncate(to.get(), 0) != 0) file.refuse_system("cannot write", errno);
    write(to);
    if (::fsync(to.get()) != 0) file.refuse_system("cannot write", errno);
    if (::rename(temporary.c_str(), file.path().c_str()) != 0) file.refuse_system("cannot replace", errno);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  // The name, too, must survive a loss of power; some file systems cannot sync a folder and say so by EINVAL.
  const Descriptor parent(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent.get() >= 0 && ::fsync(parent.get()) != 0 && errno != EINVAL) file.refuse_system("cannot sync", errno);
}

}  // namespace

const Tensor* SafeTensors::find(std::string_view name) const {
  for (const NamedTensor& t : tensors) {
    if (t.name == name) return &t.tensor;
  }
  return nullptr;
}

const Tensor& SafeTensors::operator[](std::string_view name) const {
  const Tensor* const found = find(name);
  if (!found) fail("safetensors", fmt::format("there is no tensor \"{}\" among the {} read", name, tensors.size()));
  return *found;
}

SafeTensors load_safetensors(const std::string& path) {
  const File file(path);
  const Descriptor from(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (from.get() < 0) file.refuse_system("cannot open", errno);
  struct stat status {};
  if (::fstat(from.get(), &status) != 0) file.refuse_system("cannot read", errno);
  if (!S_ISREG(status.st_mode)) file.refuse("is no regular file");
  const std::uint64_t size = static_cast<std::uint64_t>(status.st_size);
  if (size < 8) file.refuse("has {} bytes, need at least the 8 of the header's length", size);
  std::uint64_t header_size = 0;
  read_at(file, from, 0, std::as_writable_bytes(std::span(&header_size, 1)));
  if (header_size > kMaxHeader)
    file.refuse("the header is said to have {} bytes, at most {} are allowed", header_size, kMaxHeader);
  if (header_size > size - 8) {
    file.refuse("the header is said to have {} bytes, only {} follow (truncated?)", header_size, size - 8);
  }
  std::string text(static_cast<std::size_t>(header_size), '\0');
  read_at(file, from, 8, std::as_writable_bytes(std::span(text.data(), text.size())));
  const Json header = parse_header(file, text);

  SafeTensors out;
  std::vector<Entry> entries;
  for (const auto& [name, value] : header.items()) {
    if (name != kMetadata) {
      entries.push_back(parse_entry(file, name, value));
      continue;
    }
    if (!value.is_object()) file.refuse("{} is no object of strings", kMetadata);
    for (const auto& [key, string] : value.items()) {
      if (!string.is_string())
        file.refuse("{}: the value of \"{}\" is {}, need a string", kMetadata, key, shown(string));
      out.metadata.emplace(key, string.template get<std::string>());
    }
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  const std::uint64_t data_at = 8 + header_size;
  check_cover(file, entries, size - data_at);
  for (const Entry& entry : entries) out.tensors.push_back({entry.name, read_tensor(file, from, data_at, entry)});
  return out;
}

void save_safetensors(const std::string& path, const NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata) {
  const File file(path);
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& t : tensors) order.push_back(&t);
  std::stable_sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
    return item_size(a->tensor.dtype()) > item_size(b->tensor.dtype());
  });
  Json header = Json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  std::set<std::string_view> names{kMetadata};
  std::int64_t offset = 0;
  for (const NamedTensor* t : order) {
    if (t->name == kMetadata) file.refuse("a tensor cannot be named {}", kMetadata);
    if (!names.insert(t->name).second) file.refuse("two tensors are named \"{}\"", t->name);
    const std::int64_t begin = offset;
    offset += t->tensor.numel() * item_size(t->tensor.dtype());
    const Shape& shape = t->tensor.shape();
    header[t->name] = {{"dtype", type_of(t->tensor.dtype()).name},
                       {"shape", std::vector<std::int64_t>(shape.begin(), shape.end())},
                       {"data_offsets", {begin, offset}}};
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::type_error&) {
    file.refuse("a name or a string of the metadata is not UTF-8");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the data begins aligned
  if (text.size() > kMaxHeader)
    file.refuse("the header would have {} bytes, at most {} are allowed", text.size(), kMaxHeader);
  const std::uint64_t header_size = text.size();

  replace(file, [&](const Descriptor& to) {
    write_all(file, to, std::as_bytes(std::span(&header_size, 1)));
    write_all(file, to, std::as_bytes(std::span<const char>(text)));
    for (const NamedTensor* t : order) {
      if (t->tensor.numel() == 0) continue;
      const Tensor packed = t->tensor.detach().contiguous();
      write_all(file, to,
                {static_cast<const std::byte*>(packed.raw_data()),
                 static_cast<std::size_t>(packed.numel() * item_size(packed.dtype()))});
    }
  });
}

}  // namespace tapegrad
