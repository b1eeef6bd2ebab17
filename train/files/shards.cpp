// Writes and reads the shards of checkpoints.
// build: fuzzed
#include <fmt/format.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/files.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/train/files/internal/shards.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>

namespace tapegrad::train::detail {
namespace {

namespace fs = std::filesystem;
using distributed::DividedTensor;
using json = Json;

constexpr std::string_view kWhere = "checkpoint", kStart = "step-", kEnd = ".safetensors";

// The checksum of a file's header (SaveOptions::checksums); 0 without one.
uint64_t checksum_of(const SafeTensorsFile& file) {
  constexpr std::size_t kDigits = 16;
  const auto found = file.metadata().find("checksum");
  uint64_t sum = 0;
  if (!file.has_checksums() || found == file.metadata().end()) return sum;
  const char* const digits = found->second.data() + found->second.find(':') + 1;
  std::from_chars(digits, digits + kDigits, sum, 16);
  return sum;
}

DType dtype_named(std::string_view text) {
  for (const DType dtype : {kBool, kUInt8, kInt32, kInt64, kFloat16, kBFloat16, kFloat32})
    if (name(dtype) == text) return dtype;
  return kFloat64;
}

// Whether the parts, in order, are all elements.
bool are_whole(const DividedTensor& tensor, std::size_t shards) {
  int64_t end = 0;
  for (const DividedTensor::Part& part : tensor.parts) {
    if (part.rank < 0 || part.rank >= static_cast<int64_t>(shards) || part.begin != end || part.end <= end)
      return false;
    end = part.end;
  }
  return end == checked_numel(kWhere, tensor.shape);
}

}  // namespace

Shard save_shard(const Destination& to, const std::vector<DividedTensor>& tensors) {
  NamedTensors own;
  for (const DividedTensor& one : tensors)
    if (one.own.defined()) own.push_back({one.name, one.own});
  save_safetensors(to, own, {{"kind", "tapegrad checkpoint shard"}}, {.checksums = true});
  const std::string path = to.path();
  return {fs::path(path).filename(), fs::file_size(path), checksum_of(SafeTensorsFile(path))};
}

void remove_shards(const std::string& folder, const std::vector<Shard>& but) {
  std::error_code ignored;
  if (!fs::is_directory(fs::symlink_status(folder, ignored))) return;  // a link is not followed
  try {
    check_replaceable(Destination(folder, "step-none"));  // removes what killed processes have left
  } catch (const Error&) {                                // nothing can be removed
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string file = entry.path().filename();
    if (!file.starts_with(kStart) || !file.ends_with(kEnd)) continue;
    if (std::ranges::find(but, file, &Shard::name) == but.end()) fs::remove(entry.path(), ignored);
  }
  if (but.empty()) fs::remove(folder, ignored);
}

Shards::Shards(const std::string& path, const std::string& text) : path_(path) {
  const auto refuse = [&](const std::string& why) { fail(kWhere, "{}: its list of shards {}", path, why); };
  const json in = tapegrad::json::parse(text, refuse);
  try {
    for (const json& one : in.at("shards"))
      shards_.push_back({fs::path(one.at("file").get<std::string>()).filename(), one.at("bytes").get<uint64_t>(),
                         one.at("checksum").get<uint64_t>()});
    for (const json& one : in.at("tensors")) {
      DividedTensor& tensor = tensors_.emplace_back();
      tensor.name = one.at("name").get<std::string>();
      tensor.shape = Shape(one.at("shape").get<std::vector<int64_t>>());
      tensor.dtype = dtype_named(one.at("dtype").get<std::string>());
      for (const json& part : one.at("parts"))
        tensor.parts.push_back({part.at(0).get<int64_t>(), part.at(1).get<int64_t>(), part.at(2).get<int64_t>()});
      std::ranges::sort(tensor.parts, {}, &DividedTensor::Part::begin);
      if (!are_whole(tensor, shards_.size())) refuse(fmt::format("does not have all of \"{}\"", tensor.name));
      by_name_.emplace(tensor.name, tensors_.size() - 1);
    }
  } catch (const JsonError&) {
    refuse("is damaged");
  }
}

std::string Shards::text() const {
  json out{{"shards", json::array()}, {"tensors", json::array()}};
  for (const Shard& one : shards_)
    out["shards"].push_back({{"bytes", one.bytes}, {"checksum", one.checksum}, {"file", one.name}});
  for (const DividedTensor& one : tensors_) {
    json parts = json::array();
    for (const auto& [rank, begin, end] : one.parts) parts.push_back({rank, begin, end});
    out["tensors"].push_back({{"dtype", name(one.dtype)},
                              {"name", one.name},
                              {"parts", parts},
                              {"shape", std::vector<int64_t>(one.shape.begin(), one.shape.end())}});
  }
  return out.dump();
}

NamedTensors Shards::shapes(std::string_view prefix) const {
  NamedTensors out;
  for (const DividedTensor& one : tensors_)
    if (one.name.starts_with(prefix))
      out.push_back({one.name.substr(prefix.size()), zeros({}, one.dtype).expand(one.shape)});
  return out;
}

// Compared with what the checkpoint says. A few stay open.
const SafeTensorsFile& Shards::file_of(std::size_t rank) const {
  if (const auto found = open_.find(rank); found != open_.end()) return *found->second;
  constexpr std::size_t kMostOpen = 16;
  if (open_.size() == kMostOpen) open_.clear();
  const Shard& shard = shards_[rank];
  const std::string path = fs::path(path_).parent_path() / kShardFolder / shard.name;
  if (kind_of_file(path) != FileKind::file)
    fail(kWhere, "{}: its shard {} is missing (the folder {} belongs to the checkpoint)", path_, path, kShardFolder);
  std::error_code unknown;
  if (const uint64_t bytes = fs::file_size(path, unknown); bytes != shard.bytes)
    fail(kWhere, "{}: damaged, or of another checkpoint than {}: expected {} bytes, got {}", path, path_, shard.bytes,
         bytes);
  auto opened = std::make_unique<SafeTensorsFile>(path);
  if (checksum_of(*opened) != shard.checksum)
    fail(kWhere, "{}: of another checkpoint than {} (its header has another checksum)", path, path_);
  return *(open_[rank] = std::move(opened));
}

Tensor Shards::read(const std::string& name, int64_t begin, int64_t end) const {
  const DividedTensor& tensor = tensors_.at(by_name_.at(name));
  if (begin == end) return zeros({0}, tensor.dtype);
  Tensor out;
  for (const DividedTensor::Part& part : tensor.parts) {
    const int64_t from = std::max(begin, part.begin), to = std::min(end, part.end);
    if (from >= to) continue;
    const SafeTensorsFile& file = file_of(static_cast<std::size_t>(part.rank));
    const SafeTensorsFile::Entry* const entry = file.find(name);
    if (!entry || entry->shape.numel() != part.end - part.begin)
      fail(kWhere, "{}: expected elements {} to {} of \"{}\", as {} says", file.path(), part.begin, part.end, name,
           path_);
    const Tensor found = file.read(*entry);
    if (from == begin && to == end) return found.view({to - from}, {1}, from - part.begin);
    if (!out.defined()) out = Tensor::empty({end - begin}, found.dtype());
    const int64_t item = item_size(out.dtype());
    std::memcpy(static_cast<char*>(out.mutable_raw_data()) + (from - begin) * item,
                static_cast<const char*>(found.raw_data()) + (from - part.begin) * item,
                static_cast<std::size_t>((to - from) * item));
  }
  return out;
}

void Shards::read_whole(std::string_view prefix, NamedTensors& out) const {
  for (const DividedTensor& one : tensors_)
    if (one.name.starts_with(prefix))
      out.push_back({one.name.substr(prefix.size()), read(one.name, 0, one.shape.numel()).reshape(one.shape)});
}

}  // namespace tapegrad::train::detail
