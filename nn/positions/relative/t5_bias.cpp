// One learned number per head and bucket of distances.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/positions/detail/distances.h>
#include <tapegrad/nn/positions/detail/kind.h>
#include <tapegrad/nn/t5_bias.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::nn {

namespace {

struct StackBias final : RelativeEncoding {
  StackBias(const PositionSizes& sizes, const T5Options& o) : t5(o.buckets, o.distance, sizes.heads, !sizes.causal) {}
  PositionBias operator()(int64_t queries, int64_t keys, int64_t start, DType, const Tensor& scale) const override {
    const Tensor bias = t5(queries, keys, start);
    return {.bias = scale.defined() ? bias * scale : bias, .start = start};
  }
  void visit(auto&& field) { t5.visit(field); }  // "weight"

  T5Bias t5;
};

}  // namespace

struct T5Kind final : PositionKind {
  T5Kind() : PositionKind("t5", "a learned bias per bucket of distances", Role::relative) {}
  bool adds_to_scores() const override { return true; }
  void list(PositionOptions& options, Fields& f) const override {
    T5Options& o = options.of<T5Options>();
    f.add("t5-buckets", "t5: number of buckets of distances; even", o.buckets, {.least = 4});
    f.add("t5-distance", "t5: distances of at least this share the last bucket", o.distance, kPositive);
  }
  void check(const PositionOptions& options, const Wrong& wrong) const override {
    const T5Options& o = options.of<T5Options>();
    if (o.buckets % 2 != 0) {
      wrong("t5_buckets", fmt::format("expected an even number >= 4, got {}", o.buckets));
    }
    if (o.distance <= o.buckets / 2) {
      wrong("t5_distance", fmt::format("expected more than half of t5_buckets {}, got {}", o.buckets, o.distance));
    }
  }
  AnyOf<RelativeEncoding> relative(const PositionSizes& sizes, const PositionOptions& o) const override {
    return StackBias(sizes, o.of<T5Options>());
  }
};
template const PositionKind& position_kind<T5Kind>();

T5Bias::T5Bias(int64_t buckets, int64_t max_distance, int64_t heads, bool both_directions)
    : max_distance(max_distance), both_directions(both_directions) {
  position_kind<T5Kind>().require_valid(T5Options{buckets, max_distance});
  require_positive(detail::kPositions, "the number of heads", heads);
  weight = Parameter(init::blank({buckets, heads}));
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
  const auto reach = static_cast<float>(fixed::log(static_cast<double>(max_distance) / static_cast<double>(exact)));
  const float octaves = fixed::log(static_cast<float>(distance) / static_cast<float>(exact)) / reach;
  const auto wide = static_cast<int64_t>(octaves * static_cast<float>(buckets - exact));
  return first + std::min(exact + wide, buckets - 1);
}

Tensor T5Bias::operator()(int64_t queries, int64_t keys, int64_t start) const {
  const int64_t buckets = weight->size(0), heads = weight->size(1);
  const Tensor bucket = detail::by_distance<int64_t>(
      queries, keys, start, kInt64, [&](int64_t d) { return t5_bucket(d, buckets, max_distance, both_directions); });
  return embedding(weight, bucket).permute({2, 0, 1}).reshape({1, heads, queries, keys});
}

}  // namespace tapegrad::nn
