// The code paths among which an operation chooses by shapes: nn::certify lists the paths that a model has not reached.
#pragma once

#include <tapegrad/autograd/op.h>

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tapegrad::detail {

/// One constant per path, with static lifetime, where it is chosen: const OpPath kByBlocks{kAttention, "by blocks"}.
/// Constructing it enters it in all().
struct OpPath {
  OpPath(const Op& op, std::string_view name);
  OpPath(const OpPath&) = delete;

  const Op& op;
  std::string_view name;

  /// To be called whenever the path is taken.
  void take() const { taken_.fetch_add(1, std::memory_order_relaxed); }
  /// How often it was taken, by all threads, since the process began.
  int64_t taken() const { return taken_.load(std::memory_order_relaxed); }
  /// Every path of the process.
  static const std::vector<const OpPath*>& all();

 private:
  mutable std::atomic<int64_t> taken_ = 0;
};

}  // namespace tapegrad::detail
