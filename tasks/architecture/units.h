// The operations of a watched pass, grouped by the modules that are drawn as one part.
#pragma once

#include <tapegrad/nn/watch.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks::architecture {

/// What becomes a part: a module, or an operation between modules.
struct Unit {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  std::size_t module = kNone;                ///< a member of the model; kNone: an operation
  std::string path = {};                     ///< of the module, or of that which runs the operation
  std::vector<std::size_t> operations = {};  ///< in order
  int64_t output = -1;                       ///< the one that other units read
  std::vector<int64_t> inputs = {};          ///< operations of other units that it reads, the newest first
  std::vector<std::size_t> parameters = {};  ///< members, each in one unit
  std::vector<std::string> dropouts = {};    ///< what follows it in training: C++; of a sum, names of members
};

/// In the order of their outputs; modules without operations come first.
std::vector<Unit> units_of(const nn::Watched& seen);

/// The element of a list that a unit is in: "encoder.layers" and 2. An empty list: in none.
struct Layer {
  std::string list = {};
  int64_t index = 0;
  bool operator==(const Layer&) const = default;
};
Layer layer_of(const nn::Watched& seen, std::string_view path);

/// The modules of the whole model that have lists, such as "encoder" and "decoder".
std::vector<std::string> stack_paths(const nn::Watched& seen);

/// Whether `path` is that of the module, or inside of it.
bool is_in(std::string_view path, std::string_view module);

}  // namespace tapegrad::tasks::architecture
