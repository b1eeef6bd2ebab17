// Positions by two convolutions of the embeddings.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/multiscale_conv_positions.h>
#include <tapegrad/nn/positions/detail/kind.h>

#include <algorithm>

namespace tapegrad::nn {

MultiscaleConvPositions::MultiscaleConvPositions(int64_t dim, bool causal)
    : narrow(dim, dim - dim / 2, 3, {}, false), wide(dim, std::max<int64_t>(dim / 2, 1), 5, {}, false), causal(causal) {
  require(dim >= 2, detail::kPositions, "expected vectors of at least 2 elements for two convolutions, got {}", dim);
}

Tensor MultiscaleConvPositions::operator()(const Tensor& x, const Tensor& mask, KVCache* cache) const {
  detail::require_causal(causal, cache);
  const Tensor seen = detail::with_surroundings(detail::without_padding(x, mask), 5, causal, cache);
  // The narrow window is the middle of the wide one, or its last three elements.
  const Tensor part = tapegrad::narrow(seen, 1, causal ? 2 : 1, seen.size(1) - 2);
  return cat({detail::convolved(part, narrow.weight, 1), detail::convolved(seen, wide.weight, 1)}, 2);
}

namespace {

struct AddedMultiscaleConv final : AddedEncoding {
  explicit AddedMultiscaleConv(const PositionSizes& sizes) : convs(sizes.width, sizes.causal) {}
  Tensor operator()(const Tensor& x, int64_t, const Tensor& mask, KVCache* cache) const override {
    return convs(x, mask, cache);
  }
  void visit(auto&& field) { field("conv_multiscale", convs); }

  MultiscaleConvPositions convs;
};

}  // namespace

struct MultiscaleConvKind final : PositionKind {
  MultiscaleConvKind() : PositionKind("conv-multiscale", "adds two convolutions", Role::added) {}
  void check_sizes(const PositionSizes& sizes, const PositionOptions&, const Wrong& wrong) const override {
    if (sizes.width > 1) return;
    wrong("positions", fmt::format("expected a width of at least 2 for two convolutions, got {}", sizes.width));
  }
  AnyOf<AddedEncoding> added(const PositionSizes& sizes, const PositionOptions&) const override {
    return AddedMultiscaleConv(sizes);
  }
};
template const PositionKind& position_kind<MultiscaleConvKind>();

}  // namespace tapegrad::nn
