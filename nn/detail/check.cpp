// Checks of what a model is configured with.
#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/nn/detail/check.h>

namespace tapegrad::nn {

void require_positive(std::string_view where, std::string_view name, int64_t value) {
  if (value <= 0) fail(where, fmt::format("{} is {}, it must be positive", name, value));
}

void require_probability(std::string_view where, std::string_view name, double p) {
  if (!(p >= 0 && p <= 1)) fail(where, fmt::format("{} is {}, it must be a probability (0 to 1)", name, p));
}

}  // namespace tapegrad::nn
