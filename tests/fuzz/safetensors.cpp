// The safetensors reader: it must read a file or reject it with an Error of one line, and its result, written with
// checksums and read again, must be equal.
#include <tapegrad/tests/fuzz/fuzz.h>

namespace {

using namespace tapegrad::fuzz;

bool same(const tapegrad::SafeTensors& a, const tapegrad::SafeTensors& b) {
  if (a.metadata != b.metadata || a.tensors.size() != b.tensors.size()) return false;
  for (const tapegrad::NamedTensor& t : a.tensors) {
    const tapegrad::Tensor* y = b.find(t.name);
    if (!y || !tapegrad::fuzz::same(t.tensor, *y)) return false;
  }
  return true;
}

}  // namespace

void fuzz(std::string_view input) {
  static const MemoryFile file;
  static const std::string again = new_folder() + "/again.safetensors";
  file.fill(as_safetensors(input));
  reads_or_throws([&] {
    const tapegrad::SafeTensors read = tapegrad::load_safetensors(file.path());
    if (read.tensors.empty() || read.metadata.contains("checksum")) return;
    tapegrad::save_safetensors(again, read.tensors, read.metadata, {.checksums = true});
    tapegrad::SafeTensors back = tapegrad::load_safetensors(again);
    need(back.metadata.erase("checksum") == 1);
    need(same(read, back));
  });
}
