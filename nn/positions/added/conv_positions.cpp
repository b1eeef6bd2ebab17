// Positions by a depthwise convolution of the embeddings.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/conv_positions.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/positions/detail/kind.h>

#include <cmath>

namespace tapegrad::nn {

namespace {

struct AddedConv final : AddedEncoding {
  AddedConv(const PositionSizes& sizes, const ConvPositionOptions& o) : conv(sizes.width, o.width, sizes.causal) {}
  Tensor operator()(const Tensor& x, int64_t, const Tensor& mask, KVCache* cache) const override {
    return conv(x, mask, cache);
  }
  void visit(auto&& field) { field("conv", conv); }

  ConvPositions conv;
};

}  // namespace

struct ConvKind final : PositionKind {
  ConvKind() : PositionKind("conv", "adds a depthwise convolution of the embeddings", Role::added) {}
  void list(PositionOptions& o, Fields& f) const override {
    f.add("conv-width", "conv: width of the convolution; odd", o.of<ConvPositionOptions>().width, kPositive);
  }
  void check(const PositionOptions& o, const Wrong& wrong) const override {
    const int64_t width = o.of<ConvPositionOptions>().width;
    if (width % 2 == 0) wrong("conv_width", fmt::format("expected an odd number > 0, got {}", width));
  }
  AnyOf<AddedEncoding> added(const PositionSizes& sizes, const PositionOptions& o) const override {
    return AddedConv(sizes, o.of<ConvPositionOptions>());
  }
};
template const PositionKind& position_kind<ConvKind>();

ConvPositions::ConvPositions(int64_t dim, int64_t width, bool causal)
    : weight(init::blank({detail::checked_dim(dim), 1, width})), causal(causal) {
  position_kind<ConvKind>().require_valid(ConvPositionOptions{width});
  init::kaiming_uniform(weight, std::sqrt(5.0));
}

Tensor ConvPositions::operator()(const Tensor& x, const Tensor& mask, KVCache* cache) const {
  detail::require_causal(causal, cache);
  const Tensor seen = detail::with_surroundings(detail::without_padding(x, mask), weight->size(2), causal, cache);
  return detail::convolved(seen, weight, x.size(-1));
}

}  // namespace tapegrad::nn
