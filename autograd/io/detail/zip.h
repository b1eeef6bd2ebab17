// ZIP archives: entries that are stored or deflated are read, stored ones are written.
// https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
#pragma once

#include <tapegrad/autograd/io/detail/byte_source.h>
#include <tapegrad/autograd/io/files.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::zip {

struct Entry {
  std::string name;
  bool deflated = false;
  uint32_t checksum = 0;          // CRC-32 of its bytes
  uint64_t stored = 0, size = 0;  // bytes in the archive, and of the entry itself
  uint64_t header = 0;            // where its local header begins
};

// An entry while it is read.
class EntrySource : public numpy::Source {
 public:
  // To be called after all bytes have been read. Error if their checksum is wrong, or if more bytes follow.
  virtual void finish() = 0;
};

// Errors are "[numpy] PATH: ...".
class Archive {
 public:
  // Reads the directory. Error for a damaged one, for archives in several files, and for entries that are encrypted or
  // compressed by another method.
  explicit Archive(const std::string& path);
  const std::vector<Entry>& entries() const { return entries_; }  // in the order of the directory
  // The archive and the entry must outlive it.
  std::unique_ptr<EntrySource> open(const Entry& entry) const;

 private:
  void read_directory(uint64_t at, uint64_t size, uint64_t count);
  numpy::File file_;
  uint64_t directory_ = 0;  // where it begins
  std::vector<Entry> entries_;
};

class Writer {
 public:
  // Sizes and offsets from `limit` on are written in ZIP64 fields; a smaller limit is for tests.
  explicit Writer(AtomicFile& out, uint64_t limit = 0xFFFFFFFF) : out_(out), limit_(limit) {}
  // Adds an entry that consists of `first` and `second`. Its name may have at most 65,535 bytes.
  void add(std::string_view name, std::span<const std::byte> first, std::span<const std::byte> second);
  // Writes the directory.
  void finish();

 private:
  AtomicFile& out_;
  uint64_t limit_, at_ = 0, count_ = 0;
  std::string directory_;
};

}  // namespace tapegrad::zip
