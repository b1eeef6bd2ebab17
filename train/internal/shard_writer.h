// Checkpoints that all processes of a run write, while the next steps run.
#pragma once

#include <tapegrad/distributed/world.h>
#include <tapegrad/train/checkpoint.h>
#include <tapegrad/train/files.h>
#include <tapegrad/train/files/internal/shards.h>

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <vector>

namespace tapegrad::train::detail {

/// How a whole tensor, which every process has, is divided: by its place among `total` elements of all tensors.
std::vector<distributed::DividedTensor::Part> divided_evenly(int64_t first, int64_t numel, int64_t total, int64_t size);

/// Writes checkpoints in two parts, each in a thread of its own: every process writes its shard, and then, when all
/// shards are on the disk, the first process writes the checkpoint, which names them, and removes earlier shards. So
/// there is a whole checkpoint at every moment: the earlier one, or the later one.
///
/// All processes make the same calls.
class ShardWriter {
 public:
  using Save = std::function<Shard(const Destination&, const std::vector<distributed::DividedTensor>&)>;
  /// Writes into the folder, which the first process has locked. World and folder must outlive it.
  ShardWriter(const distributed::World& world, const RunFolder& folder, Save save = save_shard);
  /// nullptr for a process alone, and, with a note, where not all processes find the folder's files: on several
  /// machines, it may be another folder on each. Error if it cannot be written to.
  static std::unique_ptr<ShardWriter> make(const distributed::World& world, const RunFolder& folder);

  /// Begins a checkpoint, after the end of the last one. `own` of the tensors must not change any more. Only the first
  /// process uses `rest`, all other entries, and `before`, which is called before it writes the checkpoint.
  void begin(int64_t step, std::vector<distributed::DividedTensor> tensors, Checkpoint rest,
             std::function<void()> before);
  /// Whether this process still writes.
  bool is_writing() const;
  /// Goes on to the second part, or ends it. No process may still write. If one of them has failed, all throw the same
  /// Error.
  void advance();
  /// Waits until the checkpoint is on the disk. Throws the same Error.
  void finish();

 private:
  const distributed::World& world_;
  std::optional<RunFolder> own_;
  const RunFolder& folder_;
  Save save_;
  std::vector<distributed::DividedTensor> tensors_;
  Checkpoint rest_;
  std::function<void()> before_;
  enum class Phase { none, shards, checkpoint } phase_ = Phase::none;
  std::future<Shard> writing_;  // last: it ends before the others
};

}  // namespace tapegrad::train::detail
