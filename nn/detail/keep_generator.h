// What restores the default generator.
#pragma once

#include <tapegrad/autograd/random.h>

#include <cstddef>
#include <vector>

namespace tapegrad::nn::detail {

// The default generator continues afterwards as if nothing had drawn from it.
class KeepGenerator {
 public:
  KeepGenerator() = default;
  ~KeepGenerator() { default_generator().set_state(state_); }
  KeepGenerator(const KeepGenerator&) = delete;
  KeepGenerator& operator=(const KeepGenerator&) = delete;

 private:
  const std::vector<std::byte> state_ = default_generator().state();
};

}  // namespace tapegrad::nn::detail
