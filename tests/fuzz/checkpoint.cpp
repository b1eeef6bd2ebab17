// Checkpoints: unchanged, and again with correct checksums.
#include <tapegrad/tests/fuzz/fuzz.h>
#include <tapegrad/train/checkpoint.h>

using namespace tapegrad::fuzz;
using tapegrad::train::Checkpoint;

void fuzz(std::string_view input) {
  static const MemoryFile file;
  static const std::string sealed = new_folder() + "/checkpoint";
  file.fill(as_safetensors(input));
  reads_or_throws([&] { Checkpoint::load(file.path()); });
  reads_or_throws([&] {
    seal(file.path(), sealed, {{"kind", "tapegrad checkpoint"}});
    const Checkpoint read = Checkpoint::load(sealed);
    for (const auto& field : read.fields) {
      const std::string& name = field.first;
      need(read.get<std::string>(name) == field.second);
      reads_or_throws([&] { read.get<int64_t>(name); });
      reads_or_throws([&] { read.get<uint64_t>(name); });
      reads_or_throws([&] { read.get<double>(name); });
    }
    tapegrad::Generator generator;
    for (const auto& each : read.bytes) reads_or_throws([&] { read.restore(each.first, generator); });
    read.save(sealed);
    need(Checkpoint::load(sealed).fields == read.fields);
  });
  reads_or_throws([&] {
    seal(file.path(), sealed, {{"kind", "tapegrad checkpoint in shards"}});
    Checkpoint::load(sealed);
  });
}
