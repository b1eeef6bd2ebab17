// Positions by a network that reads the position and its context.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/dynamic_positions.h>
#include <tapegrad/nn/positions/detail/kind.h>
#include <tapegrad/nn/sinusoidal_positions.h>

#include <cmath>

namespace tapegrad::nn {

DynamicPositions::DynamicPositions(int64_t dim, int64_t size, bool causal)
    : w_1(2 * detail::checked_dim(dim), size), w_2(size, dim), causal(causal) {}

Tensor DynamicPositions::operator()(const Tensor& x, int64_t start, const Tensor& mask, KVCache* cache) const {
  detail::require_causal(causal, cache);
  const int64_t length = x.size(1);
  const Tensor tokens = detail::without_padding(x, mask);
  Tensor context;  // [B, T, C]
  if (causal) {
    Tensor sums = cumsum(tokens, 1);
    if (cache) {
      if (cache->length() > 0) {
        const Tensor none = zeros({x.size(0), 1, 0, x.size(2)}, x.dtype());
        sums = sums + cache->append_history({none, {}}).keys.select(2, -1);  // [B, 1, C]: of earlier tokens
      }
      cache->append_history({sums.unsqueeze(1), {}});
    }
    const double first = static_cast<double>(start + 1), last = static_cast<double>(start + length);
    const Tensor counts = mask.defined() ? clamp(cumsum(mask.to(x.dtype()), 1), 1, INFINITY)
                                         : arange(first, last + 1, 1, x.dtype()).reshape({length, 1});
    context = sums / counts;
  } else {
    const Tensor sums = sum(tokens, 1, true);
    const Tensor mean =
        mask.defined() ? sums / clamp(sum(mask.to(x.dtype()), 1, true), 1, INFINITY) : sums / double(length);
    context = mean.expand(x.shape());
  }
  const Tensor table = sinusoidal_table(length, x.size(2), start).to(x.dtype()).expand(x.shape());
  return w_2(gelu(w_1(cat({table, context}, 2))));
}

namespace {

struct AddedNetwork final : AddedEncoding {
  AddedNetwork(const PositionSizes& sizes, const DynamicPositionOptions& o)
      : network(sizes.width, detail::size_or(o.size, sizes.width), sizes.causal) {}
  Tensor operator()(const Tensor& x, int64_t start, const Tensor& mask, KVCache* cache) const override {
    return network(x, start, mask, cache);
  }
  void visit(auto&& field) { field("dynamic", network); }

  DynamicPositions network;
};

}  // namespace

struct DynamicKind final : PositionKind {
  DynamicKind() : PositionKind("dynamic", "adds the output of a network", Role::added) {}
  void list(PositionOptions& o, Fields& f) const override {
    f.add(detail::size_setting("dynamic-size", "dynamic: hidden units of the network"),
          o.of<DynamicPositionOptions>().size);
  }
  AnyOf<AddedEncoding> added(const PositionSizes& sizes, const PositionOptions& o) const override {
    return AddedNetwork(sizes, o.of<DynamicPositionOptions>());
  }
};
template const PositionKind& position_kind<DynamicKind>();

}  // namespace tapegrad::nn
