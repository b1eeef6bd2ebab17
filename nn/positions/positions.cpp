// The positional encodings and their options, and the tables of index, learned and sinusoidal positions.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/positions.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kWhere = "positions";

Shape table_shape(int64_t max_positions, int64_t dim) {
  require_positive(kWhere, "max_positions", max_positions);
  require_positive(kWhere, "the size of a vector", dim);
  return {max_positions, dim};
}

void check_length(int64_t length, int64_t max_positions) {
  if (length <= max_positions) return;
  fail(kWhere, fmt::format("a sequence of length {} is longer than max_position_embeddings {}", length, max_positions));
}

bool has(std::span<const std::string_view> names, Positions kind) {
  return std::find(names.begin(), names.end(), name(kind)) != names.end();
}

void require_one_of(std::span<const std::string_view> names, std::string_view member, Positions kind) {
  if (has(names, kind)) return;
  fail(kWhere, fmt::format("{} must be one of {}, got {}", member, fmt::join(names, ", "), name(kind)));
}

void require_size(std::string_view member, int64_t size) {
  if (size < 0) fail(kWhere, fmt::format("{} must not be negative, got {}", member, size));
}

}  // namespace

std::string_view name(Positions positions) { return kPositionNames[static_cast<std::size_t>(positions)]; }

Positions positions_named(std::string_view name) {
  const auto* at = std::find(std::begin(kPositionNames), std::end(kPositionNames), name);
  if (at == std::end(kPositionNames)) {
    fail(kWhere, fmt::format("expected one of {}, got \"{}\"", fmt::join(kPositionNames, ", "), name));
  }
  return static_cast<Positions>(at - std::begin(kPositionNames));
}

void PositionOptions::check() const {
  if (interpolate_to < 0) fail(kWhere, fmt::format("interpolate_to must not be negative, got {}", interpolate_to));
  if (!(rope_base > 1)) fail(kWhere, fmt::format("rope_base must be larger than 1, got {}", rope_base));
  if (!(ntk_scale >= 1)) fail(kWhere, fmt::format("ntk_scale must be at least 1, got {}", ntk_scale));
  require_positive(kWhere, "shaw_distance", shaw_distance);
  if (t5_buckets < 4 || t5_buckets % 2 != 0) {
    fail(kWhere, fmt::format("t5_buckets must be even and at least 4, got {}", t5_buckets));
  }
  if (t5_distance <= t5_buckets / 2) {
    fail(kWhere, fmt::format("t5_distance must be larger than half of t5_buckets {}, got {}", t5_buckets, t5_distance));
  }
  if (conv_width < 1 || conv_width % 2 == 0) {
    fail(kWhere, fmt::format("conv_width must be odd and positive, got {}", conv_width));
  }
  require_size("lstm_size", lstm_size);
  require_size("ode_size", ode_size);
  if (!(ode_interval > 0)) fail(kWhere, fmt::format("ode_interval must be positive, got {}", ode_interval));
  ode.check();
  require_size("dynamic_size", dynamic_size);
  require_one_of(kAddedPositionNames, "composite_added", composite_added);
  require_one_of(kRelativePositionNames, "composite_relative", composite_relative);
}

Positions added_kind(Positions positions, const PositionOptions& options) {
  if (positions == Positions::composite) return options.composite_added;
  return has(kRelativePositionNames, positions) ? Positions::none : positions;
}

Positions relative_kind(Positions positions, const PositionOptions& options) {
  if (positions == Positions::composite) return options.composite_relative;
  return has(kRelativePositionNames, positions) ? positions : Positions::none;
}

int64_t longest_input(Positions positions, int64_t max_positions, const PositionOptions& options) {
  if (added_kind(positions, options) != Positions::learned) return std::numeric_limits<int64_t>::max();
  return std::max(max_positions, options.interpolate_to);
}

// --- learned ---

LearnedPositions::LearnedPositions(int64_t max_positions, int64_t dim)
    : weight(Tensor::empty(table_shape(max_positions, dim))) {
  init::normal(weight);
}

Tensor LearnedPositions::operator()(int64_t length, int64_t start) const {
  check_length(start + length, weight->size(0));
  return narrow(weight, 0, start, length);
}

Tensor LearnedPositions::interpolated(int64_t length, int64_t start, int64_t total) const {
  const int64_t rows = weight->size(0);
  check_length(start + length, total);
  const Tensor lower = Tensor::empty({length}, kInt64), upper = Tensor::empty({length}, kInt64);
  const Tensor between = Tensor::empty({length, 1}, kFloat64);  // 0: on the lower row
  for (int64_t i = 0; i < length; ++i) {
    const double at = static_cast<double>((start + i) * rows) / static_cast<double>(total);
    const auto row = std::min(static_cast<int64_t>(at), rows - 1);
    lower.mutable_data<int64_t>()[i] = row;
    upper.mutable_data<int64_t>()[i] = std::min(row + 1, rows - 1);
    between.mutable_data<double>()[i] = at - static_cast<double>(row);
  }
  const Tensor from = index_select(weight, 0, lower);
  return from + between.to(from.dtype()) * (index_select(weight, 0, upper) - from);
}

// --- sinusoidal ---

SinusoidalPositions::SinusoidalPositions(int64_t max_positions, int64_t dim)
    : pe(sinusoidal_table(max_positions, dim)) {}

Tensor SinusoidalPositions::operator()(const Tensor& x) const {
  if (x.dim() < 2 || x.size(-1) != pe->size(1)) {
    fail(kWhere, fmt::format("expected x [..., T, {}], got {}", pe->size(1), str(x.shape())));
  }
  check_length(x.size(-2), pe->size(0));
  return x + narrow(pe, 0, 0, x.size(-2));
}

Tensor sinusoidal_table(int64_t length, int64_t dim, int64_t start) {
  const Tensor table = Tensor::empty(table_shape(length, dim));
  float* row = table.mutable_data<float>();
  const auto step = static_cast<float>(-(std::log(10000.0) / static_cast<double>(dim)));
  for (int64_t t = start; t < start + length; ++t, row += dim) {
    for (int64_t i = 0; i < dim; i += 2) {
      const float angle = static_cast<float>(t) * std::exp(static_cast<float>(i) * step);
      row[i] = std::sin(angle);
      if (i + 1 < dim) row[i + 1] = std::cos(angle);
    }
  }
  return table;
}

// --- index ---

Tensor add_index(const Tensor& x, int64_t start) {
  if (x.dim() < 2) fail(kWhere, fmt::format("expected x [..., T, C], got {}", str(x.shape())));
  const int64_t length = x.size(-2);
  return x + arange(static_cast<double>(start), static_cast<double>(start + length), 1, x.dtype()).reshape({length, 1});
}

}  // namespace tapegrad::nn
