// Positions added as numbers.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/index_positions.h>
#include <tapegrad/nn/positions/detail/kind.h>

namespace tapegrad::nn {

namespace {

Tensor column(int64_t length, int64_t start, DType dtype) {  // [length, 1]
  return arange(static_cast<double>(start), static_cast<double>(start + length), 1, dtype).reshape({length, 1});
}

struct AddedIndex final : AddedEncoding {
  Tensor operator()(const Tensor& x, int64_t start, const Tensor&, KVCache*) const override {
    return column(x.size(1), start, x.dtype());
  }
  void visit(auto&&) {}
};

}  // namespace

Tensor add_index(const Tensor& x, int64_t start) {
  if (x.dim() < 2) fail(detail::kPositions, "expected x [..., T, C], got {}", x.shape());
  return x + column(x.size(-2), start, x.dtype());
}

struct IndexKind final : PositionKind {
  IndexKind()
      : PositionKind("index", "adds the position to all features, which layer normalisation undoes: as none",
                     Role::added) {}
  bool ignores_tokens() const override { return true; }
  AnyOf<AddedEncoding> added(const PositionSizes&, const PositionOptions&) const override { return AddedIndex(); }
};
template const PositionKind& position_kind<IndexKind>();

}  // namespace tapegrad::nn
