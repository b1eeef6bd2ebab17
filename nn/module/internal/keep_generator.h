// Restores the default generator.
#pragma once

#include <tapegrad/autograd/random.h>

#include <cstddef>
#include <vector>

namespace tapegrad::nn::detail {

// At the end of the scope, the default generator continues as if nothing had been sampled.
class KeepGenerator : NonCopyable {
 public:
  ~KeepGenerator() { default_generator().set_state(state_); }

 private:
  const std::vector<std::byte> state_ = default_generator().state();
};

}  // namespace tapegrad::nn::detail
