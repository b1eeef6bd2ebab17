// Relative positions: the part of a stack of layers and the part of each attention.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/relative_positions.h>

namespace tapegrad::nn {

namespace {

// As a part of composite positions.
Tensor weighted(const Tensor& x, const PositionBias* pass) {
  return pass && pass->pair_scale.defined() ? x * pass->pair_scale : x;
}

int64_t start_of(const PositionBias* pass) { return pass ? pass->start : 0; }

}  // namespace

Tensor apply_rope(const Tensor& x, const PositionBias* positions) {
  if (!positions || !positions->cosines.defined()) return x;
  return rotate_pairs(x, positions->cosines, positions->sines, positions->halves);
}

RelativePositions::RelativePositions(Positions positions, int64_t heads, int64_t head_dim, bool causal,
                                     const PositionOptions& options)
    : kind(relative_kind(positions, options)), sizes{.heads = heads, .head_dim = head_dim, .causal = causal} {
  options.check();
  encoding = kind_of(positions).relative(sizes, options);
}

std::string RelativePositions::describe() const {
  if (!encoding.defined()) return "";
  return fmt::format("nn::RelativePositions({}, {}, {}, {})", code_of(kind), sizes.heads, sizes.head_dim, sizes.causal);
}

PositionBias RelativePositions::operator()(int64_t queries, int64_t keys, int64_t start, DType dtype) const {
  return encoding.defined() ? (*encoding)(queries, keys, start, dtype, {}) : PositionBias{.start = start};
}

AttentionPositions::AttentionPositions(Positions positions, int64_t head_dim, const PositionOptions& options)
    : encoding(kind_of(positions).pairs({.head_dim = head_dim}, options)) {}

Tensor AttentionPositions::scores(const Tensor& q, int64_t key_count, double scale, const PositionBias* pass) const {
  return weighted(encoding->scores(q, key_count, start_of(pass)) * scale, pass);
}

Tensor AttentionPositions::values(const Tensor& weights, const PositionBias* pass) const {
  return weighted(encoding->values(weights, start_of(pass)), pass);
}

}  // namespace tapegrad::nn
