// Reads and writes ZIP archives. All numbers are little-endian, as we are.
#include <tapegrad/autograd/io/detail/zip.h>
#include <tapegrad/autograd/io/internal/foreign.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace tapegrad::zip {
namespace {

using numpy::File;
using numpy::refuse;

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                   kLocator64 = 0x07064b50;
constexpr std::size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kEnd64Size = 56, kLocator64Size = 20;
constexpr uint16_t kStored = 0, kDeflated = 8, kExtra64 = 1;
constexpr uint64_t kMostOfDirectory = 100'000'000;
constexpr uint32_t kAll32 = 0xFFFFFFFF;
constexpr uint16_t kAll16 = 0xFFFF;

// A number at a position of bytes that have it.
template <class T>
T number_at(std::string_view bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::string read_bytes(const File& file, uint64_t offset, std::size_t count) {
  std::string bytes(count, '\0');
  file.read(offset, std::as_writable_bytes(std::span(bytes.data(), bytes.size())));
  return bytes;
}

uint32_t checksum_of(uint32_t sum, std::span<const std::byte> bytes) {
  if (bytes.empty()) return sum;  // zlib would begin a new sum
  return static_cast<uint32_t>(::crc32_z(sum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// ---- Reading ----

// Where the directory is, by the record at the end of the archive.
struct Directory {
  uint64_t at, size, count;
};

Directory find_directory(const File& file) {
  const std::size_t tail = static_cast<std::size_t>(std::min<uint64_t>(file.size(), kEndSize + kAll16));
  const std::string bytes = read_bytes(file, file.size() - tail, tail);
  std::size_t end = std::string::npos;
  for (std::size_t at = tail < kEndSize ? 0 : tail - kEndSize + 1; at-- > 0 && end == std::string::npos;) {
    if (number_at<uint32_t>(bytes, at) == kEnd && at + kEndSize + number_at<uint16_t>(bytes, at + 20) == tail) end = at;
  }
  if (end == std::string::npos) {
    const std::string start = read_bytes(file, 0, static_cast<std::size_t>(std::min<uint64_t>(file.size(), 512)));
    const std::string kind = start.starts_with("PK") ? "" : foreign_kind(start);
    if (!kind.empty()) refuse(file.path(), "expected an archive of NumPy arrays (.npz), got " + kind);
    refuse(file.path(), "is not a .npz file, or not a whole one: it has no ZIP directory at its end");
  }
  Directory found{number_at<uint32_t>(bytes, end + 16), number_at<uint32_t>(bytes, end + 12),
                  number_at<uint16_t>(bytes, end + 10)};
  uint64_t limit = file.size() - tail + end;  // where the directory ends at the latest
  if (found.at == kAll32 || found.size == kAll32 || found.count == kAll16) {
    if (limit < kLocator64Size + kEnd64Size) refuse(file.path(), "damaged: the ZIP64 directory is missing");
    const std::string locator = read_bytes(file, limit - kLocator64Size, kLocator64Size);
    const uint64_t at = number_at<uint64_t>(locator, 8);
    if (number_at<uint32_t>(locator, 0) != kLocator64 || at > limit - kLocator64Size - kEnd64Size)
      refuse(file.path(), "damaged: the ZIP64 directory is missing");
    const std::string record = read_bytes(file, at, kEnd64Size);
    if (number_at<uint32_t>(record, 0) != kEnd64) refuse(file.path(), "damaged: the ZIP64 directory is missing");
    found = {number_at<uint64_t>(record, 48), number_at<uint64_t>(record, 40), number_at<uint64_t>(record, 32)};
    limit = at;
  }
  if (number_at<uint16_t>(bytes, end + 4) != 0) refuse(file.path(), "expected an archive in one file");
  if (found.size > limit || found.at > limit - found.size || found.size > kMostOfDirectory)
    refuse(file.path(), "damaged: the directory has {} bytes at byte {} of {}", found.size, found.at, file.size());
  return found;
}

// Replaces the numbers that did not fit by those of the ZIP64 field.
void read_extra64(std::string_view extra, const std::array<uint64_t*, 3>& numbers, const File& file) {
  while (extra.size() >= 4) {
    const auto id = number_at<uint16_t>(extra, 0);
    const std::size_t size = number_at<uint16_t>(extra, 2);
    std::string_view field = extra.substr(4, size);
    if (field.size() < size) break;
    extra.remove_prefix(4 + size);
    if (id != kExtra64) continue;
    for (uint64_t* number : numbers) {
      if (*number != kAll32) continue;
      if (field.size() < 8) refuse(file.path(), "damaged: a ZIP64 field of its directory is too short");
      *number = number_at<uint64_t>(field, 0);
      field.remove_prefix(8);
    }
    return;
  }
}

// The bytes of an entry that is stored.
class StoredSource : public EntrySource {
 public:
  StoredSource(const File& file, const Entry& entry, uint64_t at) : file_(file), entry_(entry), at_(at) {}
  uint64_t size() const override { return entry_.size; }
  void read(std::span<std::byte> to) override {
    file_.read(at_, to);
    at_ += to.size();
    sum_ = checksum_of(sum_, to);
  }
  void finish() override {
    if (sum_ != entry_.checksum)
      refuse(file_.path(), "damaged: the checksum of \"{}\" is {:08x}, expected {:08x}", entry_.name, sum_,
             entry_.checksum);
  }

 protected:
  const File& file_;
  const Entry& entry_;
  uint64_t at_;
  uint32_t sum_ = 0;
};

// The bytes of an entry that is deflated.
class DeflatedSource : public StoredSource, NonCopyable {
 public:
  DeflatedSource(const File& file, const Entry& entry, uint64_t at)
      : StoredSource(file, entry, at), left_(entry.stored) {
    if (::inflateInit2(&stream_, -MAX_WBITS) != Z_OK) refuse(file.path(), "zlib cannot start");
  }
  ~DeflatedSource() override { ::inflateEnd(&stream_); }

  void read(std::span<std::byte> to) override {
    const std::span<std::byte> all = to;
    while (!to.empty()) {
      const std::size_t done = inflate_some(to);
      if (done == 0) refuse(file_.path(), "damaged: \"{}\" has fewer bytes than its entry says", entry_.name);
      to = to.subspan(done);
    }
    sum_ = checksum_of(sum_, all);
  }
  void finish() override {
    std::byte one;
    if (inflate_some({&one, 1}) != 0 || left_ != 0 || stream_.avail_in != 0)
      refuse(file_.path(), "damaged: \"{}\" has more bytes than its entry says", entry_.name);
    StoredSource::finish();
  }

 private:
  // Writes at least one byte, unless the compressed bytes end. Returns how many.
  std::size_t inflate_some(std::span<std::byte> to) {
    const auto room = static_cast<uInt>(std::min<std::size_t>(to.size(), std::numeric_limits<uInt>::max()));
    stream_.next_out = reinterpret_cast<Bytef*>(to.data());
    stream_.avail_out = room;
    while (!ended_ && stream_.avail_out == room) {
      if (stream_.avail_in == 0) {
        if (left_ == 0) break;
        const std::size_t count = static_cast<std::size_t>(std::min<uint64_t>(left_, piece_.size()));
        file_.read(at_, std::span(piece_).first(count));
        at_ += count;
        left_ -= count;
        stream_.next_in = reinterpret_cast<Bytef*>(piece_.data());
        stream_.avail_in = static_cast<uInt>(count);
      }
      const int code = ::inflate(&stream_, Z_NO_FLUSH);
      ended_ = code == Z_STREAM_END;
      if (code != Z_OK && !ended_ && code != Z_BUF_ERROR)
        refuse(file_.path(), "damaged: zlib cannot read the compressed bytes of \"{}\"", entry_.name);
    }
    return room - stream_.avail_out;
  }

  z_stream stream_{};
  std::vector<std::byte> piece_ = std::vector<std::byte>(4096);
  uint64_t left_;  // compressed bytes after the piece
  bool ended_ = false;
};

}  // namespace

Archive::Archive(const std::string& path) : file_(path) {
  const Directory found = find_directory(file_);
  directory_ = found.at;
  read_directory(found.at, found.size, found.count);
}

void Archive::read_directory(uint64_t at, uint64_t size, uint64_t count) {
  const std::string bytes = read_bytes(file_, at, static_cast<std::size_t>(size));
  std::string_view rest = bytes;
  uint64_t stored = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const auto damaged = [&] { refuse(file_.path(), "damaged: entry {} of its directory", i); };
    if (rest.size() < kCentralSize || number_at<uint32_t>(rest, 0) != kCentral) damaged();
    const std::size_t name = number_at<uint16_t>(rest, 28), extra = number_at<uint16_t>(rest, 30),
                      comment = number_at<uint16_t>(rest, 32);
    if (rest.size() - kCentralSize < name + extra + comment) damaged();
    const auto flags = number_at<uint16_t>(rest, 8), method = number_at<uint16_t>(rest, 10);
    Entry entry{std::string(rest.substr(kCentralSize, name)),
                method == kDeflated,
                number_at<uint32_t>(rest, 16),
                number_at<uint32_t>(rest, 20),
                number_at<uint32_t>(rest, 24),
                number_at<uint32_t>(rest, 42)};
    read_extra64(rest.substr(kCentralSize + name, extra), {&entry.size, &entry.stored, &entry.header}, file_);
    if ((flags & 1) != 0) refuse(file_.path(), "\"{}\" is encrypted", entry.name);
    if (method != kStored && method != kDeflated)
      refuse(file_.path(), "\"{}\": expected compression by method 0 or 8 (deflate), got {}", entry.name, method);
    // Deflate makes at most 1,032 bytes of one, so that what is in memory is bounded by the size of the file.
    constexpr uint64_t kMostExpansion = 1100;
    const bool fits = entry.stored <= file_.size() &&
                      (entry.deflated ? entry.size / kMostExpansion <= entry.stored : entry.size == entry.stored);
    if (!fits)
      refuse(file_.path(), "damaged: \"{}\" has {} bytes, {} of them in the archive", entry.name, entry.size,
             entry.stored);
    stored += entry.stored;
    if (stored > file_.size()) refuse(file_.path(), "damaged: its entries have more bytes than the file");
    entries_.push_back(std::move(entry));
    rest.remove_prefix(kCentralSize + name + extra + comment);
  }
  if (!rest.empty()) refuse(file_.path(), "damaged: {} bytes follow the entries of its directory", rest.size());
}

std::unique_ptr<EntrySource> Archive::open(const Entry& entry) const {
  const auto damaged = [&] { refuse(file_.path(), "damaged: the header of \"{}\"", entry.name); };
  if (entry.header > directory_ || directory_ - entry.header < kLocalSize) damaged();
  const std::string local = read_bytes(file_, entry.header, kLocalSize);
  const uint64_t name = number_at<uint16_t>(local, 26), extra = number_at<uint16_t>(local, 28);
  if (number_at<uint32_t>(local, 0) != kLocal || directory_ - entry.header - kLocalSize < name + extra + entry.stored)
    damaged();
  if (read_bytes(file_, entry.header + kLocalSize, static_cast<std::size_t>(name)) != entry.name) damaged();
  const uint64_t at = entry.header + kLocalSize + name + extra;
  if (entry.deflated) return std::make_unique<DeflatedSource>(file_, entry, at);
  return std::make_unique<StoredSource>(file_, entry, at);
}

// ---- Writing ----

namespace {

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// From the version that a reader needs to the length of the name: what both headers of an entry have.
void put_common(std::string& out, bool wide, std::string_view name, uint32_t checksum, uint64_t size) {
  constexpr uint16_t kUtf8 = 0x800, kFirstOfJanuary1980 = 0x21;
  const bool ascii = std::all_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 128; });
  put<uint16_t>(out, wide ? 45 : 20);
  put<uint16_t>(out, ascii ? 0 : kUtf8);
  put<uint16_t>(out, kStored);
  put<uint16_t>(out, 0);  // midnight
  put<uint16_t>(out, kFirstOfJanuary1980);
  put(out, checksum);
  put(out, wide ? kAll32 : static_cast<uint32_t>(size));
  put(out, wide ? kAll32 : static_cast<uint32_t>(size));
  put(out, static_cast<uint16_t>(name.size()));
}

}  // namespace

void Writer::add(std::string_view name, std::span<const std::byte> first, std::span<const std::byte> second) {
  const uint64_t size = first.size() + second.size();
  const uint32_t checksum = checksum_of(checksum_of(0, first), second);
  const bool wide = size >= limit_, far = at_ >= limit_;
  std::string local;
  put(local, kLocal);
  put_common(local, wide, name, checksum, size);
  put<uint16_t>(local, wide ? 20 : 0);
  local += name;
  std::string extra;
  if (wide) {
    put<uint64_t>(extra, size);
    put<uint64_t>(extra, size);
    put(local, kExtra64);
    put<uint16_t>(local, 16);
    local += extra;
  }
  if (far) put<uint64_t>(extra, at_);

  constexpr uint16_t kUnix = 3 << 8;
  constexpr uint32_t kReadableByItsOwner = 0600 << 16;
  put(directory_, kCentral);
  put<uint16_t>(directory_, kUnix | (wide || far ? 45 : 20));
  put_common(directory_, wide, name, checksum, size);
  put<uint16_t>(directory_, static_cast<uint16_t>(extra.empty() ? 0 : 4 + extra.size()));
  put<uint16_t>(directory_, 0);  // no comment
  put<uint16_t>(directory_, 0);  // the only file of the archive
  put<uint16_t>(directory_, 0);
  put(directory_, kReadableByItsOwner);
  put(directory_, far ? kAll32 : static_cast<uint32_t>(at_));
  directory_ += name;
  if (!extra.empty()) {
    put(directory_, kExtra64);
    put(directory_, static_cast<uint16_t>(extra.size()));
    directory_ += extra;
  }
  out_.write(local);
  out_.write(first);
  out_.write(second);
  at_ += local.size() + size;
  ++count_;
}

void Writer::finish() {
  const uint64_t size = directory_.size();
  const bool wide = at_ >= limit_ || size >= limit_ || count_ >= std::min<uint64_t>(limit_, kAll16);
  std::string end;
  if (wide) {
    put(end, kEnd64);
    put<uint64_t>(end, kEnd64Size - 12);
    put<uint16_t>(end, 45);
    put<uint16_t>(end, 45);
    put<uint64_t>(end, 0);  // both numbers of the file
    put(end, count_);
    put(end, count_);
    put(end, size);
    put(end, at_);
    put(end, kLocator64);
    put<uint32_t>(end, 0);
    put<uint64_t>(end, at_ + size);
    put<uint32_t>(end, 1);
  }
  put(end, kEnd);
  put<uint32_t>(end, 0);
  put(end, wide ? kAll16 : static_cast<uint16_t>(count_));
  put(end, wide ? kAll16 : static_cast<uint16_t>(count_));
  put(end, wide ? kAll32 : static_cast<uint32_t>(size));
  put(end, wide ? kAll32 : static_cast<uint32_t>(at_));
  put<uint16_t>(end, 0);
  out_.write(directory_);
  out_.write(end);
}

}  // namespace tapegrad::zip
