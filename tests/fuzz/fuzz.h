// Shared by the fuzzers: a file in memory, and the check that every reader must pass.
#pragma once

#include <sys/mman.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/io/safetensors.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

namespace tapegrad::fuzz {

inline void need(bool good) {
  if (!good) std::abort();
}

/// A file in memory, with a path.
class MemoryFile {
 public:
  MemoryFile() : number_(::memfd_create("fuzz", 0)), path_("/proc/self/fd/" + std::to_string(number_)) {}
  const std::string& path() const { return path_; }
  void fill(std::string_view bytes) const {
    need(::ftruncate(number_, 0) == 0);
    need(::pwrite(number_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  }

 private:
  int number_;
  std::string path_;
};

/// An empty folder of this process.
inline std::string new_folder() {
  char folder[] = "/dev/shm/tapegrad-fuzz-XXXXXX";
  need(::mkdtemp(folder) != nullptr);
  return folder;
}

/// A reader reads, or throws an Error of one line that begins with "[".
void reads_or_throws(const auto& read) {
  try {
    read();
  } catch (const Error& error) {
    const std::string_view message = error.what();
    need(message.starts_with("[") && message.find('\n') == std::string_view::npos);
  }
}

/// The input as a safetensors file: a header alone gets its length before it and 64 bytes after it.
inline std::string as_safetensors(std::string_view input) {
  std::string bytes(input);
  if (input.starts_with('{')) {
    const uint64_t length = input.size();
    bytes.insert(0, reinterpret_cast<const char*>(&length), sizeof length);
    bytes.append(64, '\1');
  }
  return bytes;
}

/// Copies the safetensors file `from` to `to` with correct checksums, so that mutations reach the code after the
/// comparison of checksums. `metadata` overrides the file's.
inline void seal(const std::string& from, const std::string& to, std::map<std::string, std::string> metadata) {
  const SafeTensorsFile file(from);
  metadata.insert(file.metadata().begin(), file.metadata().end());
  metadata.erase("checksum");
  NamedTensors tensors;
  SaveOptions options{.bytes = {}, .checksums = true};
  for (const SafeTensorsFile::Entry& entry : file.entries()) {
    if (entry.dtype == "U8") {
      options.bytes.emplace(entry.name, file.read_bytes(entry));
    } else {
      tensors.push_back({entry.name, file.read(entry)});
    }
  }
  save_safetensors(to, tensors, metadata, options);
}

/// Equal shape, type and bits.
inline bool same(const Tensor& x, const Tensor& y) {
  return x.shape() == y.shape() && x.dtype() == y.dtype() &&
         (x.numel() == 0 ||
          std::memcmp(x.raw_data(), y.raw_data(), static_cast<std::size_t>(x.numel() * item_size(x.dtype()))) == 0);
}

}  // namespace tapegrad::fuzz

/// What a fuzzer does with an input: its file defines it.
void fuzz(std::string_view input);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  fuzz({reinterpret_cast<const char*>(data), size});
  return 0;
}
