// One learned vector per distance.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/positions/detail/distances.h>
#include <tapegrad/nn/positions/detail/kind.h>
#include <tapegrad/nn/shaw_positions.h>

#include <algorithm>

namespace tapegrad::nn {

Tensor clipped_distances(int64_t queries, int64_t keys, int64_t start, int64_t most) {
  return detail::by_distance<int64_t>(queries, keys, start, kInt64,
                                      [&](int64_t d) { return std::clamp(d, -most, most) + most; });
}

ShawPositions::ShawPositions(int64_t max_distance, int64_t head_dim, bool with_values) {
  require_positive(detail::kPositions, "shaw_distance", max_distance);
  require_positive(detail::kPositions, "the size of a head", head_dim);
  const Shape shape{2 * max_distance + 1, head_dim};
  keys = Parameter(init::blank(shape));
  init::xavier_uniform(keys);
  if (!with_values) return;
  values = Parameter(init::blank(shape));
  init::xavier_uniform(values);
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

namespace {

struct ShawVectors final : PairEncoding {
  ShawVectors(int64_t head_dim, const ShawOptions& o) : shaw(o.distance, head_dim, o.values) {}
  Tensor scores(const Tensor& q, int64_t key_count, int64_t start) const override {
    return shaw.scores(q, key_count, start);
  }
  bool changes_values() const override { return shaw.values.defined(); }
  Tensor values(const Tensor& weights, int64_t start) const override { return shaw.weighted_values(weights, start); }
  void visit(auto&& field) { field("shaw", shaw); }

  ShawPositions shaw;
};

}  // namespace

struct ShawKind final : PositionKind {
  ShawKind() : PositionKind("shaw", "a learned vector per distance", Role::relative) {}
  bool adds_to_scores() const override { return true; }
  void list(PositionOptions& options, Fields& f) const override {
    ShawOptions& o = options.of<ShawOptions>();
    f.add("shaw-distance", "shaw: larger distances are clamped to this one", o.distance, kPositive);
    f.add("shaw-values", "shaw: also add vectors to the values", o.values);
  }
  AnyOf<PairEncoding> pairs(const PositionSizes& sizes, const PositionOptions& o) const override {
    return ShawVectors(sizes.head_dim, o.of<ShawOptions>());
  }
};
template const PositionKind& position_kind<ShawKind>();

}  // namespace tapegrad::nn
