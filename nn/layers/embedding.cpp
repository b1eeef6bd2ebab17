// The lookup table of token vectors.
#include <fmt/format.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/embedding.h>
#include <tapegrad/nn/init.h>

#include <algorithm>

namespace tapegrad::nn {

namespace {

Shape table_shape(int64_t count, int64_t dim) {
  require_positive("embedding", "the number of ids", count);
  require_positive("embedding", "the size of a vector", dim);
  return {count, dim};
}

}  // namespace

Embedding::Embedding(int64_t count, int64_t dim, std::optional<int64_t> padding)
    : weight(Parameter(init::blank(table_shape(count, dim)))), padding(padding) {
  if (padding && !(*padding >= 0 && *padding < count)) {
    fail("embedding", fmt::format("the padding id must be in [0, {}), got {}", count, *padding));
  }
  init::normal(weight);
  if (padding && !init::ShapesOnly::on()) std::fill_n(weight.mutable_data<float>() + *padding * dim, dim, 0.0F);
}

}  // namespace tapegrad::nn
