// Relative positions, which act inside self-attention: the part of a stack of layers and the part of each attention.
#pragma once

#include <tapegrad/nn/alibi.h>
#include <tapegrad/nn/position_kind.h>
#include <tapegrad/nn/rope.h>
#include <tapegrad/nn/shaw_positions.h>
#include <tapegrad/nn/t5_bias.h>

namespace tapegrad::nn {

/// x [B, H, T, D], rotated where `positions` has angles; x itself for the other kinds and for nullptr.
Tensor apply_rope(const Tensor& x, const PositionBias* positions);

/// The positions that the self-attentions of a stack share, such as T5's table: they make the PositionBias of a pass.
struct RelativePositions {
  /// With `causal`, a query never attends to later keys. Error if the kind does not support head_dim.
  RelativePositions(Positions positions, int64_t heads, int64_t head_dim, bool causal,
                    const PositionOptions& options = {});
  /// For T queries from position `start` on and S keys, in the model's type.
  PositionBias operator()(int64_t queries, int64_t keys, int64_t start, DType dtype) const;
  std::string describe() const;  ///< "" if it makes nothing
  void visit(auto&& field) { encoding.visit(field); }

  Positions kind;                    ///< what it makes; none for encodings of embeddings
  PositionSizes sizes;               ///< of the model that it is made for
  AnyOf<RelativeEncoding> encoding;  // or none
};

/// What the positions of one self-attention add to it, in addition to the PositionBias of a pass: for shaw, its
/// vectors; for most kinds nothing. `pass` is the stack's PositionBias, or nullptr.
struct AttentionPositions {
  AttentionPositions() = default;  ///< none: defined() is false
  AttentionPositions(Positions positions, int64_t head_dim, const PositionOptions& options);
  bool defined() const { return encoding.defined(); }
  /// q [B, H, T, D] -> [B, H, T, S], to be added to the scores, which are scaled by `scale`.
  Tensor scores(const Tensor& q, int64_t key_count, double scale, const PositionBias* pass) const;
  /// Whether something is added to the values. The weights are then needed on the tape.
  bool changes_values() const { return defined() && encoding->changes_values(); }
  /// weights [B, H, T, S] -> [B, H, T, D], to be added to the weighted values.
  Tensor values(const Tensor& weights, const PositionBias* pass) const;
  void visit(auto&& field) { encoding.visit(field); }

  AnyOf<PairEncoding> encoding;  // or none
};

}  // namespace tapegrad::nn
