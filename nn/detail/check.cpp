// Checks of a model's configuration and of its input.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/leaf_names.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/detail/check.h>

namespace tapegrad::nn {

void require_divisible(std::string_view where, std::string_view name, int64_t size, std::string_view heads_name,
                       int64_t heads) {
  require(size % heads == 0, where, "{} {} is not divisible by {} {} (each head takes an equal share)", name, size,
          heads_name, heads);
}

void fail_near(const Parameter& own, std::string_view where, std::string_view message) {
  const bool placed = own.defined() && Tape::current() != nullptr;
  const std::string place = placed ? tapegrad::detail::place_of(own->tape_index()) : "";
  throw Error(error_text(where, std::string(message) + place));
}

int64_t kv_width(std::string_view where, int64_t width, int64_t heads, int64_t kv_heads) {
  if (kv_heads == 0) return width;
  require(kv_heads >= 0 && heads % kv_heads == 0, where,
          "expected a number of key and value heads that divides the {} query heads, got {}", heads, kv_heads);
  return width / heads * kv_heads;
}

void fail_ids(std::string_view where, std::string_view shape, const Tensor& ids) {
  fail(where, "expected ids int64 {}, got {} {}{}", shape, ids.dtype(), ids.shape(),
       ids.dtype() == kInt64 ? "" : " (convert with to(kInt64))");
}

}  // namespace tapegrad::nn
