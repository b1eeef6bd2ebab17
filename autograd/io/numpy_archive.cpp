// Several arrays in a .npz file.
#include <fmt/format.h>
#include <tapegrad/autograd/io/detail/npy.h>
#include <tapegrad/autograd/io/detail/zip.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/autograd/io/numpy.h>

#include <unordered_set>

namespace tapegrad {
namespace {

constexpr std::string_view kNpy = ".npy";
constexpr std::size_t kMostOfName = 60'000;

// The name of the array in an entry.
std::string_view array_name(const std::string& path, const zip::Entry& entry) {
  if (!entry.name.ends_with(kNpy))
    numpy::refuse(path, "expected only arrays (NAME.npy) in the archive, got \"{}\"{}", entry.name,
                  entry.name.ends_with(".pkl") ? " (a file of torch.save?)" : "");
  return std::string_view(entry.name).substr(0, entry.name.size() - kNpy.size());
}

Tensor read_entry_array(const std::string& path, const zip::Archive& archive, const zip::Entry& entry) {
  const std::unique_ptr<zip::EntrySource> source = archive.open(entry);
  Tensor tensor = numpy::read_array(*source, fmt::format("{}: array \"{}\"", path, array_name(path, entry)));
  source->finish();
  return tensor;
}

// The size in the archive is verified when an entry is read.
void check_expanded(const std::string& path, std::span<const zip::Entry> entries, const LoadNpzOptions& options) {
  uint64_t bytes = 0;
  for (const zip::Entry& entry : entries)
    if (entry.deflated) bytes += entry.size;
  if (bytes > options.max_expanded_bytes)
    numpy::refuse(
        path,
        "its compressed arrays expand to {} bytes, at most {} are allowed (raise LoadNpzOptions::max_expanded_bytes)",
        bytes, options.max_expanded_bytes);
}

void check_name(const std::string& path, const std::string& name, std::unordered_set<std::string_view>& seen) {
  if (!seen.insert(name).second) numpy::refuse(path, "two tensors are named \"{}\"", name);
  if (name.size() > kMostOfName)
    numpy::refuse(path, "a name has {} bytes, at most {} are allowed", name.size(), kMostOfName);
  if (name.find('\0') != std::string::npos) numpy::refuse(path, "the name \"{}\" has a NUL byte", name);
  try {
    Json(name).dump();
  } catch (const JsonError&) {
    numpy::refuse(path, "a name is not UTF-8");
  }
}

}  // namespace

NamedTensors load_npz(const std::string& path, const LoadNpzOptions& options) {
  const zip::Archive archive(path);
  check_expanded(path, archive.entries(), options);
  NamedTensors tensors;
  std::unordered_set<std::string_view> seen;
  for (const zip::Entry& entry : archive.entries()) {
    const std::string_view name = array_name(path, entry);
    if (!seen.insert(name).second) numpy::refuse(path, "two arrays are named \"{}\"", name);
    tensors.push_back({std::string(name), read_entry_array(path, archive, entry)});
  }
  return tensors;
}

Tensor load_npz(const std::string& path, std::string_view name, const LoadNpzOptions& options) {
  const zip::Archive archive(path);
  std::string known;
  for (const zip::Entry& entry : archive.entries()) {
    if (array_name(path, entry) == name) {
      check_expanded(path, {&entry, 1}, options);
      return read_entry_array(path, archive, entry);
    }
    if (known.size() < 200) known += fmt::format("{}\"{}\"", known.empty() ? "" : ", ", array_name(path, entry));
  }
  numpy::refuse(path, "expected an array \"{}\", got {}", name, known.empty() ? "none" : known);
}

void save_npz(const std::string& path, const NamedTensors& tensors) {
  std::unordered_set<std::string_view> seen;
  std::vector<std::string> headers;
  for (const NamedTensor& each : tensors) {
    check_name(path, each.name, seen);
    headers.push_back(numpy::array_header(each.tensor, false, path));
  }
  AtomicFile out(path);
  zip::Writer writer(out);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor packed = tensors[i].tensor.detach().contiguous();
    writer.add(tensors[i].name + std::string(kNpy), bytes_of(headers[i]), numpy::values_of(packed));
  }
  writer.finish();
  out.commit();
}

}  // namespace tapegrad
