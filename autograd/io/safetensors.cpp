// Reads safetensors files: u64 length of the header, the header in JSON, the tensors' bytes without gaps.
#include <fcntl.h>
#include <sys/stat.h>
#include <tapegrad/autograd/io/detail/element_types.h>
#include <tapegrad/autograd/io/detail/safetensors_file.h>
#include <tapegrad/autograd/io/internal/descriptor.h>
#include <tapegrad/autograd/io/internal/foreign.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/autograd/io/safetensors.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <span>

namespace tapegrad {
namespace {

using namespace safetensors;
using json::shown;

constexpr int kMaxDepth = 8;  // a valid header has 3 levels

// ---- Element types ----

// nullptr for an unknown name.
const FileType* type_named(std::string_view name) {
  for (const FileType& type : file_types()) {
    if (type.safetensors == name) return &type;
  }
  return nullptr;
}

// ---- Reading ----

using Entry = SafeTensorsFile::Entry;

// A whole number from 0 up.
uint64_t whole(const File& file, const Json& value, const std::string& name, std::string_view field) {
  if (!value.is_number_unsigned()) {
    file.refuse("tensor \"{}\": expected non-negative whole numbers in {}, got {}", name, field, shown(value));
  }
  return value.get<uint64_t>();
}

Entry parse_entry(const File& file, const std::string& name, const Json& json) {
  if (!json.is_object()) file.refuse("tensor \"{}\" is not an object with dtype, shape and data_offsets", name);
  const auto field = [&](const char* key) -> const Json& {
    const Json* const found = json.find(key);
    if (!found) file.refuse("tensor \"{}\" has no {}", name, key);
    return *found;
  };
  const Json& dtype = field("dtype");
  const FileType* const type = dtype.is_string() ? type_named(dtype.string()) : nullptr;
  if (!type) {
    std::string known;
    for (const FileType& each : file_types()) known.append(known.empty() ? "" : ", ").append(each.safetensors);
    file.refuse("tensor \"{}\": unknown dtype {} (known: {})", name, shown(dtype), known);
  }
  Entry entry{name, type->safetensors, {}, 0, 0, {}};
  const Json& shape = field("shape");
  if (!shape.is_array()) file.refuse("tensor \"{}\": expected a list of sizes as shape, got {}", name, shown(shape));
  if (shape.size() > kMaxRank) {
    file.refuse("tensor \"{}\": shape has {} axes, at most {} are supported", name, shape.size(), kMaxRank);
  }
  BytesOfShape bytes(type->size);
  for (const Json& size : shape) {
    const uint64_t n = whole(file, size, name, "shape");
    if (!bytes.add_axis(n)) file.refuse("tensor \"{}\": shape {} overflows 64 bits", name, shown(shape));
    entry.shape.push_back(static_cast<int64_t>(n));
  }
  const Json& offsets = field("data_offsets");
  if (!offsets.is_array() || offsets.size() != 2) {
    file.refuse("tensor \"{}\": expected [begin, end] as data_offsets, got {}", name, shown(offsets));
  }
  entry.offset = whole(file, offsets[0], name, "data_offsets");
  const uint64_t end = whole(file, offsets[1], name, "data_offsets");
  if (entry.offset > end) file.refuse("tensor \"{}\": data_offsets {} end before they begin", name, shown(offsets));
  entry.bytes = end - entry.offset;
  if (entry.bytes != bytes.count()) {
    file.refuse("tensor \"{}\": {} {} needs {} bytes, data_offsets {} hold {}", name, type->safetensors,
                str(entry.shape), bytes.count(), shown(offsets), entry.bytes);
  }
  return entry;
}

// The tensors must cover the data exactly, without gaps or overlap. Offsets count from its first byte.
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

void read_all(const File& file, int from, uint64_t offset, std::span<std::byte> to) {
  const int64_t count = read_at(from, offset, to);
  if (count < 0) file.refuse_system("cannot read", errno);
  if (const auto found = static_cast<std::size_t>(count); found < to.size())
    file.refuse("ended at byte {} while it was read", offset + found);
}

void read_entry(const File& file, int from, const Entry& entry, std::span<std::byte> to) {
  read_all(file, from, entry.offset, to);
  if (!entry.checksum) return;
  const uint64_t found = checksum(to);
  if (found != *entry.checksum) {
    file.refuse("damaged: the checksum of tensor \"{}\" (bytes {} to {}) is {}, expected {}", entry.name, entry.offset,
                entry.offset + entry.bytes - 1, digits_of(found), digits_of(*entry.checksum));
  }
}

// Error if the first bytes tell that this is a file of another kind.
void refuse_foreign(const File& file, int from, uint64_t size) {
  std::string start(static_cast<std::size_t>(std::min<uint64_t>(size, 512)), '\0');
  read_all(file, from, 0, std::as_writable_bytes(std::span(start.data(), start.size())));
  std::string kind = start.starts_with('{') ? "a JSON text" : foreign_kind(start);
  if (kind.empty()) kind = kind_of_text(start);
  const bool cut = start.size() > 8 && start[8] == '{' && start.substr(4, 4) == std::string(4, '\0');
  if (!kind.empty() && !cut) file.refuse("expected a safetensors file, got {}", kind);
}

// The text of the header of an open file of `size` bytes.
std::string read_header(const File& file, int from, uint64_t size) {
  if (size < 8) file.refuse("has {} bytes, expected at least the 8 of the header's length", size);
  uint64_t header_size = 0;
  read_all(file, from, 0, std::as_writable_bytes(std::span(&header_size, 1)));
  if (header_size > size - 8) refuse_foreign(file, from, size);
  if (header_size > json::kMaxBytes)
    file.refuse("the header has {} bytes by its length, at most {} are allowed", header_size, json::kMaxBytes);
  if (header_size > size - 8) {
    file.refuse("the header has {} bytes by its length, only {} follow (truncated?)", header_size, size - 8);
  }
  std::string text(static_cast<std::size_t>(header_size), '\0');
  read_all(file, from, 8, std::as_writable_bytes(std::span(text.data(), text.size())));
  if (!text.starts_with('{')) {
    refuse_foreign(file, from, size);
    file.refuse("the header does not start with '{{' (is this a safetensors file?)");
  }
  return text;
}

std::map<std::string, std::string> parse_metadata(const File& file, const Json& json) {
  std::map<std::string, std::string> metadata;
  if (json.is_null()) return metadata;
  if (!json.is_object()) file.refuse("{} is not an object of strings", kMetadata);
  for (const auto& [key, string] : json.items()) {
    if (!string.is_string()) file.refuse("{}: expected a string for \"{}\", got {}", kMetadata, key, shown(string));
    metadata.emplace(key, string.template get<std::string>());
  }
  return metadata;
}

// Names the same weights in PyTorch's own format, if they are there instead.
[[noreturn]] void refuse_missing(const File& file) {
  const std::string& path = file.path();
  const std::string stem = path.substr(0, path.rfind('.'));
  for (const char* other : {".bin", ".pt", ".pth"}) {
    if (is_there(stem + other))
      file.refuse("there is no such file, only {}{}, a file of torch.save (save it as safetensors in Python)",
                  stem.substr(stem.rfind('/') + 1), other);
  }
  file.refuse_system("cannot open", ENOENT);
}

}  // namespace

SafeTensorsFile::SafeTensorsFile(const std::string& path) : path_(path), descriptor_(-1) {
  const File file(path_);
  Descriptor from(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (from.get() < 0 && errno == ENOENT) refuse_missing(file);
  if (from.get() < 0) file.refuse_system("cannot open", errno);
  struct stat status {};
  if (::fstat(from.get(), &status) != 0) file.refuse_system("cannot read", errno);
  if (!S_ISREG(status.st_mode)) file.refuse("is not a regular file");
  const auto size = static_cast<uint64_t>(status.st_size);
  const std::string text = read_header(file, from.get(), size);
  const auto refuse = [&](const std::string& why) { file.refuse("the header {}", why); };
  const auto take = [&](const std::string& name, Json& value) {  // one by one: their number is not bounded
    if (name == kMetadata) {
      metadata_ = parse_metadata(file, value);
    } else {
      entries_.push_back(parse_entry(file, name, value));
    }
  };
  json::parse(text, refuse, kMaxDepth, 8, take);
  std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.bytes < b.bytes;
  });
  const uint64_t data_at = 8 + text.size();
  check_cover(file, entries_, size - data_at);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    entries_[i].offset += data_at;
    index_.emplace(entries_[i].name, i);
  }
  read_checksums(text);
  descriptor_ = from.release();
}

