// Writes and reads checkpoints.
#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/tasks/train/checkpoint.h>
#include <tapegrad/tasks/train/checksum.h>
#include <tapegrad/tasks/train/detail/checkpoint_state.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

namespace tapegrad::train {
namespace {

constexpr char kMagic[24] = "tapegrad checkpoint 1\n";
constexpr std::size_t kSizeAt = 24, kSumAt = 32, kHeaderSizeAt = 40, kHeaderAt = 48;
constexpr std::string_view kGenerator = "generator", kTask = "task";

void put(std::string& file, std::size_t at, uint64_t value) { std::memcpy(file.data() + at, &value, 8); }

uint64_t get(const std::string& file, std::size_t at) {
  uint64_t value = 0;
  std::memcpy(&value, file.data() + at, 8);
  return value;
}

uint64_t sum_of(const std::string& file) { return checksum(bytes_of(file).subspan(kHeaderSizeAt), file.size()); }

[[noreturn]] void refuse(const fs::path& path, std::string_view why) {
  fail("checkpoint", fmt::format("{}: {}", path.string(), why));
}

DType dtype_named(const std::string& text) {
  for (const DType dtype : {kBool, kInt64, kFloat32, kFloat64})
    if (name(dtype) == text) return dtype;
  fail("checkpoint", fmt::format("unknown element type \"{}\"", text));
}

}  // namespace

void Checkpoint::add(std::string_view prefix, const NamedTensors& named) {
  for (const NamedTensor& entry : named) tensors.push_back({std::string(prefix) + entry.name, entry.tensor});
}

NamedTensors Checkpoint::with_prefix(std::string_view prefix) const {
  NamedTensors out;
  for (const NamedTensor& entry : tensors)
    if (entry.name.starts_with(prefix)) out.push_back({entry.name.substr(prefix.size()), entry.tensor});
  return out;
}

nlohmann::json detail::state_of(const Checkpoint& checkpoint, std::initializer_list<const char*> keys) {
  nlohmann::json json = nlohmann::json::parse(checkpoint.state, nullptr, false);
  for (const char* key : keys)
    if (!json.is_object() || !json.contains(key)) fail("checkpoint", fmt::format("its state has no \"{}\"", key));
  return json;
}

void save_checkpoint(const fs::path& path, const Checkpoint& checkpoint) {
  nlohmann::ordered_json header;
  header["state"] = checkpoint.state;
  header["blocks"].push_back({{"name", kGenerator}, {"dtype", "bytes"}, {"shape", {checkpoint.generator.size()}}});
  header["blocks"].push_back({{"name", kTask}, {"dtype", "bytes"}, {"shape", {checkpoint.task.size()}}});
  std::vector<Tensor> packed;
  for (const NamedTensor& block : checkpoint.tensors) {
    const Shape& shape = block.tensor.shape();
    header["blocks"].push_back({{"name", block.name},
                                {"dtype", name(block.tensor.dtype())},
                                {"shape", std::vector<int64_t>(shape.begin(), shape.end())}});
    packed.push_back(block.tensor.contiguous());
  }
  const std::string head = header.dump();

  std::string start(kMagic, sizeof kMagic);
  start.append(kHeaderAt - kSizeAt, '\0');
  start.append(head);
  // Straight from where the bytes stand: a checkpoint may be larger than what memory has left.
  std::vector<std::span<const std::byte>> pieces{bytes_of(start), checkpoint.generator, checkpoint.task};
  for (const Tensor& x : packed) {
    pieces.emplace_back(static_cast<const std::byte*>(x.raw_data()),
                        static_cast<std::size_t>(x.numel() * item_size(x.dtype())));
  }
  uint64_t size = 0;
  for (const auto& piece : pieces) size += piece.size();
  put(start, kSizeAt, size);
  put(start, kHeaderSizeAt, head.size());
  Checksum sum(size - kHeaderSizeAt, size);
  sum.add(pieces[0].subspan(kHeaderSizeAt));
  for (std::size_t i = 1; i < pieces.size(); ++i) sum.add(pieces[i]);
  put(start, kSumAt, sum.value());
  replace_file_by(path, [&](const fs::path& temporary) {
    std::ofstream file(temporary, std::ios::binary);
    for (const auto& piece : pieces)
      file.write(reinterpret_cast<const char*>(piece.data()), static_cast<std::streamsize>(piece.size()));
    file.close();
    if (!file) fail("file", fmt::format("cannot write to {}: {}", path.string(), std::strerror(errno)));
  });
}

Checkpoint load_checkpoint(const fs::path& path) {
  const std::string file = read_file(path);
  if (file.size() < kHeaderAt)
    refuse(path, fmt::format("{} bytes are too few for a checkpoint (truncated?)", file.size()));
  if (std::memcmp(file.data(), kMagic, sizeof kMagic) != 0)
    refuse(path, "bytes 0 to 23 are not those of a tapegrad checkpoint, version 1");
  if (get(file, kSizeAt) != file.size())
    refuse(path, fmt::format("has {} bytes, but bytes 24 to 31 say {} (truncated or altered)", file.size(),
                             get(file, kSizeAt)));
  if (get(file, kSumAt) != sum_of(file))
    refuse(path, fmt::format("damaged: the checksum in bytes 32 to 39 is {:016x}, that of bytes 40 to {} is {:016x}",
                             get(file, kSumAt), file.size() - 1, sum_of(file)));
  Checkpoint out;
  try {
    const std::size_t head_bytes = get(file, kHeaderSizeAt);
    if (head_bytes > file.size() - kHeaderAt) fail("checkpoint", "the header is longer than the file");
    const auto header = nlohmann::json::parse(file.data() + kHeaderAt, file.data() + kHeaderAt + head_bytes);
    out.state = header.at("state").get<std::string>();
    std::size_t at = kHeaderAt + head_bytes;
    for (const auto& entry : header.at("blocks")) {
      const std::string name = entry.at("name"), type = entry.at("dtype");
      const auto sizes = entry.at("shape").get<std::vector<int64_t>>();
      const Shape shape(sizes.data(), static_cast<int64_t>(sizes.size()));
      const int64_t width = type == "bytes" ? 1 : item_size(dtype_named(type));
      const auto bytes = static_cast<std::size_t>(shape.numel() * width);
      if (bytes > file.size() - at) fail("checkpoint", fmt::format("{} reaches beyond the end", name));
      const char* data = file.data() + at;
      if (type == "bytes") {
        const auto* first = reinterpret_cast<const std::byte*>(data);
        (name == kTask ? out.task : out.generator).assign(first, first + bytes);
      } else {
        const Tensor tensor = Tensor::empty(shape, dtype_named(type));
        if (bytes > 0) std::memcpy(tensor.mutable_raw_data(), data, bytes);
        out.tensors.push_back({name, tensor});
      }
      at += bytes;
    }
    if (at != file.size()) fail("checkpoint", fmt::format("{} bytes follow the last block", file.size() - at));
  } catch (const nlohmann::json::exception& e) {
    refuse(path, fmt::format("the header is not understood: {}", e.what()));
  } catch (const Error& e) {
    refuse(path, e.what());
  }
  return out;
}

}  // namespace tapegrad::train
