// Attention without positions, which ignores the order of its inputs.
#include <tapegrad/nn/positions/detail/kind.h>

namespace tapegrad::nn {

struct NoPositionsKind final : PositionKind {
  NoPositionsKind() : PositionKind("none", "attention ignores the order", Role::neither) {}
  bool ignores_tokens() const override { return true; }
};
template const PositionKind& position_kind<NoPositionsKind>();

}  // namespace tapegrad::nn
