// Model files with checksums.
// build: fuzzed
#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/train/files/internal/checked_file.h>

namespace tapegrad::train {
namespace {

// The checksum of tapegrad 0.1.0: 16 hexadecimal digits and nothing else.
bool has_old_checksum(const SafeTensorsFile& file) {
  const auto found = file.metadata().find("checksum");
  return found != file.metadata().end() && found->second.size() == 16 &&
         found->second.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

void save_checked(const Destination& to, const NamedTensors& tensors,
                  const std::map<std::string, std::string>& metadata) {
  save_safetensors(to, tensors, metadata, {.checksums = true});
}

SafeTensors load_checked(const std::string& path) {
  const SafeTensorsFile file(path);
  if (!file.has_checksums() && !has_old_checksum(file))
    fail("model", fmt::format("{}: its header has no checksum (damaged, or not written by tapegrad?)", path));
  SafeTensors out{{}, file.metadata()};
  for (const SafeTensorsFile::Entry& entry : file.entries()) out.tensors.push_back({entry.name, file.read(entry)});
  return out;
}

}  // namespace tapegrad::train
