// The positional encoding of embeddings. Tutorial 003, section 8.3.2, deep dives 3 to 6.
//
// The encodings take x [B, T, C], the embeddings of T tokens from position `start` on, and return P, which is added to
// them: [B, T, C], or [T, C] if P does not depend on x. AddedEncoding says what a mask and a cache are.
#pragma once

#include <tapegrad/nn/complex_positions.h>
#include <tapegrad/nn/composite_positions.h>
#include <tapegrad/nn/conv_positions.h>
#include <tapegrad/nn/dynamic_positions.h>
#include <tapegrad/nn/lstm_positions.h>
#include <tapegrad/nn/multiscale_conv_positions.h>
#include <tapegrad/nn/ode_positions.h>
#include <tapegrad/nn/position_kind.h>

namespace tapegrad::nn {

/// Adds the P of its kind to the embeddings; for relative kinds, nothing.
struct AddedPositions {
  AddedPositions(Positions positions, int64_t max_positions, int64_t dim, const PositionOptions& options = {},
                 bool causal = false);
  /// x [B, T, C], whose first token is at position `start` -> x + P. Error beyond longest_input().
  Tensor operator()(const Tensor& x, int64_t start = 0, const Tensor& mask = {}, KVCache* cache = nullptr) const;
  /// The learned vectors of all positions, which a model may initialise as those of its tokens; nullptr if there are
  /// none.
  Parameter* table() { return encoding.defined() ? encoding->table() : nullptr; }
  std::string describe() const;  ///< "" if it adds nothing
  void visit(auto&& field) { encoding.visit(field); }

  Positions kind;                 ///< what it adds; none for relative encodings
  PositionSizes sizes;            ///< of the model that it is made for
  AnyOf<AddedEncoding> encoding;  // or none
};

}  // namespace tapegrad::nn
