// Feeds the safetensors reader whatever libFuzzer thinks of: it must read a file or refuse it by an Error of one line,
// and what it has read must survive being written and read again.
#include <sys/mman.h>
#include <tapegrad/autograd/io/safetensors.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

// A file in memory, with a path.
class MemoryFile {
 public:
  MemoryFile() : number_(::memfd_create("fuzz", 0)), path_("/proc/self/fd/" + std::to_string(number_)) {}
  const std::string& path() const { return path_; }
  void fill(const std::string& bytes) const {
    if (::ftruncate(number_, 0) != 0 ||
        ::pwrite(number_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
      std::abort();
  }

 private:
  int number_;
  std::string path_;
};

void need(bool good) {
  if (!good) std::abort();
}

bool same(const tapegrad::SafeTensors& a, const tapegrad::SafeTensors& b) {
  if (a.metadata != b.metadata || a.tensors.size() != b.tensors.size()) return false;
  for (const tapegrad::NamedTensor& t : a.tensors) {
    const tapegrad::Tensor& x = t.tensor;
    const tapegrad::Tensor* y = b.find(t.name);
    if (!y || x.shape() != y->shape() || x.dtype() != y->dtype()) return false;
    const auto bytes = static_cast<std::size_t>(x.numel() * tapegrad::item_size(x.dtype()));
    if (bytes > 0 && std::memcmp(x.raw_data(), y->raw_data(), bytes) != 0) return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  static const MemoryFile file;
  static const std::string again = [] {
    char folder[] = "/dev/shm/tapegrad-fuzz-XXXXXX";
    need(::mkdtemp(folder) != nullptr);
    return std::string(folder) + "/again.safetensors";
  }();
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (size > 0 && data[0] == '{') {  // a header alone: its length in front and 64 bytes behind
    const uint64_t length = size;
    bytes.insert(0, reinterpret_cast<const char*>(&length), sizeof length);
    bytes.append(64, '\1');
  }
  file.fill(bytes);
  try {
    const tapegrad::SafeTensors read = tapegrad::load_safetensors(file.path());
    if (read.tensors.empty()) return 0;
    tapegrad::save_safetensors(again, read.tensors, read.metadata);
    need(same(read, tapegrad::load_safetensors(again)));
  } catch (const tapegrad::Error& error) {
    const std::string message = error.what();
    need(message.starts_with("[safetensors] /") && message.find('\n') == std::string::npos);
  }
  return 0;
}
