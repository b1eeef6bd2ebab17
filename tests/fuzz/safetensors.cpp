// The safetensors reader: it must read a file or reject it with an Error of one line, and its result, written with
// checksums and read again, must be equal.
#include <tapegrad/tests/fuzz/fuzz.h>

#include <cstring>

namespace {

using namespace tapegrad::fuzz;

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
  static const std::string again = new_folder() + "/again.safetensors";
  file.fill(as_safetensors(data, size));
  reads_or_throws([&] {
    const tapegrad::SafeTensors read = tapegrad::load_safetensors(file.path());
    if (read.tensors.empty() || read.metadata.contains("checksum")) return;
    tapegrad::save_safetensors(again, read.tensors, read.metadata, {.checksums = true});
    tapegrad::SafeTensors back = tapegrad::load_safetensors(again);
    need(back.metadata.erase("checksum") == 1);
    need(same(read, back));
  });
  return 0;
}
