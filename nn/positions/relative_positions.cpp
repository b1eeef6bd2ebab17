// Relative positions: RoPE, Shaw's embeddings, T5's bias, ALiBi.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/relative_positions.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kWhere = "positions";

// fill(distance) for every query and key; distance is the key's position minus the query's.
template <class T, class Fill>
Tensor by_distance(int64_t queries, int64_t keys, int64_t start, DType dtype, const Fill& fill) {
  const Tensor table = Tensor::empty({queries, keys}, dtype);
  T* cell = table.mutable_data<T>();
  for (int64_t t = start; t < start + queries; ++t) {
    for (int64_t s = 0; s < keys; ++s) *cell++ = fill(s - t);
  }
  return table;
}

// The angles of RoPE, float64 [length, pairs].
Tensor angle_table(int64_t length, std::span<const double> speeds, int64_t start) {
  const auto pairs = static_cast<int64_t>(speeds.size());
  const Tensor angles = Tensor::empty({length, pairs}, kFloat64);
  double* out = angles.mutable_data<double>();
  for (int64_t t = start; t < start + length; ++t) {
    for (const double speed : speeds) *out++ = static_cast<double>(t) * speed;
  }
  return angles;
}

}  // namespace

// --- RoPE ---

double ntk_base(double base, double scale, int64_t head_dim) {
  if (scale == 1) return base;
  if (head_dim <= 2) fail(kWhere, fmt::format("ntk_scale expects heads of more than 2 elements, got {}", head_dim));
  const auto d = static_cast<double>(head_dim);
  return base * std::pow(scale, d / (d - 2));
}

std::vector<double> rope_speeds(int64_t head_dim, double base) {
  if (head_dim < 2 || head_dim % 2 != 0) {
    fail(kWhere, fmt::format("rope rotates pairs of elements: the size of a head must be even, got {}", head_dim));
  }
  std::vector<double> speeds;
  for (int64_t i = 0; i < head_dim; i += 2) {
    speeds.push_back(std::pow(base, -static_cast<double>(i) / static_cast<double>(head_dim)));
  }
  return speeds;
}

Angles rope_angles(int64_t length, int64_t head_dim, int64_t start, double base, DType dtype) {
  return rope_angles(length, rope_speeds(head_dim, base), start, dtype);
}

Angles rope_angles(int64_t length, std::span<const double> speeds, int64_t start, DType dtype) {
  const Tensor angles = angle_table(length, speeds, start);
  const Tensor cosines = Tensor::empty(angles.shape(), kFloat64), sines = Tensor::empty(angles.shape(), kFloat64);
  const double* angle = angles.data<double>();
  double *cosine = cosines.mutable_data<double>(), *sine = sines.mutable_data<double>();
  for (int64_t i = 0; i < angles.numel(); ++i) {
    cosine[i] = std::cos(angle[i]);
    sine[i] = std::sin(angle[i]);
  }
  return {cosines.to(dtype), sines.to(dtype)};
}

Tensor rotate_pairs(const Tensor& x, const Tensor& cosines, const Tensor& sines, bool halves) {
  if (halves) {
    const int64_t pairs = x.size(-1) / 2;
    const Tensor a = narrow(x, -1, 0, pairs), b = narrow(x, -1, pairs, pairs);
    return cat({a * cosines - b * sines, a * sines + b * cosines}, -1);
  }
  Shape pairs = x.shape();  // [..., T, D] -> [..., T, D/2, 2]
  pairs[pairs.rank() - 1] /= 2;
  pairs.push_back(2);
  const Tensor split = x.reshape(pairs);
  const Tensor a = split.select(-1, 0), b = split.select(-1, 1);
  return stack({a * cosines - b * sines, a * sines + b * cosines}, -1).reshape(x.shape());
}

Tensor rope(const Tensor& x, int64_t start, double base) {
  if (x.dim() < 2) fail(kWhere, fmt::format("expected x [..., T, D], got {}", str(x.shape())));
  const Angles angles = rope_angles(x.size(-2), x.size(-1), start, base, x.dtype());
  return rotate_pairs(x, angles.cosines, angles.sines);
}

Tensor apply_rope(const Tensor& x, const PositionBias* positions) {
  if (!positions || !positions->cosines.defined()) return x;
  return rotate_pairs(x, positions->cosines, positions->sines, positions->halves);
}

// --- Shaw ---

Tensor clipped_distances(int64_t queries, int64_t keys, int64_t start, int64_t most) {
  return by_distance<int64_t>(queries, keys, start, kInt64,
                              [&](int64_t d) { return std::clamp(d, -most, most) + most; });
}

ShawPositions::ShawPositions(int64_t max_distance, int64_t head_dim, bool with_values) {
  require_positive(kWhere, "shaw_distance", max_distance);
  require_positive(kWhere, "the size of a head", head_dim);
  const Shape shape{2 * max_distance + 1, head_dim};
  keys = Parameter(Tensor::empty(shape));
  init::xavier_uniform(keys);
  if (!with_values) return;
  values = Parameter(Tensor::empty(shape));
  init::xavier_uniform(values);
}

ShawPositions shaw_positions(Positions positions, int64_t head_dim, const PositionOptions& options) {
  if (relative_kind(positions, options) != Positions::shaw) return {};
  return ShawPositions(options.shaw_distance, head_dim, options.shaw_values);
}

