// Checks of a model's configuration and of its input.
#pragma once

#include <tapegrad/autograd/limits.h>
#include <tapegrad/nn/parameter.h>

#include <cstdint>
#include <string_view>

namespace tapegrad::nn {

// Error "[where] expected name > 0, got 0" unless value > 0.
inline void require_positive(std::string_view where, std::string_view name, int64_t value) {
  require_in(where, name, value, kPositive);
}
// A configuration after its check(), as the first thing that a constructor computes.
template <class Config>
const Config& checked(const Config& config) {
  config.check();
  return config;
}

// Error unless every head gets an equal share of `size`.
void require_divisible(std::string_view where, std::string_view name, int64_t size, std::string_view heads_name,
                       int64_t heads);

// Error of a module that rejects its input. While a tape records, the text ends with the place in the model of the
// module that has the parameter `own`: " (near ups.0.norm, a GroupNorm)".
[[noreturn]] void fail_near(const Parameter& own, std::string_view where, std::string_view message);

// The width of keys and values with `kv_heads` heads (0: `heads`), if queries with `heads` heads have `width`. Error
// unless kv_heads divides heads.
int64_t kv_width(std::string_view where, int64_t width, int64_t heads, int64_t kv_heads);

// Error "[where] expected ids int64 shape, got float32 [2, 3]", with a hint for another type.
[[noreturn]] void fail_ids(std::string_view where, std::string_view shape, const Tensor& ids);

}  // namespace tapegrad::nn
