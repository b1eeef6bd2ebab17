// Checkpoints that several processes write together: a file of each with its elements, its shard, and the checkpoint
// itself, which names all shards and is written last.
#pragma once

#include <tapegrad/autograd/io/safetensors.h>
#include <tapegrad/distributed/divided_tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::train {

/// The folder of the shards, next to the checkpoint.
inline constexpr std::string_view kShardFolder = "checkpoint-shards";

namespace detail {

/// A shard, and how it is recognised.
struct Shard {
  std::string name;                  ///< in the folder
  uint64_t bytes = 0, checksum = 0;  ///< of the file; of its header, which contains the checksums of all tensors
};

/// Writes this process's elements of the tensors, durably.
Shard save_shard(const Destination& to, const std::vector<distributed::DividedTensor>& tensors);
/// Removes all shards but these from the folder, which may be missing, and the folder if it is then empty.
void remove_shards(const std::string& folder, const std::vector<Shard>& but = {});

/// The tensors of a checkpoint in shards, each of which is read when it is needed.
class Shards {
 public:
  /// Of shards that have been written, in the order of ranks: to save the checkpoint.
  Shards(std::vector<Shard> shards, std::vector<distributed::DividedTensor> tensors)
      : shards_(std::move(shards)), tensors_(std::move(tensors)) {}
  /// Of the checkpoint at `path`, which stores this text(). Error if it is damaged.
  Shards(const std::string& path, const std::string& text);
  /// What the checkpoint stores about shards and tensors.
  std::string text() const;
  /// Tensors whose names begin with `prefix`, without it, with zeros that take no memory instead of their values.
  NamedTensors shapes(std::string_view prefix) const;
  /// Elements [begin, end) of a tensor, flat. Error if a shard that contains some of them is missing, damaged, or of
  /// another checkpoint. Reads only the parts of shards that contain some.
  Tensor read(const std::string& name, int64_t begin, int64_t end) const;
  /// Appends the tensors whose names begin with `prefix`, without it, whole.
  void read_whole(std::string_view prefix, NamedTensors& out) const;

 private:
  const SafeTensorsFile& file_of(std::size_t rank) const;
  std::string path_;
  std::vector<Shard> shards_;
  std::vector<distributed::DividedTensor> tensors_;
  std::map<std::string, std::size_t> by_name_;
  mutable std::map<std::size_t, std::unique_ptr<SafeTensorsFile>> open_;  // by rank
};

}  // namespace detail
}  // namespace tapegrad::train
