// Reads safetensors files: u64 length of the header, the header in JSON, the tensors' bytes without gaps.
#include <fcntl.h>
#include <sys/stat.h>
#include <tapegrad/autograd/io/detail/safetensors_file.h>
#include <tapegrad/autograd/io/safetensors.h>
#include <tapegrad/autograd/kernels/bfloat16.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

namespace tapegrad {
namespace {

using namespace safetensors;
using Json = nlohmann::ordered_json;

constexpr int kMaxDepth = 8;  // a valid header has 3 levels

// A piece of the header as it stands there, cut where it is long.
std::string shown(const Json& json) {
  const std::string text = json.dump(-1, ' ', true);
  return text.size() <= 80 ? text : text.substr(0, 77) + "...";
}

// ---- Element types ----

// An element type of the format, and what its tensors become.
struct Type {
  std::string_view name;
  uint64_t size;
  DType becomes;
  void (*convert)(const std::byte* from, int64_t n, void* to);  // nullptr: the bytes as they are
};

template <class From, class To>
void widen(const std::byte* from, int64_t n, void* to) {
  for (int64_t i = 0; i < n; ++i) {
    From value;
    std::memcpy(&value, from + static_cast<std::size_t>(i) * sizeof value, sizeof value);
    static_cast<To*>(to)[i] = static_cast<To>(value);
  }
}

float from_half(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16, exponent = h >> 10 & 31, fraction = h & 1023;
  if (exponent == 0) return (sign ? -1.0f : 1.0f) * static_cast<float>(fraction) * 0x1p-24f;
  const uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

template <float (*F)(uint16_t)>
void widen_with(const std::byte* from, int64_t n, void* to) {
  for (int64_t i = 0; i < n; ++i) {
    uint16_t value;
    std::memcpy(&value, from + 2 * i, sizeof value);
    static_cast<float*>(to)[i] = F(value);
  }
}

constexpr Type kTypes[] = {
    {"F32", 4, kFloat32, nullptr},
    {"F64", 8, kFloat64, nullptr},
    {"I64", 8, kInt64, nullptr},
    {"BOOL", 1, kBool, nullptr},
    {"F16", 2, kFloat32, widen_with<from_half>},
    {"BF16", 2, kFloat32, widen_with<widen_bfloat16>},
    {"I32", 4, kInt64, widen<int32_t, int64_t>},
    {"I16", 2, kInt64, widen<int16_t, int64_t>},
    {"I8", 1, kInt64, widen<int8_t, int64_t>},
    {"U64", 8, kInt64, widen<uint64_t, int64_t>},
    {"U32", 4, kInt64, widen<uint32_t, int64_t>},
    {"U16", 2, kInt64, widen<uint16_t, int64_t>},
    {"U8", 1, kInt64, widen<uint8_t, int64_t>},
};

// nullptr for a name that is none.
const Type* type_named(std::string_view name) {
  for (const Type& type : kTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

// ---- Reading ----

using Entry = SafeTensorsFile::Entry;

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
  } catch (const nlohmann::json::out_of_range&) {
    file.refuse("the header holds a number that is too large");
  }
}

// A number of the header that is a whole one from 0 up.
uint64_t whole(const File& file, const Json& value, const std::string& name, std::string_view field) {
  if (!value.is_number_unsigned()) {
    file.refuse("tensor \"{}\": {} holds {}, need whole numbers from 0 up", name, field, shown(value));
  }
  return value.get<uint64_t>();
}

Entry parse_entry(const File& file, const std::string& name, const Json& json) {
  if (!json.is_object()) file.refuse("tensor \"{}\" is no object with dtype, shape and data_offsets", name);
  const auto field = [&](const char* key) -> const Json& {
    const auto found = json.find(key);
    if (found == json.end()) file.refuse("tensor \"{}\" has no {}", name, key);
    return *found;
  };
  const Json& dtype = field("dtype");
  const Type* const type = dtype.is_string() ? type_named(dtype.get_ref<const std::string&>()) : nullptr;
  if (!type) {
    std::string known;
    for (const Type& each : kTypes) known.append(known.empty() ? "" : ", ").append(each.name);
    file.refuse("tensor \"{}\": unknown dtype {} (known: {})", name, shown(dtype), known);
  }
  Entry entry{name, type->name, {}, 0, 0};
  const Json& shape = field("shape");
  if (!shape.is_array()) file.refuse("tensor \"{}\": shape is {}, need a list of sizes", name, shown(shape));
  if (shape.size() > kMaxRank) {
    file.refuse("tensor \"{}\": shape has {} axes, at most {} are supported", name, shape.size(), kMaxRank);
  }
  uint64_t bytes = type->size, extent = 16;  // extent: with axes of size 0 counted as 1, in widest elements
  for (const Json& size : shape) {
    const uint64_t n = whole(file, size, name, "shape");
    constexpr uint64_t kLimit = uint64_t{1} << 62;
    if (n > kLimit || (n != 0 && extent > kLimit / n)) {
      file.refuse("tensor \"{}\": shape {} overflows 64 bits", name, shown(shape));
    }
    bytes *= n;
    extent *= n == 0 ? 1 : n;
    entry.shape.push_back(static_cast<int64_t>(n));
  }
  const Json& offsets = field("data_offsets");
  if (!offsets.is_array() || offsets.size() != 2) {
    file.refuse("tensor \"{}\": data_offsets is {}, need [begin, end]", name, shown(offsets));
  }
  entry.offset = whole(file, offsets[0], name, "data_offsets");
  const uint64_t end = whole(file, offsets[1], name, "data_offsets");
  if (entry.offset > end) file.refuse("tensor \"{}\": data_offsets {} end before they begin", name, shown(offsets));
  entry.bytes = end - entry.offset;
  if (entry.bytes != bytes) {
    file.refuse("tensor \"{}\": {} {} needs {} bytes, data_offsets {} hold {}", name, type->name, str(entry.shape),
                bytes, shown(offsets), entry.bytes);
  }
  return entry;
}

// The tensors must cover the data exactly: side by side, from its first byte to its last. Offsets count from there.
void check_cover(const File& file, const std::vector<Entry>& entries, uint64_t data) {
  uint64_t covered = 0;
  std::string_view last = "the header";
  for (const Entry& entry : entries) {
    if (entry.offset < covered) {
      file.refuse("tensors \"{}\" and \"{}\" overlap at byte {} of the data", last, entry.name, entry.offset);
    }
    if (entry.offset > covered) {
      file.refuse("bytes {} to {} of the data, before tensor \"{}\", belong to no tensor", covered, entry.offset - 1,
                  entry.name);
    }
    covered = entry.offset + entry.bytes;
    if (covered > data) {
      file.refuse("tensor \"{}\" ends at byte {} of the data, of which there are {} (truncated?)", entry.name, covered,
                  data);
    }
    last = entry.name;
  }
  if (covered < data) file.refuse("{} bytes follow the last tensor", data - covered);
}

void read_at(const File& file, int from, uint64_t offset, std::span<std::byte> to) {
  while (!to.empty()) {
    const ssize_t count = ::pread(from, to.data(), to.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) file.refuse_system("cannot read", errno);
    if (count == 0) file.refuse("ended at byte {} while it was read", offset);
    to = to.subspan(static_cast<std::size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
}

// The text of the header of an open file of `size` bytes.
std::string read_header(const File& file, int from, uint64_t size) {
  if (size < 8) file.refuse("has {} bytes, need at least the 8 of the header's length", size);
  uint64_t header_size = 0;
  read_at(file, from, 0, std::as_writable_bytes(std::span(&header_size, 1)));
  if (header_size > kMaxHeader)
    file.refuse("the header is said to have {} bytes, at most {} are allowed", header_size, kMaxHeader);
  if (header_size > size - 8) {
    file.refuse("the header is said to have {} bytes, only {} follow (truncated?)", header_size, size - 8);
  }
  std::string text(static_cast<std::size_t>(header_size), '\0');
  read_at(file, from, 8, std::as_writable_bytes(std::span(text.data(), text.size())));
  return text;
}

std::map<std::string, std::string> parse_metadata(const File& file, const Json& json) {
  if (!json.is_object()) file.refuse("{} is no object of strings", kMetadata);
  std::map<std::string, std::string> metadata;
  for (const auto& [key, string] : json.items()) {
    if (!string.is_string()) file.refuse("{}: the value of \"{}\" is {}, need a string", kMetadata, key, shown(string));
    metadata.emplace(key, string.template get<std::string>());
  }
  return metadata;
}

}  // namespace

SafeTensorsFile::SafeTensorsFile(const std::string& path) : path_(path), descriptor_(-1) {
  const File file(path_);
  Descriptor from(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (from.get() < 0) file.refuse_system("cannot open", errno);
  struct stat status {};
  if (::fstat(from.get(), &status) != 0) file.refuse_system("cannot read", errno);
  if (!S_ISREG(status.st_mode)) file.refuse("is no regular file");
  const auto size = static_cast<uint64_t>(status.st_size);
  const std::string text = read_header(file, from.get(), size);
  const Json header = parse_header(file, text);
  for (const auto& [name, value] : header.items()) {
    if (name == kMetadata) {
      metadata_ = parse_metadata(file, value);
    } else {
      entries_.push_back(parse_entry(file, name, value));
    }
  }
  std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.bytes < b.bytes;
  });
  const uint64_t data_at = 8 + text.size();
  check_cover(file, entries_, size - data_at);
  for (Entry& entry : entries_) entry.offset += data_at;
  descriptor_ = from.release();
}

SafeTensorsFile::~SafeTensorsFile() { ::close(descriptor_); }

const SafeTensorsFile::Entry* SafeTensorsFile::find(std::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

Tensor SafeTensorsFile::read(const Entry& entry) const {
  const File file(path_);
  const Type& type = *type_named(entry.dtype);
  const Tensor tensor = Tensor::empty(entry.shape, type.becomes);
  const auto bytes = static_cast<std::size_t>(entry.bytes);
  if (bytes == 0) return tensor;
  if (type.convert == nullptr) {
    auto* const values = static_cast<std::byte*>(tensor.mutable_raw_data());
    read_at(file, descriptor_, entry.offset, {values, bytes});
    for (std::size_t i = 0; i < bytes && type.becomes == kBool; ++i) {
      if (values[i] > std::byte{1}) {
        const int value = static_cast<int>(values[i]);
        file.refuse("tensor \"{}\": element {} is the byte {}, need 0 or 1 for BOOL", entry.name, i, value);
      }
    }
    return tensor;
  }
  std::vector<std::byte> raw(bytes);
  read_at(file, descriptor_, entry.offset, raw);
  type.convert(raw.data(), tensor.numel(), tensor.mutable_raw_data());
  if (entry.dtype == "U64") {
    for (int64_t i = 0; i < tensor.numel(); ++i) {
      if (tensor.data<int64_t>()[i] < 0) {
        file.refuse("tensor \"{}\": element {} is 2^63 or more, which int64 does not hold", entry.name, i);
      }
    }
  }
  return tensor;
}

}  // namespace tapegrad