Tensor ShawPositions::scores(const Tensor& q, int64_t key_count, int64_t start) const {
  const int64_t queries = q.size(-2);
  const Tensor distance = clipped_distances(queries, key_count, start, max_distance());
  return gather(matmul(q, keys.tensor().t()), -1, distance.expand({q.size(0), q.size(1), queries, key_count}));
}

Tensor ShawPositions::weighted_values(const Tensor& weights, int64_t start) const {
  const int64_t queries = weights.size(-2), key_count = weights.size(-1);
  const Tensor distance = clipped_distances(queries, key_count, start, max_distance()).expand(weights.shape());
  const Tensor none = zeros({weights.size(0), weights.size(1), queries, values->size(0)}, weights.dtype());
  return matmul(scatter_add(none, -1, distance, weights), values);
}

// --- T5 ---

T5Bias::T5Bias(int64_t buckets, int64_t max_distance, int64_t heads, bool both_directions)
    : max_distance(max_distance), both_directions(both_directions) {
  PositionOptions{.t5_buckets = buckets, .t5_distance = max_distance}.check();
  require_positive(kWhere, "the number of heads", heads);
  weight = Parameter(Tensor::empty({buckets, heads}));
  init::xavier_uniform(weight);
}

int64_t t5_bucket(int64_t distance, int64_t buckets, int64_t max_distance, bool both_directions) {
  int64_t first = 0;
  if (both_directions) {
    buckets /= 2;
    if (distance > 0) first = buckets;
    distance = std::abs(distance);
  } else {
    distance = -std::min<int64_t>(distance, 0);
  }
  const int64_t exact = buckets / 2;
  if (distance < exact) return first + distance;
  // In T5's order of operations and in its type: the edges of buckets depend on the rounding of logarithms.
  const auto reach = static_cast<float>(std::log(static_cast<double>(max_distance) / static_cast<double>(exact)));
  const float octaves = std::log(static_cast<float>(distance) / static_cast<float>(exact)) / reach;
  const auto wide = static_cast<int64_t>(octaves * static_cast<float>(buckets - exact));
  return first + std::min(exact + wide, buckets - 1);
}

Tensor T5Bias::operator()(int64_t queries, int64_t keys, int64_t start) const {
  const int64_t buckets = weight->size(0), heads = weight->size(1);
  const Tensor bucket = by_distance<int64_t>(
      queries, keys, start, kInt64, [&](int64_t d) { return t5_bucket(d, buckets, max_distance, both_directions); });
  return embedding(weight, bucket).permute({2, 0, 1}).reshape({1, heads, queries, keys});
}

// --- ALiBi ---

Tensor alibi_slopes(int64_t heads, DType dtype) {
  require_positive(kWhere, "the number of heads", heads);
  int64_t power = 1;
  while (2 * power <= heads) power *= 2;
  std::vector<double> slopes;
  for (int64_t h = 1; h <= power; ++h) {
    slopes.push_back(std::exp2(-8.0 * static_cast<double>(h) / static_cast<double>(power)));
  }
  for (int64_t h = 1; static_cast<int64_t>(slopes.size()) < heads; h += 2) {
    slopes.push_back(std::exp2(-4.0 * static_cast<double>(h) / static_cast<double>(power)));
  }
  return tensor(slopes, {heads}).to(dtype);
}

Tensor alibi_bias(int64_t heads, int64_t queries, int64_t keys, int64_t start, DType dtype) {
  const Tensor nearness =
      by_distance<double>(queries, keys, start, kFloat64, [](int64_t d) { return -static_cast<double>(std::abs(d)); });
  return alibi_slopes(heads, dtype).reshape({1, heads, 1, 1}) * nearness.to(dtype);
}

// --- a stack of layers ---

RelativePositions::RelativePositions(Positions positions, int64_t heads, int64_t head_dim, bool causal,
                                     const PositionOptions& options)
    : kind(relative_kind(positions, options)), heads(heads), head_dim(head_dim), rope_base(options.rope_base) {
  options.check();
  if (positions == Positions::composite) beta = Parameter(ones({}));
  if (kind == Positions::t5) t5 = T5Bias(options.t5_buckets, options.t5_distance, heads, !causal);
  if (kind == Positions::rope) {
    rope_angles(0, head_dim, 0, 10000, kFloat32);  // an Error for an odd head_dim
    rope_base = ntk_base(options.rope_base, options.ntk_scale, head_dim);
  }
}

PositionBias RelativePositions::operator()(int64_t queries, int64_t keys, int64_t start, DType dtype) const {
  PositionBias out{.start = start};
  if (kind == Positions::t5) out.bias = t5(queries, keys, start);
  if (kind == Positions::alibi) out.bias = alibi_bias(heads, queries, keys, start, dtype);
  if (kind == Positions::rope) {
    if (beta.defined()) {
      const Tensor angles = angle_table(queries, rope_speeds(head_dim, rope_base), start).to(dtype) * beta;
      out.cosines = cos(angles);
      out.sines = sin(angles);
    } else {
      Angles angles = rope_angles(queries, head_dim, start, rope_base, dtype);
      out.cosines = std::move(angles.cosines);
      out.sines = std::move(angles.sines);
    }
  }
  if (beta.defined() && out.bias.defined()) out.bias = out.bias * beta;
  if (beta.defined() && kind == Positions::shaw) out.shaw_scale = beta;
  return out;
}

}  // namespace tapegrad::nn