void SafeTensorsFile::read_checksums(const std::string& header) {
  const File file(path_);
  const auto stored = metadata_.find(std::string(kChecksum));
  if (stored == metadata_.end() || !stored->second.starts_with(kXxh3)) return;
  const std::size_t at = find_checksum(header);
  const std::string found = at == std::string::npos ? "elsewhere" : checksum_of_header(header, at);
  if (at == std::string::npos || header.compare(at, kDigits, found) != 0) {
    file.refuse("damaged, or changed by another program: the checksum of the header (bytes 0 to {}) is {}, expected {}",
                header.size() + 7, found, stored->second.substr(kXxh3.size(), kDigits));
  }
  const std::string_view sums = std::string_view(stored->second).substr(kXxh3.size() + kDigits);
  if (sums.size() != 1 + kDigits * entries_.size()) {
    file.refuse("the header has {} tensors, but checksums of {} bytes", entries_.size(), sums.size());
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const std::string_view digits = sums.substr(1 + i * kDigits, kDigits);
    std::from_chars(digits.data(), digits.data() + kDigits, entries_[i].checksum.emplace(), 16);
  }
  has_checksums_ = true;
}

SafeTensorsFile::~SafeTensorsFile() { ::close(descriptor_); }

const SafeTensorsFile::Entry* SafeTensorsFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

std::vector<std::byte> SafeTensorsFile::read_bytes(const Entry& entry) const {
  std::vector<std::byte> bytes(static_cast<std::size_t>(entry.bytes));
  read_entry(File(path_), descriptor_, entry, bytes);
  return bytes;
}

Tensor SafeTensorsFile::read(const Entry& entry) const {
  const File file(path_);
  const FileType& type = *type_named(entry.dtype);
  const Tensor tensor = Tensor::empty(entry.shape, type.becomes);
  if (entry.bytes == 0) {
    read_entry(file, descriptor_, entry, {});
  } else if (type.convert == nullptr) {
    read_entry(file, descriptor_, entry,
               {static_cast<std::byte*>(tensor.mutable_raw_data()), static_cast<std::size_t>(entry.bytes)});
  } else {
    type.convert(read_bytes(entry).data(), tensor.numel(), tensor.mutable_raw_data());
  }
  const bool is_unsigned = entry.dtype == "U64";
  const int64_t wrong = first_wrong_element(tensor, is_unsigned);
  if (wrong >= 0 && is_unsigned)
    file.refuse("tensor \"{}\": element {} is 2^63 or more, which int64 does not hold", entry.name, wrong);
  if (wrong >= 0) {
    file.refuse("tensor \"{}\": element {} is the byte {}, expected 0 or 1 for BOOL", entry.name, wrong,
                byte_at(tensor, wrong));
  }
  return tensor;
}

}  // namespace tapegrad
