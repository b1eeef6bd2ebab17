// Checkpoints: as they come, and once more with checksums that fit.
#include <tapegrad/tasks/train/checkpoint.h>
#include <tapegrad/tests/fuzz/fuzz.h>

using namespace tapegrad::fuzz;
using tapegrad::train::Checkpoint;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  static const MemoryFile file;
  static const std::string sealed = new_folder() + "/checkpoint";
  file.fill(as_safetensors(data, size));
  reads_or_throws([&] { Checkpoint::load(file.path()); });
  reads_or_throws([&] {
    seal(file.path(), sealed, {{"kind", "tapegrad checkpoint"}});
    const Checkpoint read = Checkpoint::load(sealed);
    for (const auto& [name, value] : read.fields) {
      need(read.get<std::string>(name) == value);
      reads_or_throws([&] { read.get<int64_t>(name); });
      reads_or_throws([&] { read.get<uint64_t>(name); });
      reads_or_throws([&] { read.get<double>(name); });
    }
    tapegrad::Generator generator;
    for (const auto& [name, value] : read.bytes) reads_or_throws([&] { read.restore(name, generator); });
    read.save(sealed);
    need(Checkpoint::load(sealed).fields == read.fields);
  });
  return 0;
}
