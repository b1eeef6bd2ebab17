// Writes safetensors files: u64 length of the header, the header in JSON, the tensors' bytes without gaps.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <tapegrad/autograd/io/detail/safetensors_file.h>
#include <tapegrad/autograd/io/safetensors.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

namespace tapegrad {
namespace {

using namespace safetensors;

std::string_view type_name(DType dtype) {
  switch (dtype) {
    case kFloat32: return "F32";
    case kFloat64: return "F64";
    case kBFloat16: return "BF16";
    case kInt64: return "I64";
    default: return "BOOL";
  }
}

void write_all(const File& file, const Descriptor& to, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(to.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) file.refuse_system("cannot write", count < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

// Opens the temporary file and takes it for this writer alone: whoever comes second waits, then starts with a new one.
int open_alone(const File& file, const std::string& path) {
  while (true) {
    const int number = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (number < 0) file.refuse_system("cannot write", errno);
    struct stat mine {
    }, there{};
    if (::flock(number, LOCK_EX) == 0 && ::fstat(number, &mine) == 0 && ::stat(path.c_str(), &there) == 0 &&
        mine.st_ino == there.st_ino && mine.st_dev == there.st_dev) {
      return number;
    }
    ::close(number);
  }
}

// Replaces `file` by what `write` writes, whole or not at all.
template <class F>
void replace(const File& file, const F& write) {
  const std::size_t slash = file.path().rfind('/');
  const std::string folder = slash == std::string::npos ? "" : file.path().substr(0, slash + 1);
  const std::string temporary = fmt::format("{}.{}.new", folder, file.path().substr(folder.size()));
  const Descriptor to(open_alone(file, temporary));
  try {
    if (::ftruncate(to.get(), 0) != 0) file.refuse_system("cannot write", errno);
    write(to);
    if (::fsync(to.get()) != 0) file.refuse_system("cannot write", errno);
    if (::rename(temporary.c_str(), file.path().c_str()) != 0) file.refuse_system("cannot replace", errno);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  // The name, too, must survive a loss of power; some file systems cannot sync a folder and say so by EINVAL.
  const Descriptor parent(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent.get() >= 0 && ::fsync(parent.get()) != 0 && errno != EINVAL) file.refuse_system("cannot sync", errno);
}

}  // namespace

void save_safetensors(const std::string& path, const NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata) {
  const File file(path);
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& t : tensors) order.push_back(&t);
  std::stable_sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
    return item_size(a->tensor.dtype()) > item_size(b->tensor.dtype());
  });
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  std::set<std::string_view> names{kMetadata};
  int64_t offset = 0;
  for (const NamedTensor* t : order) {
    if (t->name == kMetadata) file.refuse("a tensor cannot be named {}", kMetadata);
    if (!names.insert(t->name).second) file.refuse("two tensors are named \"{}\"", t->name);
    const int64_t begin = offset;
    offset += t->tensor.numel() * item_size(t->tensor.dtype());
    const Shape& shape = t->tensor.shape();
    header[t->name] = {{"dtype", type_name(t->tensor.dtype())},
                       {"shape", std::vector<int64_t>(shape.begin(), shape.end())},
                       {"data_offsets", {begin, offset}}};
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::type_error&) {
    file.refuse("a name or a string of the metadata is not UTF-8");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the data begins aligned
  if (text.size() > kMaxHeader)
    file.refuse("the header would have {} bytes, at most {} are allowed", text.size(), kMaxHeader);
  const uint64_t header_size = text.size();

  replace(file, [&](const Descriptor& to) {
    write_all(file, to, std::as_bytes(std::span(&header_size, 1)));
    write_all(file, to, std::as_bytes(std::span<const char>(text)));
    for (const NamedTensor* t : order) {
      if (t->tensor.numel() == 0) continue;
      const Tensor packed = t->tensor.detach().contiguous();
      write_all(file, to,
                {static_cast<const std::byte*>(packed.raw_data()),
                 static_cast<std::size_t>(packed.numel() * item_size(packed.dtype()))});
    }
  });
}

}  // namespace tapegrad
