// Model files with a checksum.
#include <fmt/format.h>
#include <tapegrad/tasks/train/checked_file.h>

namespace tapegrad::train {
namespace {

constexpr std::string_view kWhere = "model";
constexpr const char* kKey = "checksum";

// Tensor by tensor in the order of their names, so that the order in a file does not matter.
std::string sum_of(const NamedTensors& tensors, const std::map<std::string, std::string>& metadata) {
  std::map<std::string_view, const Tensor*> sorted;
  for (const NamedTensor& t : tensors) sorted[t.name] = &t.tensor;
  uint64_t sum = 0;
  const auto add = [&sum](std::span<const std::byte> bytes) { sum = checksum(bytes, sum); };
  for (const auto& [name, tensor] : sorted) {
    add(bytes_of(fmt::format("{} {} {}", name, tapegrad::name(tensor->dtype()), str(tensor->shape()))));
    const Tensor packed = tensor->detach().contiguous();
    add({static_cast<const std::byte*>(packed.raw_data()),
         static_cast<std::size_t>(packed.numel() * item_size(packed.dtype()))});
  }
  for (const auto& [key, value] : metadata) {
    if (key == kKey) continue;
    add(bytes_of(key));
    add(bytes_of(value));
  }
  return fmt::format("{:016x}", sum);
}

}  // namespace

void save_checked(const fs::path& path, const NamedTensors& tensors, std::map<std::string, std::string> metadata) {
  metadata[kKey] = sum_of(tensors, metadata);
  save_safetensors(path.string(), tensors, metadata);
}

SafeTensors load_checked(const fs::path& path) {
  SafeTensors loaded = load_safetensors(path.string());
  const auto stored = loaded.metadata.find(kKey);
  if (stored == loaded.metadata.end()) {
    fail(kWhere,
         fmt::format("{}: no checksum stands in its header (altered, or not written by tapegrad?)", path.string()));
  }
  const std::string found = sum_of(loaded.tensors, loaded.metadata);
  if (stored->second != found) {
    fail(kWhere, fmt::format("{}: damaged: the checksum in its header is {}, that of its contents is {}", path.string(),
                             stored->second, found));
  }
  return loaded;
}

}  // namespace tapegrad::train
