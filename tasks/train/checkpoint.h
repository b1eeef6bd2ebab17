// The checkpoint of a run: one file that holds everything an exact continuation needs, and notices any damage.
//
// Layout, little-endian: the 24 bytes "tapegrad checkpoint 1\n\0\0"; u64 size of the file; u64 checksum of all that
// follows; u64 size of the header; the header (JSON: "state" and the list "blocks" of {name, dtype, shape}); then the
// blocks' bytes in that order, without gaps.
#pragma once

#include <tapegrad/autograd/named_tensor.h>
#include <tapegrad/tasks/train/files.h>

#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::train {

struct Checkpoint {
  std::string state;                 // JSON: options, step, running sums
  std::vector<std::byte> generator;  // Generator::state()
  std::vector<std::byte> task;       // Task::state()
  NamedTensors tensors;              // parameters and the optimiser's state, in a fixed order

  // Appends tensors, as "prefix" + name, and those that were appended so, under their names.
  void add(std::string_view prefix, const NamedTensors& named);
  NamedTensors with_prefix(std::string_view prefix) const;
};
// The prefixes of a model's state and of its optimiser's.
inline constexpr std::string_view kModelPrefix = "model.", kAdamPrefix = "adam.";

// Replaces `path` atomically and durably.
void save_checkpoint(const fs::path& path, const Checkpoint& checkpoint);
// Error "[checkpoint] path: ..." that says what is wrong and where, when a single byte differs from what was saved.
Checkpoint load_checkpoint(const fs::path& path);

}  // namespace tapegrad::train
