// ALiBi: the distance times a fixed slope per head is subtracted from the scores.
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/alibi.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/positions/detail/distances.h>
#include <tapegrad/nn/positions/detail/kind.h>

#include <cmath>
#include <cstdlib>
#include <vector>

namespace tapegrad::nn {

Tensor alibi_slopes(int64_t heads, DType dtype) {
  require_positive(detail::kPositions, "the number of heads", heads);
  int64_t power = 1;
  while (2 * power <= heads) power *= 2;
  std::vector<double> slopes;
  for (int64_t h = 1; h <= power; ++h) {
    slopes.push_back(fixed::pow(2.0, -8.0 * static_cast<double>(h) / static_cast<double>(power)));
  }
  for (int64_t h = 1; static_cast<int64_t>(slopes.size()) < heads; h += 2) {
    slopes.push_back(fixed::pow(2.0, -4.0 * static_cast<double>(h) / static_cast<double>(power)));
  }
  return tensor(slopes, {heads}).to(dtype);
}

Tensor alibi_bias(int64_t heads, int64_t queries, int64_t keys, int64_t start, DType dtype) {
  const Tensor nearness = detail::by_distance<double>(queries, keys, start, kFloat64,
                                                      [](int64_t d) { return -static_cast<double>(std::abs(d)); });
  return alibi_slopes(heads, dtype).reshape({1, heads, 1, 1}) * nearness.to(dtype);
}

namespace {

struct Slopes final : RelativeEncoding {
  explicit Slopes(int64_t heads) : heads(heads) {}
  PositionBias operator()(int64_t queries, int64_t keys, int64_t start, DType dtype,
                          const Tensor& scale) const override {
    const Tensor bias = alibi_bias(heads, queries, keys, start, dtype);
    return {.bias = scale.defined() ? bias * scale : bias, .start = start};
  }
  void visit(auto&&) {}

  int64_t heads;
};

}  // namespace

struct AlibiKind final : PositionKind {
  AlibiKind() : PositionKind("alibi", "a bias that falls with the distance", Role::relative) {}
  bool adds_to_scores() const override { return true; }
  AnyOf<RelativeEncoding> relative(const PositionSizes& sizes, const PositionOptions&) const override {
    return Slopes(sizes.heads);
  }
};
template const PositionKind& position_kind<AlibiKind>();

}  // namespace tapegrad::nn
