// Positions: learned and sinusoidal.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/check.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/positional.h>

#include <cmath>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kWhere = "positions";

Shape table_shape(std::int64_t max_positions, std::int64_t dim) {
  require_positive(kWhere, "max_positions", max_positions);
  require_positive(kWhere, "the size of a vector", dim);
  return {max_positions, dim};
}

void check_length(std::int64_t length, std::int64_t max_positions) {
  if (length <= max_positions) return;
  fail(kWhere, fmt::format("a sequence of length {} is longer than max_position_embeddings {}", length, max_positions));
}

}  // namespace

LearnedPositions::LearnedPositions(std::int64_t max_positions, std::int64_t dim)
    : weight(Tensor::empty(table_shape(max_positions, dim))) {
  init::normal(weight);
}

Tensor LearnedPositions::operator()(std::int64_t length, std::int64_t start) const {
  check_length(start + length, weight->size(0));
  return narrow(weight, 0, start, length);
}

SinusoidalPositions::SinusoidalPositions(std::int64_t max_positions, std::int64_t dim)
    : pe(sinusoidal_table(max_positions, dim)) {}

Tensor SinusoidalPositions::operator()(const Tensor& x) const {
  if (x.dim() < 2 || x.size(-1) != pe->size(1)) {
    fail(kWhere, fmt::format("x has shape {}, [..., T, {}] is needed", str(x.shape()), pe->size(1)));
  }
  check_length(x.size(-2), pe->size(0));
  return x + narrow(pe, 0, 0, x.size(-2));
}

Tensor sinusoidal_table(std::int64_t max_positions, std::int64_t dim) {
  const Tensor table = Tensor::empty(table_shape(max_positions, dim));
  float* row = table.mutable_data<float>();
  const auto step = static_cast<float>(-(std::log(10000.0) / static_cast<double>(dim)));
  for (std::int64_t t = 0; t < max_positions; ++t, row += dim) {
    for (std::int64_t i = 0; i < dim; i += 2) {
      const float angle = static_cast<float>(t) * std::exp(static_cast<float>(i) * step);
      row[i] = std::sin(angle);
      if (i + 1 < dim) row[i + 1] = std::cos(angle);
    }
  }
  return table;
}

}  // namespace tapegrad::nn
