// Writes checkpoints of several processes in the background.
#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/train/internal/shard_writer.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <utility>

namespace tapegrad::train::detail {

using distributed::DividedTensor;

namespace {

// Where the system has no further thread, advance() does the work.
constexpr std::launch kInBackground = std::launch::async | std::launch::deferred;

}  // namespace

std::vector<DividedTensor::Part> divided_evenly(int64_t first, int64_t numel, int64_t total, int64_t size) {
  std::vector<DividedTensor::Part> parts;
  const auto cut = [&](int64_t rank) { return std::clamp(total * rank / size - first, int64_t{0}, numel); };
  for (int64_t rank = numel == 0 ? size : first * size / total; rank < size && cut(rank) < numel; ++rank)
    if (cut(rank) < cut(rank + 1)) parts.push_back({rank, cut(rank), cut(rank + 1)});
  return parts;
}

ShardWriter::ShardWriter(const distributed::World& world, const RunFolder& folder, Save save)
    : world_(world),
      folder_(world.rank() == 0 ? folder : own_.emplace(folder.path(), RunFolder::Use::shares)),
      save_(std::move(save)) {}

std::unique_ptr<ShardWriter> ShardWriter::make(const distributed::World& world, const RunFolder& folder) {
  if (world.size() == 1) return nullptr;
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  const auto number = std::to_string(world.broadcast(scalar(static_cast<int64_t>(now), kInt64)).item<int64_t>());
  const bool first = world.rank() == 0;
  const std::string place = folder.now() / kShardFolder, token = "step-none.safetensors";  // removed like a shard
  std::string error;
  try {
    if (first) create_folder(place);
    if (first) replace_file(folder.file(kShardFolder) / token, number);
  } catch (const Error& e) {
    error = e.what();
  }
  world.agree(error);
  bool same = false;
  try {
    same = read_file(place + "/" + token) == number;
  } catch (const Error&) {  // it is not there
  }
  const bool all = world.all_reduce(scalar(int64_t{same}, kInt64), distributed::Reduce::min).item<int64_t>() == 1;
  std::error_code ignored;
  if (first) fs::remove(place + "/" + token, ignored);
  if (all) return std::make_unique<ShardWriter>(world, folder);
  if (!first) return nullptr;
  std::fputs(printable(fmt::format("note: {} is not the same folder in every process: the first one writes the whole "
                                   "checkpoints\n",
                                   folder.path().string()),
                       "\n")
                 .c_str(),
             stderr);
  fs::remove(place, ignored);
  return nullptr;
}

void ShardWriter::begin(int64_t step, std::vector<DividedTensor> tensors, Checkpoint rest,
                        std::function<void()> before) {
  finish();
  tensors_ = std::move(tensors), rest_ = std::move(rest), before_ = std::move(before);
  phase_ = Phase::shards;
  const std::string name = fmt::format("step-{}-rank-{}-of-{}.safetensors", step, world_.rank(), world_.size());
  writing_ = std::async(kInBackground, [this, name] { return save_(folder_.file(kShardFolder) / name, tensors_); });
}

bool ShardWriter::is_writing() const {
  return writing_.valid() && writing_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout;
}

void ShardWriter::advance() {
  if (phase_ == Phase::none) return;
  Shard own;
  std::string error;
  try {
    if (writing_.valid()) own = writing_.get();
  } catch (const std::exception& e) {
    error = e.what();
  }
  const Phase ended = std::exchange(phase_, Phase::none);
  world_.agree(error);
  for (DividedTensor& one : tensors_) one.own = {};
  if (ended == Phase::checkpoint) return;
  phase_ = Phase::checkpoint;
  const std::vector<int64_t> said{std::bit_cast<int64_t>(own.bytes), std::bit_cast<int64_t>(own.checksum)};
  const auto all = world_.all_gather(tensor(said, {2})).to_vector<int64_t>();
  if (world_.rank() > 0) return;
  std::vector<Shard> shards;
  for (std::size_t r = 0; 2 * r < all.size(); ++r) {
    std::string name = own.name;  // that of rank 0
    name.replace(name.find("rank-0"), 6, fmt::format("rank-{}", r));
    shards.push_back({name, std::bit_cast<uint64_t>(all[2 * r]), std::bit_cast<uint64_t>(all[2 * r + 1])});
  }
  writing_ = std::async(kInBackground, [this, shards] {
    if (before_) before_();
    rest_.shards = std::make_shared<Shards>(shards, std::move(tensors_));
    rest_.save(folder_.file(kCheckpointFile));
    remove_shards(folder_.now() / kShardFolder, shards);
    return Shard();
  });
}

void ShardWriter::finish() {
  while (phase_ != Phase::none) {
    if (writing_.valid()) writing_.wait();
    advance();
  }
}

}  // namespace tapegrad::train::detail
